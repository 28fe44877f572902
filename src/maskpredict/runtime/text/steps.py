"""Translation in steps: a generator that asks for lines to be translated, and in the end returns a translation.

Many of them advance together, so that all the lines they ask for share batches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import islice

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation

Steps = Generator[list[Line], list[Translation], Translation]
"""Yields lines, is sent their translations, and returns one translation."""


def unprotected(line: Line) -> Steps:
    """Translate a line exactly as it is."""
    (translation,) = yield [line]
    return translation


def in_step(many: Iterable[Steps]) -> Generator[list[Line], list[Translation], list[Translation]]:
    """Advance several generators together, and return their translations in order."""
    running = dict(enumerate(many))
    asked: dict[int, list[Line]] = {}
    done: dict[int, Translation] = {}

    def advance(index: int, answers: list[Translation] | None) -> None:
        try:
            asked[index] = next(running[index]) if answers is None else running[index].send(answers)
        except StopIteration as finished:
            done[index] = finished.value
            del running[index]

    for index in list(running):
        advance(index, None)
    while running:
        translations = iter((yield [line for index in running for line in asked[index]]))
        for index in list(running):
            advance(index, list(islice(translations, len(asked[index]))))
    return [done[index] for index in sorted(done)]
