"""The Translator: text in, text out, with any model this project trains.

    translator = Translator("de-en-shallow")
    translator.translate(["Guten Morgen!"], iterations=4)[0].text

A sentence's translation depends on the model and the settings alone: not on its batch, the order of the input or the
number of threads. The exception are rare near ties on a GPU in half precision, which rounding decides.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from maskpredict.decoding.hypothesis import Hypothesis
from maskpredict.engines import load_engine
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.model.padding import ROWS
from maskpredict.runtime.batching import BatchType, batches
from maskpredict.runtime.blocks import BlockTranslator
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.glossary.glossary import Glossary
from maskpredict.runtime.glossary.reading import read_glossary
from maskpredict.runtime.judge import Judge
from maskpredict.runtime.lines import Line, LineCodec, PinLike, clean
from maskpredict.runtime.settings import resolve_settings
from maskpredict.runtime.text.protection import Protection
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.word_alignment import WordAlignment, align
from maskpredict.systems import find_decoder

__all__ = ["Translation", "Translator"]

logger = logging.getLogger(__name__)

MAX_CACHED_SETTINGS = 256
"""Combinations of settings in a translator's cache."""


class Translator:
    """A loaded model."""

    def __init__(
        self,
        model: str | Path | ModelFolder,
        *,
        device: str = "auto",
        compute_type: str = "auto",
        engine: str = "auto",
        intra_threads: int | None = None,
        max_input_length: int | None = None,
        judge: str | Path | ModelFolder | None = None,
        judge_alone: bool = False,
    ) -> None:
        """Load a model: the name of a shipped one, `hf:owner/name`, a model or run folder, or an opened `ModelFolder`.

        `compute_type` is auto, float32, bfloat16, float16, or int8 on a CPU; auto is the fastest that is exact enough.
        `engine` names one of `maskpredict.engines.ENGINES`; auto is the fastest that runs the model. The attributes
        `device`, `compute_type` and `engine` are what was chosen. `intra_threads` is the number of CPU threads, by
        default four at most; for engines that use PyTorch it is set for the whole process. A line with more than
        `max_input_length` subwords (at most what the model has positions for) is translated in pieces. `judge` is an
        autoregressive model with the same subwords, such as the teacher: translations are then ranked by the sum of
        both models' scores, with `judge_alone` by the judge's.
        """
        contents = model if isinstance(model, ModelFolder) else ModelFolder.read(find_model(model))
        self.system = contents.system
        """Name of the model's system."""
        self.engine = load_engine(
            contents, device=device, compute_type=compute_type, engine=engine, threads=intra_threads
        )
        self.decoder = find_decoder(contents.system)(contents.system, self.engine)
        self.device, self.compute_type = self.engine.device, self.engine.compute_type
        self.languages, self.tokenizers = contents.languages, contents.tokenizers
        self.generation = contents.generation
        self.has_shortlist = contents.shortlist is not None
        logger.info("Computing in %s on %s, by %s.", self.compute_type, self.device, self.engine.name)
        self.max_input_length = _input_limit(contents.config.max_positions, max_input_length)
        self._resolved: dict[str, Any] = {}
        self._settings({})  # raises an error now if generation.json is damaged
        self.judge = None if judge is None else self._opened_judge(judge, judge_alone)

    @cached_property
    def _protection(self) -> Protection:
        """Made at first use: a model imported without codes reads no text, only subwords."""
        return Protection(self.tokenizers, self.languages, can_pin=self.decoder.can_pin, longest=self.max_input_length)

    def _opened_judge(self, model: str | Path | ModelFolder, alone: bool) -> Judge:
        opened = Translator(model, device=self.device, compute_type=self.compute_type)
        name = "" if isinstance(model, ModelFolder) else str(model)
        return Judge(name, opened, opened._settings({}), self, alone=alone)

    def translate(
        self,
        texts: Sequence[str],
        *,
        pins: Sequence[Sequence[PinLike]] | None = None,
        references: Sequence[str] | None = None,
        glossary: Glossary | str | Path | None = None,
        pretokenized: bool = False,
        collapse_repeats: bool = False,
        max_batch_size: int | None = None,
        batch_type: BatchType = "tokens",
        raw: bool = False,
        **settings: Any,
    ) -> list[Translation]:
        """Translate each text; one without words gives an empty translation.

        `settings` are those of the model's system (`MaskPredictSettings`, `BeamSettings`); missing ones are those of
        the model folder, or of the preset that a CMLM's `speed` names (`fast`, `balanced`, `best`). `pins` are phrases
        that each translation must contain, `glossary` is a `Glossary` or the file of one (docs/glossaries.md). With
        `references` each translation gets the length of its reference. With `pretokenized`, texts are subwords between
        spaces. `collapse_repeats` drops a subword that equals its left neighbour. `max_batch_size` limits memory, not
        the result. Placeholders, addresses, numbers and the like survive unchanged (docs/text.md); with `raw` a
        translation is exactly what the model writes.
        """
        terms = None if glossary is None else self.open_glossary(glossary)
        lines = [
            Line(text, tuple(own_pins), reference, glossary=terms)
            for text, own_pins, reference in _aligned(texts, pins or [()] * len(texts), references)
        ]
        return list(
            self.translate_lines(
                lines,
                pretokenized=pretokenized,
                collapse_repeats=collapse_repeats,
                max_batch_size=max_batch_size,
                batch_type=batch_type,
                window=max(1, len(lines)),
                raw=raw,
                **settings,
            )
        )

    def open_glossary(self, glossary: Glossary | str | Path) -> Glossary:
        """Read a glossary's file, and refuse a glossary that this model cannot use."""
        if not isinstance(glossary, Glossary):
            glossary = read_glossary(Path(glossary), self.languages)
        if (glossary.source_language, glossary.target_language) != (self.languages.source, self.languages.target):
            raise UserError(
                f"the glossary is from {glossary.source_language} to {glossary.target_language}, and the model from "
                f"{self.languages}; use one of the model's languages."
            )
        if not self.decoder.can_pin:
            raise UserError(f"models of the system {self.system} cannot use a glossary; use a CMLM.")
        codec = self._codec(pretokenized=False)
        for term in glossary.terms:
            codec.check_term(term.target)
        return glossary

    def translate_stream(
        self, texts: Iterable[str], *, window: int | None = None, **options: Any
    ) -> Iterator[Translation]:
        """Translate a stream of texts in order, `window` of them at a time; `options` as in `translate`."""
        return self.translate_lines((Line(text) for text in texts), window=window, **options)

    def fill(self, sources: Sequence[str], templates: Sequence[str], **options: Any) -> list[Translation]:
        """Complete targets with gaps: `___` for some subwords, `___{3}` for three; `options` as in `translate`."""
        lines = [Line(source, template=template) for source, template in zip_equal(sources, templates)]
        return list(self.translate_lines(lines, window=max(1, len(lines)), **options))

    def translate_lines(
        self,
        lines: Iterable[Line],
        *,
        pretokenized: bool = False,
        collapse_repeats: bool = False,
        max_batch_size: int | None = None,
        batch_type: BatchType = "tokens",
        window: int | None = None,
        raw: bool = False,
        **settings: Any,
    ) -> Iterator[Translation]:
        """Translate lines, each with its constraints, for `translate`, `translate_stream` and `fill`."""
        codec, resolved = self._codec(pretokenized), self._settings(settings)
        blocks = BlockTranslator(
            self.decoder, self.judge, codec, resolved, collapse_repeats, max_batch_size, batch_type
        )
        numbered = (replace(line, number=line.number or number) for number, line in enumerate(lines, 1))
        while block := list(islice(numbered, window or self.engine.window)):
            as_written = raw or pretokenized
            translated = blocks.translate(block) if as_written else blocks.translate_protected(block, self._protection)
            for line, translation in zip(block, translated, strict=True):
                yield self._aligned(line.source, translation) if line.align else translation

    def score(self, sources: Sequence[str], targets: Sequence[str], **options: Any) -> list[Translation]:
        """Return the targets with the scores that `translate` gives them under the same settings.

        `options` are those of `score_stream`.
        """
        return list(self.score_stream(zip_equal(sources, targets), **options))

    def score_stream(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        pretokenized: bool = False,
        max_batch_size: int | None = None,
        batch_type: BatchType = "tokens",
        window: int | None = None,
        **settings: Any,
    ) -> Iterator[Translation]:
        """Score a stream of (source, target) pairs.

        With `pretokenized`, a target is all positions of a `Translation.tokens`, its end mark included.
        """
        resolved = self._settings(settings)
        codec = self._codec(pretokenized)
        remaining, first = iter(pairs), 1
        while block := list(islice(remaining, window or self.engine.window)):
            pairs_in_ids = [codec.scored(*pair, number) for number, pair in enumerate(block, first)]
            requests, targets = [request for request, _ in pairs_in_ids], [target for _, target in pairs_in_ids]
            hypotheses: dict[int, Hypothesis] = {}
            for batch in batches(requests, resolved, self.decoder, max_batch_size, batch_type):
                scored = self.decoder.score([requests[i] for i in batch], [targets[i] for i in batch], resolved)
                hypotheses.update(zip(batch, scored, strict=True))
            for index in range(len(block)):
                yield codec.translation([hypotheses[index]], collapse_repeats=False, n_best=False)
            first += len(block)

    def _settings(self, given: dict[str, Any]) -> Any:
        """Return what `resolve_settings` returns, cached: on a GPU, thirty such checks take as long as a sentence."""
        key = repr((self.generation, given))
        resolved = self._resolved.get(key)
        if resolved is None:
            resolved = resolve_settings(self.system, self.generation, given)
            self._check_tokens(resolved.suppress_tokens)
            if len(self._resolved) >= MAX_CACHED_SETTINGS:
                self._resolved.clear()
            self._resolved[key] = resolved
        return resolved

    def _check_tokens(self, tokens: Sequence[int]) -> None:
        size = self.tokenizers.target.vocab_size
        for token in tokens:
            if not 0 <= token < size:
                raise UserError(f"suppress_tokens has {token}, but the model's subwords are 0 to {size - 1}.")

    def _aligned(self, source: str, translation: Translation) -> Translation:
        """Return the translation and its alternatives with their alignments."""
        hypotheses = tuple(replace(one, alignment=self._alignment(source, one.text)) for one in translation.hypotheses)
        return replace(translation, alignment=self._alignment(source, translation.text), hypotheses=hypotheses)

    def _alignment(self, source: str, translation: str) -> WordAlignment | None:
        """Return the alignment of two texts; None if one has no words, or too many to be read as a whole."""
        sides = ((self.tokenizers.source, source), (self.tokenizers.target, translation))
        words, target = (tokenizer.encode(clean(text)) for tokenizer, text in sides)
        if not words or not target or max(len(words), len(target)) > self.max_input_length:
            return None
        ends = self.tokenizers.source.special.eos, self.tokenizers.target.special.eos
        return align(self.decoder, self.tokenizers, [*words, ends[0]], [*target, ends[1]])

    def _codec(self, pretokenized: bool) -> LineCodec:
        positions, threads = self.engine.config.max_positions, self.engine.threads
        language, longest = self.languages.source, self.max_input_length
        return LineCodec(self.tokenizers, language, positions, longest, threads, pretokenized=pretokenized)


def zip_equal(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return pairs of two lists, which must be equally long."""
    if len(sources) != len(targets):
        raise UserError(f"there are {len(sources)} sources and {len(targets)} targets; give one for each.")
    return zip(sources, targets, strict=True)


def _input_limit(max_positions: int, asked: int | None) -> int:
    # The end mark and LENGTH take a position each, and rows are padded to a multiple of ROWS.
    longest = max_positions // ROWS * ROWS - 2
    if asked is not None and asked < 1:
        raise UserError(f"max_input_length is {asked}; use 1 or more.")
    return longest if asked is None else min(asked, longest)


def _aligned(
    texts: Sequence[str], pins: Sequence[Sequence[PinLike]], references: Sequence[str] | None
) -> Iterator[tuple[str, Sequence[PinLike], str | None]]:
    if isinstance(texts, str):
        raise UserError("translate takes a list of texts; put the one text into a list.")
    if any(isinstance(phrases, str) for phrases in pins):
        raise UserError(
            "pins is a list of phrases for each text; put the phrases of one text into a list of their own."
        )
    for name, given in (("pins", pins), ("references", references)):
        if given is not None and len(given) != len(texts):
            raise UserError(f"there are {len(texts)} texts and {len(given)} entries of {name}; give one for each.")
    return zip(texts, pins, references if references is not None else [None] * len(texts), strict=True)
