"""Random CTC lattices, and all alignments of a small one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import torch
from torch import Tensor

from maskpredict.systems.ctc_lattice import LatticeInputs


@dataclass(frozen=True)
class Sentence:
    """One sentence of a batch, without padding."""

    scores_TC: Tensor
    target: list[int]

    def alignments(self) -> list[tuple[int, ...]]:
        """Every alignment, by the columns of its positions."""
        columns = range(len(self.target) + 1)
        return [path for path in product(columns, repeat=len(self.scores_TC)) if self._is_alignment(path)]

    def score(self, alignment: tuple[int, ...] | list[int]) -> Tensor:
        """The log-probability of an alignment."""
        return torch.stack([self.scores_TC[t, column] for t, column in enumerate(alignment)]).sum()

    def _is_alignment(self, path: tuple[int, ...]) -> bool:
        said = [column for place, column in enumerate(path) if column and path[:place][-1:] != (column,)]
        neighbours = [(one, other) for one, other in pairwise(path) if one and other and one != other]
        apart = all(self.target[one - 1] != self.target[other - 1] for one, other in neighbours)
        return apart and said == list(range(1, len(self.target) + 1))


@dataclass(frozen=True)
class RandomLattice:
    """A batch whose positions lie in any order in `scores_NC`."""

    inputs: LatticeInputs
    rows_N: Tensor
    positions_N: Tensor

    @classmethod
    def of(cls, sentences: int, positions: int, words: int, *, revealed: float = 0.0, seed: int = 1) -> RandomLattice:
        """Return targets of 0 to `words` words out of three, at 1 to `positions` positions, some of them revealed."""
        chance = torch.Generator().manual_seed(seed)
        count = sentences * positions
        scores_NC = (2 * torch.randn(count, words + 1, generator=chance)).log_softmax(1)
        place_N = torch.randperm(count, generator=chance)
        lengths_B = torch.randint(1, positions + 1, (sentences,), generator=chance)
        words_BL = torch.randint(5, 8, (sentences, words), generator=chance)
        counts_B = torch.randint(0, words + 1, (sentences,), generator=chance)
        order_N = place_N.argsort()
        rows_N, positions_N = order_N // positions, order_N % positions
        # A revealed position says the blank or one of the words, wherever that word stands in the target.
        said_NC = torch.cat([torch.full((sentences, 1), 4), words_BL], 1)[rows_N]
        told_N1 = said_NC.gather(1, torch.randint(0, words + 1, (count, 1), generator=chance))
        told_NC = torch.zeros(said_NC.shape).masked_fill(said_NC != told_N1, -torch.inf)
        is_told_N1 = torch.rand(count, 1, generator=chance) < revealed
        scores_NC = torch.where(is_told_N1, told_NC, scores_NC)
        places_BT = place_N.view(sentences, positions)
        return cls(LatticeInputs(scores_NC, places_BT, lengths_B, words_BL, counts_B), rows_N, positions_N)

    def sentences(self) -> list[Sentence]:
        """The sentences one by one; they share `scores_NC`."""
        inputs = self.inputs
        return [
            Sentence(inputs.scores_NC[places_T[:length]], words_L[:count].tolist())
            for places_T, length, words_L, count in zip(
                inputs.places_BT, inputs.lengths_B.tolist(), inputs.words_BL, inputs.word_counts_B.tolist(), strict=True
            )
        ]
