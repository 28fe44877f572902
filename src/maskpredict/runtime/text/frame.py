"""The frame of a line: outer white space, bullets and heading marks, and the mark at its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"\s*(?:(?:#{1,6}|[-*+•·◦▪–—>]|\[[ xX]\]|\(?\d{1,3}\)|\(?[a-z]\))\s+)*")
_MARK = re.compile(r"(?<![.!?])[.!]$")
_DOUBLED = re.compile(r"([!?])\1+$")
_ABBREVIATION = re.compile(r"(?:\b\w\.\w|\b(?:etc|usw|z\.B|bzw|Inc|Ltd|Co|Jr|Sr|St|Mr|Mrs|Dr))\.$")
_ENDED = re.compile(r"[.!?…:;。！？।؟][\"'”’“»«)\]]*$")


@dataclass(frozen=True)
class Frame:
    """A line without what surrounds its text."""

    opening: str
    text: str
    closing: str

    @classmethod
    def of(cls, line: str) -> Frame:
        """Split a line."""
        opening = _OPENING.match(line)
        start = opening.end() if opening else 0
        end = max(start, len(line.rstrip()))
        return cls(line[:start], line[start:end], line[end:])

    def around(self, translation: str) -> str:
        """Return a translation of the text within this frame."""
        return self.opening + translation + self.closing


def ended(text: str) -> str:
    """Return the text with a full stop if it ends in a word: models translate whole sentences far better."""
    return f"{text}." if text and (text[-1].isalnum() or text[-1] in ")]\"'”’“»«") and not _ENDED.search(text) else text


def same_ending(source: str, translation: str) -> str:
    """Return the translation with a mark at its end if, and only if, its source has one."""
    if not translation or not source:
        return translation
    if not _DOUBLED.search(source):
        translation = _DOUBLED.sub(r"\1", translation)
    if not _ENDED.search(source) and _MARK.search(translation) and not _ABBREVIATION.search(translation):
        return translation[:-1].rstrip()
    if source[-1] == "." and not source.endswith("..") and translation[-1].isalnum():
        return translation + "."
    return translation
