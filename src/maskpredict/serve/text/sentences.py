"""Running text in sentences, and everything between them kept as it was.

A sentence ends at the end of its line, or at `.`, `!`, `?` or `…` before white space and anything but a small letter. A
point ends no sentence behind an abbreviation that needs more to come, behind a single letter or, outside English,
behind a small number: "am 3. Mai". What is missed costs little: the model then sees two sentences at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 600
"""Characters beyond which a sentence is cut, so that nobody waits long for another's."""

# Those that may well end a sentence, such as "etc.", are not here: before a small letter nothing is cut anyway.
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
"""Characters in which the word before a mark is looked for."""
_LINE_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")
_END = re.compile(
    # A mark and what it closes. The plus and star that give nothing back keep the search linear in any text.
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
    """A stretch of a text."""

    text: str
    is_sentence: bool
    """False for white space, and for what has no letters: it is not translated."""


def segments(text: str, language: str) -> list[Segment]:
    """The text in pieces which, put together again, are the text."""
    return [
        segment
        for line in _LINE_BREAK.split(text)
        for sentence in _sentences(line, language)
        for segment in _trimmed(sentence)
        if segment.text
    ]


def _sentences(line: str, language: str) -> Iterator[str]:
    """A line's sentences; each begins with the white space in front of it."""
    start = 0
    for match in _END.finditer(line):
        before = line[max(0, match.start() - _LOOK_BACK) : match.start()]
        if match["mark"] and not _ends(before, match["mark"], match["next"], language):
            continue
        yield line[start : match.end()]
        start = match.end()
    yield line[start:]


def _ends(before: str, mark: str, following: str, language: str) -> bool:
    """True when the mark between these is the end of a sentence."""
    if following.islower():
        return False
    found = _LAST_WORD.search(before) if mark == "." else None
    if found is None:
        return True
    word = found[0]
    if word.isdecimal():
        is_list_number = len(before) < _LOOK_BACK and not before[: found.start()].strip()
        return not is_list_number and (language == "en" or len(word) > 2)
    if _INITIALS.fullmatch(word):
        return word in ("I", "a.m", "p.m")
    if language != "en" and _ROMAN.fullmatch(word):
        return False
    ending = word.split("-")[-1].lower()
    return ending not in _BEFORE_ANYTHING.split() and not (following.isdecimal() and ending in _BEFORE_NUMBERS.split())


def _trimmed(text: str) -> Iterator[Segment]:
    """A sentence without the white space around it, which comes before and after."""
    core = text.strip()
    if not _LETTER.search(core):
        yield Segment(text, False)
        return
    begin = text.index(core)
    yield Segment(text[:begin], False)
    yield from _bounded(core)
    yield Segment(text[begin + len(core) :], False)


def _bounded(sentence: str) -> Iterator[Segment]:
    """The sentence, cut as often as it is too long: after a comma or the like, else at a space, else anywhere."""
    while len(sentence) > LONGEST:
        start, end = _last(_CLAUSE_END, sentence) or _last(_SPACE, sentence) or (LONGEST, LONGEST)
        yield Segment(sentence[:start], True)
        yield Segment(sentence[start:end], False)
        sentence = sentence[end:]
    yield Segment(sentence, True)


def _last(boundary: re.Pattern[str], sentence: str) -> tuple[int, int] | None:
    """Where the last boundary within reach begins and ends; none of those so early that little is gained."""
    matches = list(boundary.finditer(sentence, LONGEST // 4, LONGEST))
    return matches[-1].span() if matches else None
