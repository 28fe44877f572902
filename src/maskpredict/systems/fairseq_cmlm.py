"""fairseq's variant of the CMLM, for imported models.

It differs from the paper's in three ways. Sentences begin with BOS; in a target, BOS and the end mark are fixed, and
only the tokens between them are masked. The length is predicted from the mean of the encoder's output, without a LENGTH
token. Length classes are the target's length, or its difference from the source's length, both with BOS.

Elsewhere a target is its subwords and the end mark: `decoding/framed.py` adds and removes BOS.
"""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.framed import LENGTH_OFFSET
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad_rows
from maskpredict.model.layout import Layout, Padded
from maskpredict.systems.base import Loss
from maskpredict.systems.cmlm import CMLM


class FairseqCMLM(CMLM):
    """A CMLM with fixed BOS and end mark, whose length classes are lengths."""

    name: ClassVar[str] = "fairseq_cmlm"
    relative: ClassVar[bool] = False
    """True when length classes are differences from the source's length."""

    def loss(self, batch: Batch) -> Loss:
        """Raise a `UserError`: imported models are not trained."""
        raise UserError(f"{self.name} models are only imported, to translate; train a {CMLM.name} instead.")

    def encode_tokens(self, source: Tokens) -> tuple[Tensor, Tensor, Layout]:
        """As in `CMLM`, with BOS in the slot of LENGTH; it stays in the output."""
        layout = source.layout
        assert isinstance(layout, Padded)
        ids = torch.where(layout.positions == 0, self.special.bos, source.ids)
        encoded_BSD = self.transformer.encode(ids, layout)
        sum_BD = (encoded_BSD * layout.valid_BT[..., None]).sum(1)
        return encoded_BSD, self._length_log_probs(sum_BD, layout.lengths_B), layout

    def _length_log_probs(self, sum_BD: Tensor, source_lengths_B: Tensor) -> Tensor:
        """Return log-probabilities of target lengths without BOS, -inf where there is no class."""
        mean_BD = sum_BD / source_lengths_B[:, None]
        scores_BC = F.linear(pad_rows(mean_BD), self.length.table.weight)[: len(mean_BD)].float()
        log_probs_BC = scores_BC.log_softmax(-1)
        lengths_L = torch.arange(self.config.max_positions, device=log_probs_BC.device)
        shift_B1 = (LENGTH_OFFSET - source_lengths_B if self.relative else torch.zeros_like(source_lengths_B))[:, None]
        class_BL = lengths_L + 1 + shift_B1
        exists_BL = (class_BL >= 0) & (class_BL < log_probs_BC.shape[1])
        log_probs_BL = log_probs_BC.gather(1, class_BL.clamp(0, log_probs_BC.shape[1] - 1))
        return log_probs_BL.masked_fill(~exists_BL, float("-inf"))


class FairseqRelativeCMLM(FairseqCMLM):
    """A CMLM with fixed BOS and end mark, whose length classes are differences from the source's length."""

    name: ClassVar[str] = "fairseq_cmlm_relative"
    relative: ClassVar[bool] = True
