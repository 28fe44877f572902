"""Conversion of lines of text to requests in ids, and of hypotheses to translations. Errors name the line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskpredict.corpus.reading import printable
from maskpredict.decoding.drafts import shortest_with
from maskpredict.decoding.hypothesis import Contrast, Gap, Hypothesis, Pin, Request
from maskpredict.errors import UserError
from maskpredict.runtime.glossary.glossary import Glossary
from maskpredict.runtime.splitting import hard_cut, pieces_of
from maskpredict.runtime.templates import Template, parse_template
from maskpredict.runtime.translation import Translation
from maskpredict.tokenizer import Tokenizer, Tokenizers, word_continuations


@dataclass(frozen=True)
class TermPin:
    """The translation of a glossary's term."""

    phrase: str
    contrast: str
    """The source with other words in place of the term's, which shows where in the translation the phrase belongs."""
    words: int = 1
    """Number of the term's words."""


PinLike = str | tuple[str, int]
"""A phrase that must appear, anywhere or with its first subword at a place counted from 0."""

MAX_TOKENIZER_THREADS, LINES_PER_THREAD = 8, 16
"""Threads that tokenize many lines, so that a fast GPU does not wait; a few lines use one."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Line:
    """A line to translate, and constraints on its translation."""

    source: str
    pins: tuple[PinLike, ...] = ()
    reference: str | None = None
    """Decode at the length of this text."""
    template: str | tuple[str | None, ...] | None = None
    """A target with gaps: as text, or a subword for every position, the end mark included, and None for a gap."""
    glossary: Glossary | None = None
    """Terms that the translation must have where their sources occur."""
    terms: tuple[TermPin, ...] = ()
    """Those that were found."""
    number: int = 0
    """Place in the input, from 1, which errors name; 0 if the translator is to count."""

    align: bool = False
    """Align the translation with the source."""

    @property
    def is_plain(self) -> bool:
        """True without constraints."""
        return not self.pins and not self.terms and self.reference is None and self.template is None


class LineCodec:
    """Turns lines into requests and hypotheses into translations, for one model."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        language: str,
        max_positions: int,
        max_input: int,
        threads: int,
        *,
        pretokenized: bool,
    ) -> None:
        """`language` is the code of the source's language."""
        self.language = language
        self.source, self.target = tokenizers.source, tokenizers.target
        self.max_positions, self.max_input = max_positions, max_input
        self.threads, self.pretokenized = threads, pretokenized

    def requests(self, lines: Sequence[Line]) -> list[list[Request]]:
        """Return each line as one request, as several if it is too long, or as none if it has no text."""
        texts = [clean(line.source) for line in lines]
        per_line = []
        for line, text, ids in zip(lines, texts, self._all_ids(texts), strict=True):
            try:
                per_line.append(self._requests(line, text, ids))
            except UserError as error:
                raise UserError(f"line {line.number}: {error}") from error
        return per_line

    def _all_ids(self, texts: list[str]) -> list[list[int]]:
        if self.pretokenized:
            return [self._ids(text, self.source) for text in texts]
        threads = min(self.threads, MAX_TOKENIZER_THREADS, len(texts) // LINES_PER_THREAD)
        return self.source.encode_many(texts, max(1, threads))

    def _requests(self, line: Line, text: str, ids: list[int]) -> list[Request]:
        if line.template is not None or (ids and not line.is_plain):
            return [self._whole(line, ids)]
        if len(ids) <= self.max_input:
            pieces = [ids] if ids else []
        elif self.pretokenized:
            pieces = hard_cut(ids, self.max_input)
        else:
            pieces = pieces_of(text, self.language, self.source.encode, self.max_input)
        return [Request(self._ended(piece)) for piece in pieces]

    def scored(self, source: str, target: str, number: int) -> tuple[Request, list[int]]:
        """Return a request and target ids to score. A pretokenized target is used as is, with or without end mark."""
        try:
            ids = self._ids(clean(target), self.target)
            target_ids = ids if self.pretokenized and ids else [*ids, self.target.special.eos]
            self._check_target(len(target_ids))
            return self._whole(Line(source), self._ids(clean(source), self.source)), target_ids
        except UserError as error:
            raise UserError(f"line {number}: {error}") from error

    def translation(self, best: Sequence[Hypothesis], *, collapse_repeats: bool, n_best: bool) -> Translation:
        """Return the hypotheses of one request, best first, as a translation."""
        spelled = [self._spelled(hypothesis, collapse_repeats) for hypothesis in best]
        return replace(spelled[0], hypotheses=tuple(spelled)) if n_best else spelled[0]

    def _spelled(self, hypothesis: Hypothesis, collapse_repeats: bool) -> Translation:
        eos = self.target.special.eos
        ids = hypothesis.ids[: hypothesis.ids.index(eos)] if eos in hypothesis.ids else hypothesis.ids
        if collapse_repeats:
            ids = [token for place, token in enumerate(ids) if place == 0 or token != ids[place - 1]]
        text = " ".join(self.target.pieces(ids)) if self.pretokenized else printable(self.target.decode(ids))
        trace = hypothesis.trace and hypothesis.trace.spelled(self.target.pieces)
        tokens = self.target.pieces(hypothesis.ids)
        return Translation(
            text, tokens, hypothesis.score, hypothesis.log_probs, hypothesis.passes, hypothesis.lengths, trace=trace
        )

    def _whole(self, line: Line, ids: list[int]) -> Request:
        """Return the request of a line that must not be split."""
        if len(ids) > self.max_input:
            raise UserError(
                f"a source of {len(ids)} subwords is too long to be translated as a whole (at most {self.max_input}); "
                "shorten it."
            )
        source = self._ended(ids)
        if isinstance(line.template, tuple):
            return self._with_gaps(source, line.template)
        if line.template is not None:
            return Request(source, template=self._template(line.template))
        length = None if line.reference is None else len(self._ids(clean(line.reference), self.target)) + 1
        if length is not None:
            self._check_target(length)
        return Request(source, length=length, pins=self._pins(line.pins, line.terms))

    def _ids(self, clean_text: str, tokenizer: Tokenizer) -> list[int]:
        return tokenizer.ids(clean_text.split()) if self.pretokenized else tokenizer.encode(clean_text)

    def _ended(self, source_ids: list[int]) -> tuple[int, ...]:
        return (*source_ids, self.source.special.eos)

    def _template(self, text: str) -> Template:
        template = parse_template(clean(text), self.target)
        sizes = [(part.length or 1) if isinstance(part, Gap) else len(part) for part in template]
        self._check_target(sum(sizes) + 2)  # the end mark, and one more position for an open gap
        return template

    def _with_gaps(self, source: tuple[int, ...], tokens: tuple[str | None, ...]) -> Request:
        """Return the request of a target whose positions are given or None."""
        self._check_target(len(tokens))
        if None not in tokens:
            raise UserError("every token is given; leave out those that are to be predicted.")
        special = self.target.special
        ids = [None if token is None else self.target.ids([token])[0] for token in tokens]
        for token, known in zip(tokens, ids, strict=True):
            if known == special.unk and token != self.target.pieces([special.unk])[0]:
                raise UserError(f"the token {token!r} is not in the model's vocabulary; use tokens that it returned.")
        if ids[-1] is None:
            pins = tuple(Pin((known,), place) for place, known in enumerate(ids) if known is not None)
            return Request(source, length=len(ids), pins=pins)
        if ids[-1] != special.eos:
            raise UserError("the last token is not the end mark; add it, or leave the last position open.")
        return Request(source, template=tuple(Gap(1) if known is None else (known,) for known in ids[:-1]))

    def _pins(self, pins: Sequence[PinLike], terms: Sequence[TermPin]) -> tuple[Pin, ...]:
        pinned = [*map(self._pin, pins), *map(self._term, terms)]
        self._check_target(shortest_with(pinned, self.target.special.mask))
        return tuple(pinned)

    def _pin(self, pin: PinLike) -> Pin:
        phrase, place = (pin, None) if isinstance(pin, str) else pin
        return Pin(self._phrase("pin", phrase), place)

    def _term(self, term: TermPin) -> Pin:
        source = self._ended(self._ids(clean(term.contrast), self.source))
        return Pin(
            self._phrase("term", term.phrase), None, Contrast(source, word_continuations(self.target), term.words)
        )

    def check_term(self, phrase: str) -> None:
        """Refuse the translation of a term that the model cannot say."""
        self._check_target(len(self._phrase("term", phrase)) + 1)

    def _phrase(self, kind: str, phrase: str) -> tuple[int, ...]:
        ids = self._ids(clean(phrase), self.target)
        if not ids:
            raise UserError(f"the {kind} {phrase!r} has no text; leave it out.")
        if self.target.special.unk in ids:
            raise UserError(f"the {kind} {phrase!r} has characters that the model's vocabulary lacks; use other words.")
        return tuple(ids)

    def _check_target(self, length: int) -> None:
        if length > self.max_positions - 1:
            raise UserError(
                f"a target of {length} subwords is too long for the model (at most {self.max_positions - 1}); "
                "shorten it."
            )


def clean(text: str) -> str:
    """Return text that any tokenizer takes: control characters become spaces, lone surrogates U+FFFD."""
    return _SURROGATE.sub("\ufffd", printable(text))
