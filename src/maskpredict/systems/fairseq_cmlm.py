"""fairseq's own variant of the CMLM, for imported models.

It differs from the paper's in three things. Sentences begin with BOS; on the target side BOS and the end mark are fixed
and only what lies between them is ever masked. The length is predicted from the mean of the encoder's output, there is
no LENGTH token. And its classes are the target's length, or how much longer than the source it is, both with BOS.

Elsewhere in this project a target is its subwords and the end mark: BOS is added here and taken away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.finish import Finisher
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.onnxruntime_passes import EncodedApart
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.trace import Pass
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad_rows
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.onnxruntime_transformer import OnnxruntimeTransformer
from maskpredict.systems.base import Loss, Sharing, Vocabulary
from maskpredict.systems.cmlm import CMLM

OFFSET = 128
"""The class that stands for a target as long as its source, where classes are differences."""


class FairseqCMLM(CMLM):
    """A CMLM between fixed ends whose length classes are lengths."""

    name: ClassVar[str] = "fairseq_cmlm"
    relative: ClassVar[bool] = False
    """True when length classes are differences to the source's length."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.recording = False  # its drafts have fixed ends

    @property
    def sharing(self) -> Sharing:
        """Those of one width: the mean that the length is predicted from rounds with it."""
        return "same width"

    def loss(self, batch: Batch) -> Loss:
        """Imported models are not trained further."""
        raise UserError(f"{self.name} models are only imported, to translate; train a {CMLM.name} instead.")

    def encode_tokens(self, source: Tokens) -> tuple[Tensor, Tensor, Layout]:
        """Encoder output and length log-probabilities; BOS stands in the slot that the paper's CMLM has for LENGTH."""
        layout = source.layout
        assert isinstance(layout, Padded)
        ids = torch.where(layout.positions == 0, self.special.bos, source.ids)
        encoded_BSD = self.transformer.encode(ids, layout)
        sum_BD = (encoded_BSD * layout.valid_BT[..., None]).sum(1)
        return encoded_BSD, self._length_log_probs(sum_BD, layout.lengths_B), layout

    def encode_apart(self, transformer: OnnxruntimeTransformer, sources: Sequence[Sequence[int]]) -> EncodedApart:
        """As in `CMLM`."""
        found = transformer.encode_each([(self.special.bos, *source) for source in sources], self.length, slot=False)
        sum_BD = torch.stack([torch.from_numpy(own.encoded_SD).sum(0) for own in found])
        lengths_B = torch.tensor([len(own.encoded_SD) for own in found])
        return EncodedApart(transformer, found, self._length_log_probs(sum_BD, lengths_B))

    def _length_log_probs(self, sum_BD: Tensor, source_lengths_B: Tensor) -> Tensor:
        """Log-probabilities of target lengths without BOS, -inf where there is no class; from sums over the source."""
        mean_BD = sum_BD / source_lengths_B[:, None]
        scores_BC = F.linear(pad_rows(mean_BD), self.length.table.weight)[: len(mean_BD)].float()
        log_probs_BC = scores_BC.log_softmax(-1)
        lengths_L = torch.arange(self.config.max_positions, device=log_probs_BC.device)
        shift_B1 = (OFFSET - source_lengths_B if self.relative else torch.zeros_like(source_lengths_B))[:, None]
        class_BL = lengths_L + 1 + shift_B1
        exists_BL = (class_BL >= 0) & (class_BL < log_probs_BC.shape[1])
        found_BL = log_probs_BC.gather(1, class_BL.clamp(0, log_probs_BC.shape[1] - 1))
        return found_BL.masked_fill(~exists_BL, float("-inf"))

    def _finisher(self, requests: Sequence[Request], settings: MaskPredictSettings) -> Finisher:
        return _BetweenEnds(self.transformer, self.encode(requests), self.special, settings)


class FairseqRelativeCMLM(FairseqCMLM):
    """A CMLM between fixed ends whose length classes are differences to the source's length."""

    name: ClassVar[str] = "fairseq_cmlm_relative"
    relative: ClassVar[bool] = True


class _BetweenEnds(Finisher):
    """Completes drafts with BOS in front and the end mark already in its place."""

    def finish(
        self, drafts: list[list[int]], owner: list[int], given: Sequence[Sequence[int]] | None = None
    ) -> list[Finished]:
        """As in `Finisher`, on drafts and targets without BOS."""
        framed_given = None if given is None else [[self.special.bos, *target] for target in given]
        return [_without_bos(row) for row in super().finish(list(map(self._framed, drafts)), owner, framed_given)]

    def first_guess(self, draft: list[int], sentence: int) -> Tensor:
        """As in `Finisher`, on a draft without BOS."""
        return super().first_guess(self._framed(draft), sentence)[1:]

    def _framed(self, draft: list[int]) -> list[int]:
        return [self.special.bos, *draft[:-1], self.special.eos]


def _without_bos(row: Finished) -> Finished:
    history = [Pass(step.masked[1:], step.ids[1:], step.probabilities[1:]) for step in row.history]
    return replace(row, ids=row.ids[1:], log_probs=row.log_probs[1:], history=history)
