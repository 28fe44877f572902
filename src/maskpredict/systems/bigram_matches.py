"""Expected bigram matches: a loss of the first pass over alignments that allows other word orders than the target's.

After Shao & Feng (2022), who train on it for a short while at the end: CTC punishes a good translation in another
order, which makes a model hedge. Positions are independent, so the expected number of times that two words follow each
other in the collapsed text is a sum over pairs of positions with blanks between them. The loss is one minus the F1 of
the text's bigrams and the target's.

Shape letters: B sentences, T positions, N positions of all sentences, L words of the target, C = L + 1 scores, V
vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.model.layout import Layout
from maskpredict.systems.ctc_lattice import LatticeInputs


def unmatched_bigrams(inputs: LatticeInputs, logits_NV: Tensor, layout: Layout, blank: int) -> Tensor:
    """Return 1 - F1 of expected bigrams for each sentence [B]: 0 if the text is the target for certain.

    `inputs` are the scores of positions that are all hidden. A target of a single word has no bigrams; its loss is 0.
    """
    with torch.autocast(logits_NV.device.type, enabled=False):  # products of probabilities need float32
        return _unmatched(inputs, logits_NV, layout, blank)


def _unmatched(inputs: LatticeInputs, logits_NV: Tensor, layout: Layout, blank: int) -> Tensor:
    valid_BT = torch.arange(inputs.places_BT.shape[1], device=logits_NV.device) < inputs.lengths_B[:, None]
    scores_BTC = inputs.scores_NC[inputs.places_BT]
    blank_BT = torch.where(valid_BT, scores_BTC[:, :, 0], 0.0)
    words_BTL = torch.where(valid_BT[:, :, None], scores_BTC[:, :, 1:].exp(), 0.0)
    expected_BL = _expected_counts(words_BTL, blank_BT, inputs.words_BL)
    place_L = torch.arange(expected_BL.shape[1], device=logits_NV.device)
    counted_BL = place_L < (inputs.word_counts_B - 1)[:, None]
    times_BL, is_first_BL = _occurrences(inputs.words_BL, counted_BL)
    matched_B = torch.where(is_first_BL, torch.minimum(expected_BL, times_BL), 0.0).sum(1)
    text_bigrams_B = _expected_bigrams(logits_NV, blank_BT, valid_BT, layout, blank)
    both_B = text_bigrams_B + counted_BL.sum(1)
    return torch.where(inputs.word_counts_B > 1, 1 - 2 * matched_B / both_B.clamp(min=1e-6), 0.0)


def _expected_counts(words_BTL: Tensor, blank_BT: Tensor, target_BL: Tensor) -> Tensor:
    """Return how often each word and the one after it in the target, [B, L - 1], follow each other in the text."""
    positions = blank_BT.shape[1]
    before_BT = F.pad(blank_BT.cumsum(1)[:, :-1], (1, 0))  # log-probability of blanks alone before a position
    after_T = torch.ones(positions, positions, dtype=torch.bool, device=blank_BT.device).triu(1)
    # From each position, of blanks up to a later one; elsewhere impossible.
    gaps_BTT = before_BT[:, None, :] - (before_BT + blank_BT)[:, :, None]
    gaps_BTT = gaps_BTT.masked_fill(~after_T, float("-inf")).exp()
    next_BTL = gaps_BTT @ words_BTL
    pairs_BL = (words_BTL[:, :, :-1] * next_BTL[:, :, 1:]).sum(1)
    # Equal words need a blank between them.
    adjacent_BL = (words_BTL[:, :-1, :-1] * words_BTL[:, 1:, 1:]).sum(1)
    return pairs_BL - torch.where(target_BL[:, 1:] == target_BL[:, :-1], adjacent_BL, 0.0)


def _occurrences(target_BL: Tensor, counted_BL: Tensor) -> tuple[Tensor, Tensor]:
    """Return how often each bigram occurs in the target, and True at its first occurrence."""
    one_BL, two_BL = target_BL[:, :-1], target_BL[:, 1:]
    same_BLL = (one_BL[:, :, None] == one_BL[:, None, :]) & (two_BL[:, :, None] == two_BL[:, None, :])
    same_BLL = same_BLL & counted_BL[:, None, :]
    is_first_BL = counted_BL & ~same_BLL.tril(-1).any(2)
    return same_BLL.sum(2).float(), is_first_BL


def _expected_bigrams(logits_NV: Tensor, blank_BT: Tensor, valid_BT: Tensor, layout: Layout, blank: int) -> Tensor:
    """Return the expected number of bigrams of the text [B]: of words that begin, but for the first."""
    probs_NV = logits_NV.softmax(-1)
    blank_N = probs_NV[:, blank]
    # A word begins where the position has one and the position before does not have the same.
    goes_on_N = F.pad((probs_NV[1:] * probs_NV[:-1]).sum(-1) - blank_N[1:] * blank_N[:-1], (1, 0))
    begins_N = 1 - blank_N - torch.where(layout.positions.flatten() > 0, goes_on_N, 0.0)
    begins_N = torch.where(layout.valid.flatten(), begins_N, 0.0)
    words_B = torch.zeros_like(blank_BT[:, 0]).index_add(0, layout.rows.flatten(), begins_N)
    no_words_B = torch.where(valid_BT, blank_BT, 0.0).sum(1).exp()
    return words_B - 1 + no_words_B
