"""Positional attention (Gu et al., 2018): a position looks at others for where they are, not for what they say.

Queries and keys are sinusoids of the positions, values the vectors between layers. A decoder that starts from copies of
the source can so move words before it knows them. The attention stands between self-attention and cross-attention.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, attend
from maskpredict.model.transformer import DecoderLayer, Memory, Residual

LONGEST_WAVE = 10_000.0
"""Wavelength of the slowest sinusoid, divided by 2 pi."""


class PositionalAttention(nn.Module):
    """Attention of every position to every position of its sentence, by position alone."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.width = config.heads, config.width
        self.qk = nn.Linear(config.width, 2 * config.width)
        self.v, self.out = (nn.Linear(config.width, config.width) for _ in range(2))

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """x [..., D] -> [..., D]."""
        places = sinusoids(layout.positions, self.width).to(self.qk.weight.dtype)
        q, k = self.qk(places).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        v = self.v(x).unflatten(-1, (self.heads, -1))
        return self.out(attend(q, k, v, layout, layout).flatten(-2))


class PositionalLayer(DecoderLayer):
    """Self-attention, positional attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.positional, self.positional_residual = PositionalAttention(config), Residual(config)

    def forward(self, x: Tensor, layout: Layout, memory: Memory, source: Layout, *, causal: bool) -> Tensor:
        """As in `DecoderLayer`."""
        x = self.attention_residual(x, lambda h: self.attention(h, layout, causal=causal))
        x = self.positional_residual(x, lambda h: self.positional(h, layout))
        x = self.cross_residual(x, lambda h: self.cross(h, layout, memory, source))
        return self.feed_forward_residual(x, self.feed_forward)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return the encodings [..., D] of positions [...]: sines in one half, cosines in the other."""
    waves_D = torch.arange(width // 2, device=positions.device) * (-math.log(LONGEST_WAVE) / max(1, width // 2 - 1))
    angles = positions[..., None] * torch.exp(waves_D)
    encodings = torch.cat([angles.sin(), angles.cos()], -1)
    return torch.nn.functional.pad(encodings, (0, width % 2))
