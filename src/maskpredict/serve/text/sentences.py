"""Sentence splitting that keeps everything between the sentences.

A sentence ends at the end of its line, or at `.`, `!`, `?` or `…` followed by white space and anything but a lower-case
letter. A full stop does not end a sentence after an abbreviation such as "Dr.", after a single letter or, outside
English, after a small number as in "am 3. Mai". A missed boundary costs little: the model translates two sentences as
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SENTENCE = 600
"""Characters in a sentence. Longer ones are cut, so that one of them does not delay the whole batch."""

# Abbreviations that often end a sentence, such as "etc.", are left out: before a lower-case letter nothing is cut.
_BEFORE_ANYTHING = """
    bes bspw bzgl bzw dipl dr ehem einschl entspr evtl exkl fr frl ggf hl hr hrn hrsg ing inkl insb med phil prof rer
    sog st stellv vgl zzgl
    capt cf col dept esp gen gov hon lt messrs mme mr mrs ms mt rev sen sgt viz vs
"""
_BEFORE_NUMBERS = """
    abb abs anm approx art bd ca ch eq fig figs kap max min mind no nos nr pp sec str tel vol
    jan feb mär mar apr jun jul aug sep sept okt oct nov dez dec
"""
_LOOK_BACK = 60
"""Characters searched for the word before a full stop."""
_LINE_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")
_END = re.compile(
    # A mark and its closing quotes or brackets. Possessive quantifiers keep the search linear in any text.
    r"(?<![.!?…])(?P<mark>[.!?…]++) [\"'”“’‘»«›‹)\]}*_]*+ (?=\s++(?P<next>\S))"
    r"|(?<![。！？])[。！？]++ [」』”’）]*+ (?=\S)",
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'“„‚‘«»–—/]+\Z")
_INITIALS = re.compile(r"([^\W\d_]\.)*[^\W\d_]")
_ROMAN = re.compile("[IVX]+")
_LETTER = re.compile(r"[^\W\d_]")
_CLAUSE_END = re.compile(r"(?<=[,;:])\s+|(?<=[，、；：])\s*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Segment:
    """A sentence, or the text between two sentences."""

    text: str
    is_sentence: bool
    """False for white space and for text without letters, which are not translated."""


def split_sentences(text: str, language: str) -> list[Segment]:
    """Split a text into segments; joined together, they are the text again."""
    return [
        segment
        for line in _LINE_BREAK.split(text)
        for sentence in _sentences(line, language)
        for segment in _trimmed(sentence)
        if segment.text
    ]


def _sentences(line: str, language: str) -> Iterator[str]:
    """Yield the sentences of a line, each with the white space in front of it."""
    start = 0
    for match in _END.finditer(line):
        before = line[max(0, match.start() - _LOOK_BACK) : match.start()]
        if match["mark"] and not _ends_sentence(before, match["mark"], match["next"], language):
            continue
        yield line[start : match.end()]
        start = match.end()
    yield line[start:]


def _ends_sentence(before: str, mark: str, following: str, language: str) -> bool:
    """Return whether the mark between `before` and `following` ends a sentence."""
    if following.islower():
        return False
    last_word = _LAST_WORD.search(before) if mark == "." else None
    if last_word is None:
        return True
    word = last_word[0]
    if word.isdecimal():
        is_list_number = len(before) < _LOOK_BACK and not before[: last_word.start()].strip()
        return not is_list_number and (language == "en" or len(word) > 2)
    if _INITIALS.fullmatch(word):
        return word in ("I", "a.m", "p.m")
    if language != "en" and _ROMAN.fullmatch(word):
        return False
    ending = word.split("-")[-1].lower()
    return ending not in _BEFORE_ANYTHING.split() and not (following.isdecimal() and ending in _BEFORE_NUMBERS.split())


def _trimmed(text: str) -> Iterator[Segment]:
    """Yield the white space before a sentence, the sentence, and the white space after it."""
    core = text.strip()
    if not _LETTER.search(core):
        yield Segment(text, False)
        return
    begin = text.index(core)
    yield Segment(text[:begin], False)
    yield from _cut_if_long(core)
    yield Segment(text[begin + len(core) :], False)


def _cut_if_long(sentence: str) -> Iterator[Segment]:
    """Yield the sentence, cut where it is too long: after a comma or the like, else at a space, else anywhere."""
    while len(sentence) > MAX_SENTENCE:
        start, end = (
            _last_boundary(_CLAUSE_END, sentence) or _last_boundary(_SPACE, sentence) or (MAX_SENTENCE, MAX_SENTENCE)
        )
        yield Segment(sentence[:start], True)
        yield Segment(sentence[start:end], False)
        sentence = sentence[end:]
    yield Segment(sentence, True)


def _last_boundary(boundary: re.Pattern[str], sentence: str) -> tuple[int, int] | None:
    """Return start and end of the last boundary that leaves a piece of a good size, if there is one."""
    matches = list(boundary.finditer(sentence, MAX_SENTENCE // 4, MAX_SENTENCE))
    return matches[-1].span() if matches else None
