"""The length head: the LENGTH vector that enters the encoder, and the length classes.

One table has both (section 2.3 of the paper, and the released code): row 0 is the vector in front of the source, row n
is the class of targets with n tokens, the end mark included. Row 0 is never predicted.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maskpredict.model.transformer import initialise, unrounded_product


class LengthHead(nn.Module):
    """Scores target lengths from the encoder's output at the LENGTH position."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(classes, width)
        initialise(self.table)

    @property
    def slot(self) -> Tensor:
        """The LENGTH vector [D] that enters the encoder."""
        return self.table.weight[0]

    def forward(self, encoded_BD: Tensor) -> Tensor:
        """Return log-probabilities [B, L] of each length, float32, -inf for length 0."""
        scores_BL = unrounded_product(encoded_BD, self.table.weight).float()
        never = torch.arange(scores_BL.shape[1], device=scores_BL.device) == 0
        return scores_BL.masked_fill(never, float("-inf")).log_softmax(-1)
