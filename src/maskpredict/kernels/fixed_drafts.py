"""Drafts of a fixed width in buffers that kernels change in place, as a captured graph needs them.

Shape letters: R drafts (those of a sentence side by side), W positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FixedDrafts:
    """Drafts and how far they are."""

    results: Tensor
    """All that is of interest at the end, so that it can be fetched at once; int32. The next six lie in it."""
    tokens_RW: Tensor
    log_probs_RW: Tensor
    """Of each token when it was last predicted, float32."""
    length_scores_R: Tensor
    """How likely its length is: a log-probability, but for a term that all drafts of a sentence share; float32."""
    lengths_R: Tensor
    used_R: Tensor
    """How many passes the draft took part in."""
    pruned_R: Tensor
    """1 where it was given up after its first pass."""
    inputs_RW: Tensor
    """What the next pass sees, int32."""
    masked_RW: Tensor
    """1, 2, 3 and so on, from left to right, at the positions that it predicts, and 0 at the others; int32."""
    places_RW: Tensor
    """All positions of the draft, those that it predicts first, else from left to right: rows of the batch; int32."""
    passes_R: Tensor
    """How many passes the draft may take part in, int32."""

    @classmethod
    def empty(cls, rows: int, width: int, device: torch.device) -> FixedDrafts:
        """Room for so many drafts."""
        results = torch.zeros(rows * (2 * width + 4), dtype=torch.int32, device=device)
        inputs_RW, masked_RW, places_RW = torch.zeros((3, rows, width), dtype=torch.int32, device=device)
        passes_R = torch.zeros(rows, dtype=torch.int32, device=device)
        tokens_RW, log_probs_RW, length_scores_R, lengths_R, used_R, pruned_R = parts_of_results(results, rows, width)
        return cls(
            results,
            tokens_RW,
            log_probs_RW,
            length_scores_R,
            lengths_R,
            used_R,
            pruned_R,
            inputs_RW,
            masked_RW,
            places_RW,
            passes_R,
        )


def parts_of_results(results: Tensor, rows: int, width: int) -> list[Tensor]:
    """Tokens and log-probabilities [R, W]; length scores, lengths, used passes and whether it was pruned [R]."""
    tokens, log_probs, length_scores, *of_rows = results.split([rows * width, rows * width, rows, rows, rows, rows])
    log_probs_RW = log_probs.view(torch.float32).view(rows, width)
    return [tokens.view(rows, width), log_probs_RW, length_scores.view(torch.float32), *of_rows]
