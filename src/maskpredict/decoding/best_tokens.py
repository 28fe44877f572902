"""The likeliest tokens of each row of logits, with their log-probabilities: what every decoder asks for.

Shape letters: R rows, V vocabulary, C tokens asked for, G groups of neighbouring tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

GROUP = 32
"""Tokens in a group, see `_best_of_groups`."""


@dataclass(frozen=True)
class BestTokens:
    """The best C tokens of each row, best first."""

    log_probs_RC: Tensor
    """float32."""
    tokens_RC: Tensor
    norm_R: Tensor
    """Log of the sum of exponentials of all logits, float32."""


def best_tokens(logits_RV: Tensor, count: int) -> BestTokens:
    """The `count` likeliest tokens of each row."""
    if logits_RV.is_cuda:
        return _best_of_groups(logits_RV, count)
    logits_RV = logits_RV.float()
    norm_R = logits_RV.logsumexp(1)
    top = logits_RV.topk(count, dim=1)
    return BestTokens(top.values - norm_R[:, None], top.indices, norm_R)


def _best_of_groups(logits_RV: Tensor, count: int) -> BestTokens:
    """One pass over the logits for the sum and for the highest of each group; then only the best groups are sorted.

    The C best tokens lie in the C groups whose highest tokens are the highest.
    """
    from maskpredict.decoding.gpu_scan import scan

    norm_R, highest_RG = scan(logits_RV, GROUP)
    groups_RC = highest_RG.topk(min(count, highest_RG.shape[1]), dim=1).indices
    tokens_R = (groups_RC[:, :, None] * GROUP + torch.arange(GROUP, device=logits_RV.device)).flatten(1)
    vocabulary = logits_RV.shape[1]
    values_R = logits_RV.gather(1, tokens_R.clamp(max=vocabulary - 1)).float()
    top = values_R.masked_fill(tokens_R >= vocabulary, float("-inf")).topk(count, dim=1)
    return BestTokens(top.values - norm_R[:, None], tokens_R.gather(1, top.indices), norm_R)
