"""Decoding of fairseq's CMLMs, whose targets have a fixed BOS and a fixed end mark.

Elsewhere a target is its subwords and the end mark: BOS is added and removed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maskpredict.decoding.arrays import Array
from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.completion import DraftCompleter
from maskpredict.decoding.decoder import StartedTranslation
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.masked import MaskedDecoder
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.trace import Pass

LENGTH_OFFSET = 128
"""Length class of a target as long as its source, where classes are differences from the source's length."""


class FramedDecoder(MaskedDecoder):
    """`MaskedDecoder` for targets with a fixed BOS and end mark."""

    def start(self, requests: Sequence[Request], settings: MaskPredictSettings) -> StartedTranslation:
        """As in `Decoder`, always pass by pass: engines that run all passes at once mask the end mark."""
        hypotheses = self._in_passes(requests, settings)
        return lambda: hypotheses

    def completer(self, requests: Sequence[Request], settings: MaskPredictSettings) -> DraftCompleter:
        """As in `MaskedDecoder`."""
        encoded = self.engine.encode([request.source for request in requests])
        return _FramedCompleter(encoded, self.engine.special, settings)


class _FramedCompleter(DraftCompleter):
    """Completes drafts with BOS in front and a fixed end mark."""

    def complete(
        self, drafts: Sequence[Sequence[int]], owner: Sequence[int], given: Sequence[Sequence[int]] | None = None
    ) -> list[CompletedDraft]:
        """As in `DraftCompleter`, on drafts and targets without BOS."""
        framed_given = None if given is None else [[self.special.bos, *target] for target in given]
        return [_without_bos(row) for row in super().complete(list(map(self._framed, drafts)), owner, framed_given)]

    def first_pass(self, draft: Sequence[int], sentence: int) -> Array:
        """As in `DraftCompleter`, on a draft without BOS."""
        return super().first_pass(self._framed(draft), sentence)[1:]

    def _framed(self, draft: Sequence[int]) -> list[int]:
        return [self.special.bos, *draft[:-1], self.special.eos]


def _without_bos(row: CompletedDraft) -> CompletedDraft:
    history = [Pass(step.masked[1:], step.ids[1:], step.probabilities[1:]) for step in row.history]
    return replace(row, ids=row.ids[1:], log_probs=row.log_probs[1:], history=history)
