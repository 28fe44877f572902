"""The likeliest tokens of each row of logits, with their log-probabilities.

The C best tokens are in the C groups of adjacent tokens with the highest maxima. So one fast pass finds the maximum of
each group, and only the best groups are sorted.

Shape letters: R rows, V vocabulary, C tokens asked for, G groups, M positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

GPU_GROUP, CPU_GROUP = 32, 128
"""Tokens in a group."""
GPU_ROWS, CPU_ROWS = 32_768, 64
"""Rows whose logits are computed at once: on a GPU enough to keep it busy and few enough for its memory, on a CPU few
enough to stay in its cache."""


@dataclass(frozen=True)
class BestTokens:
    """The best C tokens of each row, best first."""

    log_probs_RC: Tensor
    """float32."""
    tokens_RC: Tensor
    norm_R: Tensor
    """Log-sum-exp of all logits, float32."""


@dataclass(frozen=True)
class Predicted:
    """Predictions at M positions."""

    tokens_M: Tensor
    """The likeliest tokens."""
    log_probs_M: Tensor
    """Their log-probabilities, float32."""
    given_log_probs_M: Tensor | None = None
    """Log-probabilities of given tokens, float32."""


def rows_at_once(hidden: Tensor) -> int:
    """Return the number of hidden vectors whose logits are computed at once."""
    return GPU_ROWS if hidden.is_cuda else CPU_ROWS


def best_tokens(logits_RV: Tensor, count: int) -> BestTokens:
    """Return the `count` likeliest tokens of each row."""
    if logits_RV.is_cuda and count == 1:
        from maskpredict.kernels.vocabulary_scan import best

        norm_R, value_R, token_R = best(logits_RV)
        values_RC, tokens_RC = value_R[:, None], token_R[:, None]
    elif logits_RV.is_cuda:
        from maskpredict.kernels.vocabulary_scan import scan

        norm_R, highest_RG = scan(logits_RV, GPU_GROUP)
        values_RC, tokens_RC = _best_of_groups(logits_RV, highest_RG, GPU_GROUP, count)
    else:
        logits_RV = logits_RV.float()
        missing = -logits_RV.shape[1] % CPU_GROUP
        full_RV = F.pad(logits_RV, (0, missing), value=float("-inf")) if missing else logits_RV
        highest_RG = full_RV.unflatten(1, (-1, CPU_GROUP)).amax(2)
        values_RC, tokens_RC = _best_of_groups(logits_RV, highest_RG, CPU_GROUP, count)
        # PyTorch has a fast kernel for log-softmax, and none for log-sum-exp.
        norm_R = values_RC[:, 0] - logits_RV.log_softmax(1).gather(1, tokens_RC[:, :1])[:, 0]
    return BestTokens(values_RC - norm_R[:, None], tokens_RC, norm_R)


def predicted(logits: Iterable[Tensor], given_M: Tensor | None) -> Predicted:
    """Return the predictions of logits that arrive in chunks of rows [R, V]."""
    bests, given, done = [], [], 0
    for logits_RV in logits:
        best = best_tokens(logits_RV, 1)
        bests.append(best)
        if given_M is not None:
            given_R1 = given_M[done : done + len(logits_RV), None]
            given.append(logits_RV.gather(1, given_R1)[:, 0].float() - best.norm_R)
        done += len(logits_RV)
    tokens_MC, log_probs_MC = (
        torch.cat([best.tokens_RC for best in bests]),
        torch.cat([best.log_probs_RC for best in bests]),
    )
    return Predicted(tokens_MC[:, 0], log_probs_MC[:, 0], torch.cat(given) if given else None)


def _best_of_groups(logits_RV: Tensor, highest_RG: Tensor, group: int, count: int) -> tuple[Tensor, Tensor]:
    """Return the highest logits, in float32, and their tokens."""
    groups_RC = highest_RG.topk(min(count, highest_RG.shape[1]), dim=1).indices
    places_R = (groups_RC[:, :, None] * group + torch.arange(group, device=logits_RV.device)).flatten(1)
    vocabulary = logits_RV.shape[1]
    tokens_R = places_R.clamp(max=vocabulary - 1)
    values_R = logits_RV.gather(1, tokens_R).float().masked_fill(places_R >= vocabulary, float("-inf"))
    top = values_R.topk(count, dim=1)
    return top.values, tokens_R.gather(1, top.indices)
