"""The end mark of a translation, which does not become text."""

from __future__ import annotations

from collections.abc import Sequence

END_MARK = "</s>"


def before_end_mark(tokens: Sequence[str]) -> Sequence[str]:
    """Subwords before the end mark, which become text."""
    return tokens[: tokens.index(END_MARK)] if END_MARK in tokens else tokens
