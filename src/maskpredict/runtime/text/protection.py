"""Lines whose spans, numbers, capitals and frame survive translation by any model.

A line is cut at symbols such as emoji. The words between two of them are translated in up to three tries:

1. with names in place of the spans, which most models copy (`stand_ins`);
2. if a span or a number was lost: with names in place of both, pinned if the model can pin words;
3. if that failed, too: cut at them, and what is between them translated alone. Nothing can be lost.

A line with nothing to protect is translated as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from maskpredict.languages import Languages
from maskpredict.runtime.lines import Line, clean
from maskpredict.runtime.text.fragments import Fragment, edges, fragments_of, has_letters
from maskpredict.runtime.text.frame import Frame, ended, same_ending
from maskpredict.runtime.text.headings import (
    ITEM_MARKS,
    as_item,
    best_heading,
    is_short,
    without_article,
    without_marks,
)
from maskpredict.runtime.text.letters import Letters, UsualSpelling, letters_of
from maskpredict.runtime.text.numbers import convert_number, missing_numbers, with_unit_spaces
from maskpredict.runtime.text.sayable import SayableCharacters
from maskpredict.runtime.text.spans import Span, SpanKind, blanked, find_spans, merged_spans
from maskpredict.runtime.text.stand_ins import Disguise, StandIns
from maskpredict.runtime.text.steps import Steps, in_step, unprotected
from maskpredict.runtime.text.terms import with_terms
from maskpredict.runtime.translation import EMPTY, Translation, assembled
from maskpredict.tokenizer import Tokenizers

_WORD = re.compile(r"[^\W\d_]+")
_UNKNOWN = re.compile(r"\s*⁇")
"""What tokenizers write for a word outside of their vocabulary."""


class Protection:
    """Protects the lines of one model's languages and vocabulary."""

    def __init__(self, tokenizers: Tokenizers, languages: Languages, *, can_pin: bool, longest: int) -> None:
        """`longest` is the number of subwords of the longest source that can be translated as a whole."""
        self._languages, self._can_pin, self._longest = languages, can_pin, longest
        self._source_tokenizer = tokenizers.source
        self._is_sayable = SayableCharacters(tokenizers.source)
        self._usual = UsualSpelling(tokenizers.source)
        self._usual_target = UsualSpelling(tokenizers.target)
        self._stand_ins = StandIns.of(tokenizers)
        self._has_full_stop = self._is_sayable(".")

    def line(self, line: Line) -> Steps:
        """Translate a line in steps."""
        frame = Frame.of(_without_controls(line.source))
        if not frame.text and line.is_plain:
            return replace(EMPTY, text=frame.opening.rstrip())
        spans = find_spans(frame.text, self._is_sayable)
        letters = letters_of(blanked(frame.text, spans), self._usual)
        if isinstance(line.template, str):
            frame, letters = replace(frame, opening="", closing=""), Letters.USUAL
        inner = replace(line, source=frame.text)
        parts: list[str | Fragment] = [Fragment(inner, spans, letters)]
        if line.is_plain:
            parts = list(fragments_of(inner, spans, letters, self._languages.source, self._source_tokenizer))
        translations = iter((yield from in_step(self._steps(part) for part in parts if isinstance(part, Fragment))))
        finished = [part if isinstance(part, str) else next(translations) for part in parts]
        return assembled([frame.opening, *finished, frame.closing])

    def _steps(self, fragment: Fragment) -> Steps:
        spans = list(fragment.spans)
        for is_retry in (False, True):
            disguise = self._disguise(fragment, spans, is_retry)
            if disguise is None:
                break
            translation = yield from self._translated(fragment, disguise, is_retry)
            candidates = translation.hypotheses or (translation,)
            whole = [one for one in candidates if self._is_whole(fragment, spans, disguise, one.text)]
            if whole or (is_retry and not fragment.line.is_plain):
                restored = tuple(self._restored(fragment, disguise, one) for one in whole or candidates)
                return replace(restored[0], hypotheses=restored if translation.hypotheses else ())
            spans = merged_spans([*spans, *self._missing_numbers(fragment, spans, candidates[0].text)])
        return (yield from self._cut(fragment, spans))

    def _translated(self, fragment: Fragment, disguise: Disguise, is_retry: bool) -> Steps:
        line = self._line(fragment, disguise, is_retry)
        if is_retry or not self._is_heading(fragment, disguise):
            return (yield from self._with_terms(line))
        item = replace(line, source=as_item(disguise.text.removesuffix(".")))
        sentence, listed = yield from in_step(map(self._with_terms, [line, item]))
        whole = [
            one
            for one in (sentence, without_marks(fragment.text, listed))
            if self._is_whole(fragment, fragment.spans, disguise, one.text)
        ]
        best = best_heading(fragment.text, whole or [sentence])
        return replace(best, text=without_article(fragment.text, best.text, self._languages))

    def _is_heading(self, fragment: Fragment, disguise: Disguise) -> bool:
        is_unended = disguise.text.endswith(".") and not fragment.text.endswith(".")
        can_be_item = fragment.line.is_plain and not fragment.spans and all(map(self._is_sayable, ITEM_MARKS))
        return is_unended and can_be_item and is_short(fragment.text)

    def _line(self, fragment: Fragment, disguise: Disguise, is_retry: bool) -> Line:
        line = disguise.line(fragment.line)
        fits = len(self._source_tokenizer.encode(line.source)) <= self._longest
        if is_retry and self._can_pin and line.template is None and fits:
            return replace(line, pins=(*line.pins, *disguise.originals))
        return line

    def _with_terms(self, line: Line) -> Steps:
        """Translate a line with the terms of its glossary; soft ones are pinned if they are not there by themselves."""
        if line.glossary is None or line.template is not None:
            return (yield from unprotected(line))
        matches = line.glossary.find(line.source)
        forced = [match for match in matches if not match.term.soft]
        translation = yield from unprotected(with_terms(line, forced, self._stand_ins))
        missing = [
            match for match in matches if match.term.soft and not line.glossary.is_in(match.term, translation.text)
        ]
        return (
            (yield from unprotected(with_terms(line, [*forced, *missing], self._stand_ins))) if missing else translation
        )

    def _cut(self, fragment: Fragment, spans: Sequence[Span]) -> Steps:
        """Translate what is between the spans alone."""
        parts: list[str] = []
        cores: dict[int, str] = {}
        end = 0
        for span in [*spans, Span(len(fragment.text), len(fragment.text))]:
            before, core, after = edges(fragment.text[end : span.start])
            if has_letters(core):
                cores[len(parts) + 1] = core
            parts += [before, core, after, self._shown(fragment, span)]
            end = span.end
        lines = [replace(fragment.line, source=self._source(fragment, core)) for core in cores.values()]
        translations = yield from in_step(map(self._with_terms, lines))
        finished: list[str | Translation] = list(parts)
        for (place, core), translation in zip(cores.items(), translations, strict=True):
            text = fragment.letters.applied(self._finished(fragment, core, translation.text))
            finished[place] = replace(translation, text=text)
        return assembled(finished)

    def _disguise(self, fragment: Fragment, spans: Sequence[Span], is_retry: bool) -> Disguise | None:
        stand_ins = self._stand_ins.reordered if is_retry else self._stand_ins
        names = stand_ins.chosen(fragment.text, spans)
        if names is None and fragment.line.is_plain:
            return None
        if names is None:  # constraints are for the whole line, which cannot be cut
            names, spans = [], []
        disguise = Disguise.of(fragment.text, spans, names, [self._shown(fragment, span) for span in spans])
        if not fragment.is_free:
            return disguise
        if fragment.letters is not Letters.USUAL:
            disguise = disguise.respelled(self._usual.words)
            disguise = replace(disguise, text=_capitalized(disguise.text))
        return replace(disguise, text=self._ended(disguise.text))

    def _source(self, fragment: Fragment, text: str) -> str:
        """Return a part of a fragment's text as the model gets it."""
        return self._ended(text if fragment.letters is Letters.USUAL else _capitalized(self._usual.words(text)))

    def _ended(self, text: str) -> str:
        """Return the text with a full stop, if the model knows any."""
        return ended(text) if self._has_full_stop else text

    def _restored(self, fragment: Fragment, disguise: Disguise, translation: Translation) -> Translation:
        if not fragment.is_free:
            return disguise.removed(translation, lambda text: text)
        finished = replace(translation, text=self._finished(fragment, fragment.text, translation.text))
        return disguise.removed(finished, fragment.letters.applied)

    def _finished(self, fragment: Fragment, source: str, translation: str) -> str:
        """Return a translation that begins and ends as its source does: with a capital, and with a mark, or without."""
        text = with_unit_spaces(source, same_ending(source, _UNKNOWN.sub("", translation)))
        if fragment.line.glossary is not None and source[:1].isupper():
            return _capitalized(text)
        word = _WORD.match(text)
        if word is None or not source[:1].islower() or not self._usual_target(word[0]).islower():
            return text
        return text[0].lower() + text[1:]

    def _shown(self, fragment: Fragment, span: Span) -> str:
        text = span.of(fragment.text)
        return convert_number(text, self._languages) if span.kind is SpanKind.NUMBER else text

    def _is_whole(self, fragment: Fragment, spans: Sequence[Span], disguise: Disguise, translation: str) -> bool:
        return (
            not _UNKNOWN.search(translation)
            and disguise.is_whole(translation)
            and not (fragment.is_free and self._missing_numbers(fragment, spans, translation))
        )

    def _missing_numbers(self, fragment: Fragment, spans: Sequence[Span], translation: str) -> list[Span]:
        return missing_numbers(blanked(fragment.text, spans), translation, self._languages)


def _without_controls(text: str) -> str:
    """Return text that any tokenizer takes, with its tabs."""
    return "\t".join(map(clean, text.split("\t")))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
