"""Decoding of conditional masked language models: mask-predict over a few target lengths (section 3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

from maskpredict.decoding.arrays import array_namespace
from maskpredict.decoding.candidates import CompletedDraft, candidate_lengths, likely_lengths, ranked
from maskpredict.decoding.completion import DraftCompleter
from maskpredict.decoding.contrast import contrasted_draft
from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.drafts import pinned_draft, place_phrases, shortest_with, template_drafts
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.pausing import pause
from maskpredict.decoding.settings import MaskPredictSettings, RefinementSettings
from maskpredict.errors import UserError

WORDS_PER_MASK = 4
"""Every fourth word is masked at once in `cloze`: as good as one at a time, in fewer passes."""


@dataclass(frozen=True)
class Draft:
    """A target to complete."""

    ids: list[int]
    length: int
    """Predicted length that it was made for; pinned phrases may make it longer."""


class MaskedDecoder(Decoder):
    """Completes drafts of the likeliest lengths, and ranks them by their mean log-probability."""

    settings_type: ClassVar[type] = MaskPredictSettings
    reserves_slot: ClassVar[bool] = True
    can_pin: ClassVar[bool] = True

    def start(self, requests: Sequence[Request], settings: MaskPredictSettings) -> StartedTranslation:
        """As in `Decoder`: all passes at once where the engine can, else one after the other."""
        started = self.engine.start(requests, settings)
        if started is None:
            hypotheses = self._in_passes(requests, settings)
            return lambda: hypotheses

        def finish() -> list[list[Hypothesis]]:
            candidates = started()
            if candidates is None:
                return self._in_passes(requests, settings)
            return [ranked(rows, settings) for rows in candidates]

        return finish

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: MaskPredictSettings
    ) -> list[Hypothesis]:
        """As in `Decoder`: mask-predict at each target's length, and the log-probability of each given token when its
        position was last predicted, as `translate` reports when it produces these tokens."""
        drafts = [[self.engine.special.mask] * len(target) for target in targets]
        with self.engine.working():
            rows = self.completer(requests, settings).complete(drafts, range(len(drafts)), given=targets)
        return [ranked([row], settings)[0] for row in rows]

    def cloze(self, sources: Sequence[Sequence[int]], target: Sequence[int], words: Sequence[int]) -> list[list[float]]:
        """As in `Decoder`: every fourth word is masked at a time, and predicted from the others."""
        parts = range(min(WORDS_PER_MASK, len(set(words))))
        hidden = [[word % len(parts) == part for word in words] for part in parts]
        mask = self.engine.special.mask
        drafts = [
            [mask if is_hidden else token for token, is_hidden in zip(target, row, strict=True)] for row in hidden
        ]
        owner = [row for row in range(len(sources)) for _ in parts]
        with self.engine.working():
            requests = [Request(tuple(source)) for source in sources]
            completer = self.completer(requests, MaskPredictSettings(iterations=1))
            rows = completer.complete(drafts * len(sources), owner, given=[target] * len(owner))
        by_source = [rows[first : first + len(parts)] for first in range(0, len(rows), len(parts))]
        return [[row[word % len(parts)].log_probs[place] for place, word in enumerate(words)] for row in by_source]

    def completer(self, requests: Sequence[Request], settings: MaskPredictSettings) -> DraftCompleter:
        """Run the encoder, and return a `DraftCompleter` for these requests."""
        encoded = self.engine.encode([request.source for request in requests])
        return DraftCompleter(encoded, self.engine.special, settings)

    def _in_passes(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[Hypothesis]]:
        with self.engine.working():
            return [ranked(rows, settings) for rows in self._candidates(requests, settings)]

    def _candidates(self, requests: Sequence[Request], settings: MaskPredictSettings) -> list[list[CompletedDraft]]:
        completer = self.completer(requests, settings)
        log_probs_BL = completer.encoded.length_log_probs_BL
        lengths = candidate_lengths(log_probs_BL, settings.length_candidates, self._longest)
        likely = likely_lengths(log_probs_BL, lengths, settings.length_threshold)
        # Unlikely lengths are tried only if num_hypotheses needs them.
        tried = [each[: max(len(first), settings.num_hypotheses)] for each, first in zip(lengths, likely, strict=True)]
        drafts = [self._drafts(completer, n, request, tried[n]) for n, request in enumerate(requests)]
        owner = [sentence for sentence, sentence_drafts in enumerate(drafts) for _ in sentence_drafts]
        finished = completer.complete([draft.ids for draft in chain(*drafts)], owner)
        candidates: list[list[CompletedDraft]] = [[] for _ in requests]
        for sentence, draft, done in zip(owner, chain(*drafts), finished, strict=True):
            unlikely = draft.length in tried[sentence][len(likely[sentence]) :]
            # Constraints may make a target longer than any length that the model predicts.
            log_prob = float(log_probs_BL[sentence, min(draft.length, log_probs_BL.shape[1] - 1)])
            ranks_last = done.ranks_last or unlikely
            candidates[sentence].append(replace(done, ranks_last=ranks_last, length_log_prob=log_prob))
        return candidates

    def _drafts(self, completer: DraftCompleter, sentence: int, request: Request, lengths: list[int]) -> list[Draft]:
        """Return one draft for each length candidate, with the request's constraints."""
        if request.template is not None:
            rows = template_drafts(request.template, lengths, self.engine.special.mask, self.engine.special.eos)
            self._refuse_length(min(map(len, rows)))
            return [Draft(row, len(row)) for row in rows if len(row) <= self._longest]
        if request.length is not None:
            self._refuse_length(request.length)
            return [self._pinned(completer, sentence, request, request.length, request.length)]
        if not request.pins:
            self._refuse_length(lengths[0])
            return [Draft([self.engine.special.mask] * length, length) for length in lengths]
        if all(pin.place is None and pin.contrast is not None for pin in request.pins):
            drafts = self._contrasted(completer, sentence, request, lengths)
            if drafts := [draft for draft in drafts if len(draft.ids) <= self._longest]:
                return drafts
        return self._with_pins(completer, sentence, request, lengths)

    def _contrasted(
        self, completer: DraftCompleter, sentence: int, request: Request, lengths: list[int]
    ) -> list[Draft]:
        assert isinstance(completer.settings, MaskPredictSettings)
        mask = self.engine.special.mask
        contrasts = [Request(pin.contrast.source) for pin in request.pins if pin.contrast is not None]
        others = self.completer(contrasts, completer.settings)
        drafts = []
        for length in lengths:
            masks = [mask] * length
            contrast_log_probs = [others.first_pass(masks, number) for number in range(len(contrasts))]
            ids = contrasted_draft(completer.first_pass(masks, sentence), request.pins, contrast_log_probs, mask)
            drafts += [] if ids is None else [Draft(ids, length)]
        return drafts

    def _with_pins(self, completer: DraftCompleter, sentence: int, request: Request, lengths: list[int]) -> list[Draft]:
        shortest = shortest_with(request.pins, self.engine.special.mask)
        extra = self._extra_positions(completer, sentence, request, lengths[0])
        predicted: dict[int, int] = {}  # size of a draft -> the likeliest length that leads to it
        for length in lengths:
            predicted.setdefault(max(length + extra, shortest), length)
        self._refuse_length(min(predicted))
        return [
            self._pinned(completer, sentence, request, size, length)
            for size, length in predicted.items()
            if size <= self._longest
        ]

    def _extra_positions(self, completer: DraftCompleter, sentence: int, request: Request, length: int) -> int:
        """Estimate by how many positions pinned phrases without a place lengthen the target.

        Subwords that the model predicts anyway need no position of their own; one of a phrase's others replaces a
        predicted subword.
        """
        phrases = [pin.ids for pin in request.pins if pin.place is None and len(pin.ids) > 1]
        if not phrases:
            return 0
        pause()
        log_probs_TV = completer.first_pass([self.engine.special.mask] * length, sentence)
        predicted = set(array_namespace(log_probs_TV).argmax(log_probs_TV, axis=1).tolist())
        return sum(max(0, sum(token not in predicted for token in phrase) - 1) for phrase in phrases)

    def _pinned(self, completer: DraftCompleter, sentence: int, request: Request, size: int, length: int) -> Draft:
        mask = self.engine.special.mask
        row = pinned_draft(size, request.pins, mask)
        phrases = [pin.ids for pin in request.pins if pin.place is None]
        if phrases:
            pause()
            row = place_phrases(row, phrases, completer.first_pass(row, sentence), mask)
        return Draft(row, length)

    @property
    def _longest(self) -> int:
        return self.engine.config.max_positions - 1

    def _refuse_length(self, length: int) -> None:
        if not 1 <= length <= self._longest:
            raise UserError(
                f"a target of {length} positions was asked for; this model has between 1 and {self._longest}."
            )


class RefinementDecoder(MaskedDecoder):
    """Predicts all words again in each pass, from those of the previous one."""

    settings_type: ClassVar[type] = RefinementSettings
