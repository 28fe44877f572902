"""Plain PyTorch references of the operations that `FusedTransformer` is made of; `kernels/fused.py` has the kernels.

Each function here is one launch there. Shape letters: N rows (tokens of the batch), K inputs, M outputs, R drafts or
sentences, P rows of each that are wanted, B sentences, T target positions, S source positions, D width, G blocks of the
vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Activation = Literal["gelu", "relu"]

VOCABULARY_BLOCK = 128
"""Tokens in a vocabulary block of `block_bests`."""


@dataclass(frozen=True)
class BlockBests:
    """The likeliest token of each block of the vocabulary, for each row; all [G, N]."""

    highest_GN: Tensor
    """Its logit, float32."""
    total_GN: Tensor
    """Sum over the block of exp(logit - highest), float32; 0 if all its tokens are suppressed."""
    token_GN: Tensor
    """Its id, the lowest of equals, int32."""


class Ops(Protocol):
    """The operations of `FusedTransformer`: this module, or `kernels.fused`."""

    def linear(
        self,
        x_NK: Tensor,
        weight_MK: Tensor,
        bias_M: Tensor | None,
        *,
        norm: nn.LayerNorm | None = None,
        activation: Activation | None = None,
        residual_NM: Tensor | None = None,
        places_RP: Tensor | None = None,
    ) -> Tensor:
        """See the function of that name below, as for all methods."""
        ...

    def scores(self, x_NK: Tensor, norm: nn.LayerNorm, weight_MK: Tensor, bias_M: Tensor) -> Tensor: ...

    def linear_into(
        self, x_NK: Tensor, layer: nn.Linear, norm: nn.LayerNorm, keys: Tensor, values: Tensor
    ) -> Tensor: ...

    def embed(
        self,
        ids_RT: Tensor,
        tokens: Tensor,
        positions: Tensor,
        scale: float,
        first: int = 0,
        slot_D: Tensor | None = None,
    ) -> Tensor: ...

    def add_words(self, states_RTD: Tensor, ids_RT: Tensor, tokens: Tensor, scale: float, hidden: int) -> Tensor: ...

    def attend(self, q_RTHK: Tensor, keys_BSHK: Tensor, values_BSHK: Tensor, lengths_B: Tensor) -> Tensor: ...

    def attend_seen(self, q: Tensor, k: Tensor, v: Tensor, seen_BTS: Tensor) -> Tensor: ...

    def cross_attend(
        self,
        x_ND: Tensor,
        norm: nn.LayerNorm,
        layer: nn.Linear,
        keys_BSHK: Tensor,
        values_BSHK: Tensor,
        lengths_B: Tensor,
        rows: int,
    ) -> Tensor: ...

    def block_bests(self, x_NK: Tensor, norm: nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor) -> BlockBests: ...


def linear(
    x_NK: Tensor,
    weight_MK: Tensor,
    bias_M: Tensor | None,
    *,
    norm: nn.LayerNorm | None = None,
    activation: Activation | None = None,
    residual_NM: Tensor | None = None,
    places_RP: Tensor | None = None,
) -> Tensor:
    """Return layer norm, linear layer, non-linearity and residual sum, [N, M]; all but the linear layer are optional.

    With `places_RP`, return only these rows, [R * P, M]: P of each draft.
    """
    if places_RP is not None:
        places_N = places_RP.flatten()
        x_NK, residual_NM = x_NK[places_N], None if residual_NM is None else residual_NM[places_N]
    y_NM = F.linear(x_NK if norm is None else norm(x_NK), weight_MK, bias_M)
    if activation is not None:
        y_NM = F.gelu(y_NM) if activation == "gelu" else F.relu(y_NM)
    return y_NM if residual_NM is None else residual_NM + y_NM


def scores(x_NK: Tensor, norm: nn.LayerNorm, weight_MK: Tensor, bias_M: Tensor) -> Tensor:
    """Return layer norm and linear layer, [N, M], in float32, so that close results do not become ties."""
    return F.linear(norm(x_NK).float(), weight_MK.float()) + bias_M


def linear_into(x_NK: Tensor, layer: nn.Linear, norm: nn.LayerNorm, keys: Tensor, values: Tensor) -> Tensor:
    """Apply a layer norm and a QKV projection, return the queries [N, D], and write keys and values to the KV cache.

    `keys` and `values` are slices of the cache, [B, beams, ...] with N = B * beams, each beam's vector contiguous.
    """
    queries_ND, keys_ND, values_ND = layer(norm(x_NK)).chunk(3, -1)
    keys.copy_(keys_ND.view(keys.shape))
    values.copy_(values_ND.view(values.shape))
    return queries_ND


def embed(
    ids_RT: Tensor, tokens: Tensor, positions: Tensor, scale: float, first: int = 0, slot_D: Tensor | None = None
) -> Tensor:
    """Return embeddings [R, T, D] of tokens at positions `first`, `first` + 1 and so on.

    With `slot_D`, the first column is that vector without a position embedding, and positions count from the second.
    """
    slots = int(slot_D is not None)
    place_T = (torch.arange(ids_RT.shape[1], device=ids_RT.device) + first - slots).clamp(min=0)
    x_RTD = F.embedding(ids_RT, tokens) * scale + F.embedding(place_T, positions)
    if slot_D is not None:
        x_RTD[:, 0] = slot_D
    return x_RTD


def add_words(states_RTD: Tensor, ids_RT: Tensor, tokens: Tensor, scale: float, hidden: int) -> Tensor:
    """Return states [R, T, D] plus the embeddings of ids times `scale`; the id `hidden` adds nothing."""
    words_RTD = F.embedding(ids_RT, tokens) * scale
    return states_RTD + torch.where((ids_RT == hidden)[..., None], 0.0, words_RTD)


def attend(q_RTHK: Tensor, keys_BSHK: Tensor, values_BSHK: Tensor, lengths_B: Tensor) -> Tensor:
    """Return attention [R, T, H, K] of every query to the first `lengths_B` keys of its sentence.

    Each sentence has R / B drafts, in adjacent rows.
    """
    drafts = len(q_RTHK) // len(keys_BSHK)
    seen_BS = torch.arange(keys_BSHK.shape[1], device=lengths_B.device) < lengths_B[:, None]
    keys, values, seen = (x.repeat_interleave(drafts, 0) for x in (keys_BSHK, values_BSHK, seen_BS))
    return attend_seen(q_RTHK, keys, values, seen[:, None])


def cross_attend(
    x_ND: Tensor,
    norm: nn.LayerNorm,
    layer: nn.Linear,
    keys_BSHK: Tensor,
    values_BSHK: Tensor,
    lengths_B: Tensor,
    rows: int,
) -> Tensor:
    """Apply a layer norm and a query projection to `rows` drafts, and return their attention [N, D] as in `attend`."""
    q_ND = linear(x_ND, layer.weight, layer.bias, norm=norm)
    seen = attend(q_ND.view(rows, -1, *keys_BSHK.shape[2:]), keys_BSHK, values_BSHK, lengths_B)
    return seen.flatten(0, 1).flatten(1)


def block_bests(x_NK: Tensor, norm: nn.LayerNorm, weight_VK: Tensor, penalty_V: Tensor) -> BlockBests:
    """Return the best token of each vocabulary block, after a layer norm and the output projection.

    `penalty_V`, float32, is added to the logits; -inf suppresses a token.
    """
    logits_NV = F.linear(norm(x_NK).float(), weight_VK.float()) + penalty_V
    missing = -logits_NV.shape[1] % VOCABULARY_BLOCK
    blocks_NG = F.pad(logits_NV, (0, missing), value=float("-inf")).unflatten(1, (-1, VOCABULARY_BLOCK))
    highest_NG, place_NG = blocks_NG.max(2)
    total_NG = (blocks_NG - highest_NG.nan_to_num(neginf=0.0)[:, :, None]).exp().sum(2)
    first_G = torch.arange(blocks_NG.shape[1], device=logits_NV.device) * VOCABULARY_BLOCK
    token_NG = (place_NG + first_G).int()
    return BlockBests(highest_NG.T.contiguous(), total_NG.T.contiguous(), token_NG.T.contiguous())


def attend_seen(q: Tensor, k: Tensor, v: Tensor, seen_BTS: Tensor) -> Tensor:
    """Return attention of each query to the keys of its row where `seen_BTS`; q, k, v are [B, T or S, H, K]."""
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=seen_BTS[:, None]
    )
    return out.transpose(1, 2)
