"""Attention in packed batches on a GPU: our own kernel for short sentences, PyTorch's for longer ones.

Imported where there is a GPU only, since it takes a second and needs Triton.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

from maskpredict.kernels import short_attention

# The argument that asks for causal attention changed between PyTorch releases.
_WINDOWS = "window_size" in inspect.signature(varlen_attn).parameters
_CAUSAL: dict[str, Any] = {"window_size": (-1, 0)} if _WINDOWS else {"is_causal": True}


def attend_on_gpu(
    q: Tensor, k: Tensor, v: Tensor, q_starts: Tensor, k_starts: Tensor, q_longest: int, k_longest: int, causal: bool
) -> Tensor:
    """Attention of q [N, H, K] to k, v [M, H, K] within each row; half precision only."""
    if max(q_longest, k_longest) <= short_attention.LONGEST:
        return short_attention.short_attention(q, k, v, q_starts, k_starts, causal)
    options = _CAUSAL if causal else {}
    out = varlen_attn(q, k, v, q_starts, k_starts, q_longest, k_longest, **options)
    assert isinstance(out, Tensor)  # a tuple only when more is asked for
    return out
