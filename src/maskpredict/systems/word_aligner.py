"""Which source word each target word translates: a word aligner that is trained beside a model, on the same pairs.

IBM's first model with a preference for the diagonal (Dyer et al., 2013): every target word is chosen by one source
word, rather one at the same relative place, from what that source word usually becomes, whatever stands around it. Here
the latter is a product of two small matrices, learned by gradient with everything else, in place of a table of counts.

Shape letters: B sentences, S source positions, L target positions, N source positions of all sentences, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maskpredict.model.batch import Batch
from maskpredict.model.transformer import initialise

RANK = 128
"""Width of the vectors that stand for source words."""
DIAGONAL = 4.0
"""How strongly a place far from the diagonal counts against a pair of words."""


class WordAligner(nn.Module):
    """Aligns pairs, and learns from them."""

    def __init__(self, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(source_vocabulary, RANK)
        nn.init.normal_(self.words.weight)  # far from each other, so that words can be told apart from the beginning
        self.become = nn.Linear(RANK, target_vocabulary)
        initialise(self.become)

    def forward(self, batch: Batch) -> Tensor:
        """Log-probabilities [B, S, L], in float32, of the source word at S being chosen and becoming the word at L;
        -inf where there is no word."""
        source, target = batch.source.layout, batch.target.layout
        words_BL = target.spread(batch.target.ids)
        logits_NV = self.become(self.words(batch.source.ids)).float().flatten(0, -2)
        wanted_NL = words_BL[source.rows.flatten()]
        becomes_NL = logits_NV.gather(1, wanted_NL) - logits_NV.logsumexp(-1, keepdim=True)
        becomes_BSL = source.spread(becomes_NL.view(*source.rows.shape, -1))
        # A row of filling may be empty, and must not become a number that is none.
        lengths = source.lengths_B.clamp(min=1), target.lengths_B.clamp(min=1)
        near_BSL = _near_the_diagonal(*lengths, *becomes_BSL.shape[1:])
        return becomes_BSL + near_BSL


def _near_the_diagonal(source_lengths_B: Tensor, target_lengths_B: Tensor, sources: int, targets: int) -> Tensor:
    """Log-probabilities [B, S, L] of each source place for each target place."""
    source_S, target_L = (torch.arange(n, device=source_lengths_B.device) for n in (sources, targets))
    place_BS1 = ((source_S + 0.5) / source_lengths_B[:, None])[:, :, None]
    place_B1L = ((target_L + 0.5) / target_lengths_B[:, None])[:, None, :]
    there_BS = source_S < source_lengths_B[:, None]
    away_BSL = (DIAGONAL * (place_BS1 - place_B1L).abs()).masked_fill(~there_BS[:, :, None], float("inf"))
    return (-away_BSL).log_softmax(1)


def surprise(aligned_BSL: Tensor, batch: Batch) -> Tensor:
    """-log of the targets' probability, summed over all their words: what the aligner is trained to lower."""
    target = batch.target.layout
    words_BL = aligned_BSL.logsumexp(1)
    there_BL = torch.arange(words_BL.shape[1], device=words_BL.device) < target.lengths_B[:, None]
    return -torch.where(there_BL & target.valid_rows[:, None], words_BL, 0.0).sum()


def fertilities(aligned_BSL: Tensor, batch: Batch) -> Tensor:
    """To how many target words each source word is the likeliest partner, [B, S]: in all, as many as there are."""
    target = batch.target.layout
    sources_S = torch.arange(aligned_BSL.shape[1], device=aligned_BSL.device)
    there_BL = torch.arange(aligned_BSL.shape[2], device=aligned_BSL.device) < target.lengths_B[:, None]
    chosen_BSL = aligned_BSL.argmax(1, keepdim=True) == sources_S[:, None]
    return (chosen_BSL & there_BL[:, None]).sum(2)
