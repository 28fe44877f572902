"""Attention in packed batches on a GPU: our kernel for short sentences, PyTorch's for longer ones.

Needs Triton and takes a second to import, so import it only with a GPU.
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
    """Return attention of q [N, H, K] to k, v [M, H, K] within each row; half precision only."""
    if max(q_longest, k_longest) <= short_attention.MAX_LENGTH:
        return short_attention.short_attention(q, k, v, q_starts, k_starts, causal)
    options = _CAUSAL if causal else {}
    out = varlen_attn(q, k, v, q_starts, k_starts, q_longest, k_longest, **options)
    assert isinstance(out, Tensor)  # it returns a tuple only with `return_aux`
    return out
