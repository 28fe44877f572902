"""Drafts of a fixed width in buffers that kernels update in place, as a CUDA graph needs them.

Shape letters: R drafts (those of a sentence in adjacent rows), W positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Blank:
    """Ids of the blank, for drafts that are alignments; words and blanks are then masked in equal shares."""

    predicted: int
    """As the model predicts it: MASK."""
    shown: int
    """As a draft has it: BOS."""


@dataclass(frozen=True)
class FixedDrafts:
    """Drafts and their decoding state."""

    results: Tensor
    """One int32 buffer that holds the next six, so that one copy fetches them all."""
    tokens_RW: Tensor
    log_probs_RW: Tensor
    """Log-probability of each token when it was last predicted, float32."""
    length_scores_R: Tensor
    """Log-probability of the length up to a constant that the drafts of a sentence share, float32."""
    lengths_R: Tensor
    used_R: Tensor
    """Passes that predicted a position of the draft."""
    pruned_R: Tensor
    """1 for drafts that were pruned after the first pass."""
    inputs_RW: Tensor
    """Decoder input of the next pass, int32."""
    masked_RW: Tensor
    """1, 2, 3, ... from left to right at the masked positions, 0 elsewhere; int32."""
    places_RW: Tensor
    """Positions as rows of the flat batch, masked ones first, each part from left to right; int32."""
    passes_R: Tensor
    """Passes that the draft may take, int32."""

    @classmethod
    def empty(cls, rows: int, width: int, device: torch.device) -> FixedDrafts:
        """Allocate buffers for `rows` drafts."""
        results = torch.zeros(rows * (2 * width + 4), dtype=torch.int32, device=device)
        inputs_RW, masked_RW, places_RW = torch.zeros((3, rows, width), dtype=torch.int32, device=device)
        passes_R = torch.zeros(rows, dtype=torch.int32, device=device)
        tokens_RW, log_probs_RW, length_scores_R, lengths_R, used_R, pruned_R = split_results(results, rows, width)
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


def split_results(results: Tensor, rows: int, width: int) -> list[Tensor]:
    """Return views of the results: tokens and log-probabilities [R, W]; length scores, lengths, passes, pruned [R]."""
    tokens, log_probs, length_scores, *integers = results.split([rows * width, rows * width, rows, rows, rows, rows])
    log_probs_RW = log_probs.view(torch.float32).view(rows, width)
    return [tokens.view(rows, width), log_probs_RW, length_scores.view(torch.float32), *integers]
