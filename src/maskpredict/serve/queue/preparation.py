"""Splitting and tokenizing of long texts in another thread, so that the event loop goes on answering."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SHORT_TEXT = 2_000
"""Characters that are prepared within a few milliseconds."""


class Preparation:
    """Runs functions whose time grows with the length of a text: at once for short texts, one by one for long ones."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def run(self, characters: int, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return the result of the function, for a text of that many characters."""
        if characters <= SHORT_TEXT:
            return function(*arguments, **options)
        async with self._turn:
            return await asyncio.to_thread(function, *arguments, **options)
