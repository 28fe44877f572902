"""Terms of a glossary as pins: what the translation must have, and where in it that belongs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maskpredict.runtime.glossary.glossary import Match
from maskpredict.runtime.lines import Line, TermPin
from maskpredict.runtime.text.spans import Span
from maskpredict.runtime.text.stand_ins import StandIns


def with_terms(line: Line, matches: Sequence[Match], stand_ins: StandIns) -> Line:
    """Return a line with the translations of terms pinned.

    A term of several words also gives way to its translation in the source, since the model would translate some of
    them again. For a single word that would only cost the rest of the sentence something.
    """
    source, end = "", 0
    places: list[Span] = []
    in_order = sorted(matches, key=lambda match: match.start)
    for match in in_order:
        words = line.source[match.start : match.end]
        source += line.source[end : match.start]
        start, end = len(source), match.end
        source += match.term.target if len(words.split()) > 1 else words
        places.append(Span(start, len(source)))
    source += line.source[end:]
    pins = [_pin(source, place, match.term.target, stand_ins) for place, match in zip(places, in_order, strict=True)]
    return replace(line, source=source, terms=tuple(pins))


def _pin(source: str, place: Span, phrase: str, stand_ins: StandIns) -> TermPin:
    words = len(place.of(source).split())
    names = stand_ins.other_than(source, words)
    return TermPin(phrase, source[: place.start] + names + source[place.end :], words)
