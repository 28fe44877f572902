"""The Insertion Transformer (Stern et al., 2019): a target grows by insertions, as many at once as it has slots.

A slot is the place in front of a word or of the end mark, so a target of k words has k + 1 of them. For each slot the
model predicts a word to insert, or the end mark if nothing is missing there. If every slot gets the middle one of the
words that it lacks, n words take about log2(n) passes: the words form a balanced binary tree, from the root down.
`decoding/insertion.py` translates.

Training: keep a random subset of the target, of a random size, and predict what each slot lacks. All missing words of
a slot are right, and weighted by their distance from the middle (`OrderConfig`). As in the paper, the loss is the mean
over the slots of a sentence, then over sentences, so that early passes, with few slots, count as much as late ones.

Two choices of the paper's several: words are predicted for each slot separately, P(word | slot), since with end marks
for slots every slot is to be filled at once; and a slot is described by the decoder's outputs on both sides of it,
which a linear map brings back to the width of the tied embeddings. The decoder sees no mark at the left border.

Shape letters: B sentences, N target tokens of all sentences with their padding, M slots of all sentences and as much
padding as there is in N, D width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from maskpredict.bounds import PositiveFloat
from maskpredict.config import check_bounds
from maskpredict.model.batch import Batch
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout
from maskpredict.model.transformer import initialise
from maskpredict.systems import TrainingOptions, Vocabulary
from maskpredict.systems.base import Loss, System
from maskpredict.systems.masking import random_subset


@dataclass(frozen=True)
class OrderConfig:
    """Weights of the words that a slot may get next."""

    temperature: PositiveFloat | None = 1.0
    """A word d places from the middle of what its slot lacks has a weight of exp(-d / temperature): the lower, the
    closer to a balanced binary tree; with null all words of a slot have the same weight (uniform)."""

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class InsertionOptions(TrainingOptions):
    """Options of training by insertion."""

    order: OrderConfig = field(default_factory=OrderConfig)
    """Order of insertions that an insertion model learns."""


class Insertion(System):
    """P(word | slot, source, unfinished target), with the end mark for slots that lack nothing."""

    name: ClassVar[str] = "insertion"
    loss_parts: ClassVar[tuple[str, ...]] = ("word",)
    options_type: ClassVar[type[TrainingOptions]] = InsertionOptions
    options: InsertionOptions

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__(config, vocabulary, label_smoothing)
        self.slot = nn.Linear(2 * config.width, config.width)
        initialise(self.slot)

    def loss(self, batch: Batch) -> Loss:
        """Return the mean cross-entropy of each sentence's slots, summed over sentences."""
        source, target, layout = batch.source, batch.target.ids.flatten(), batch.target.layout
        kept = random_canvas(layout)
        canvas, places_N = layout.compacted(kept)
        ids = kept_ids(target, kept.flatten(), places_N, fill=self.special.pad).view(kept.shape)
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        hidden = self.transformer.decode(ids, canvas, memory, source.layout.with_empty_rows(), causal=False)
        logits_MV = self.transformer.output(self.output_states(hidden, canvas).flatten(0, -2)).float()

        missing_N = (layout.valid & ~kept).flatten()
        weights_N = middle_weights(layout.positions.flatten(), places_N, missing_N, self.options.order.temperature)
        target_logits_M = _sums(logits_MV[places_N, target] * weights_N, places_N)
        complete_M = _sums(missing_N.float(), places_N) == 0
        target_logits_M = torch.where(complete_M, logits_MV[:, self.special.eos], target_logits_M)
        norm_M = logits_MV.logsumexp(-1)
        plain_M, uniform_M = norm_M - target_logits_M, norm_M - logits_MV.mean(-1)
        smooth_M = (1 - self.label_smoothing) * plain_M + self.label_smoothing * uniform_M
        share_M = canvas.valid.flatten() / canvas.lengths_B[canvas.rows.flatten()].clamp(min=1)
        word = (plain_M.detach() * share_M).sum()
        return Loss((smooth_M * share_M).sum(), layout.valid_rows.sum(), {"word": word})

    def output_states(self, hidden: Tensor, target: Layout) -> Tensor:
        """As in `System`: for each word or end mark, the slot in front of it."""
        left = torch.where((target.positions == 0)[..., None], 0.0, hidden.roll(1, -2))
        return hidden + self.slot(torch.cat([left, hidden], -1))


def random_canvas(layout: Layout) -> Tensor:
    """Draw k ~ Uniform{0..n} for a target of n words, then k of them; True for these and for the end mark."""
    lengths_B = torch.where(layout.valid_rows, layout.lengths_B, 0)
    count_B = 1 + (torch.rand(lengths_B.shape, device=lengths_B.device) * lengths_B).long()
    return random_subset(layout, count_B, certain=layout.positions == layout.lengths_B[layout.rows] - 1)


def kept_ids(ids_N: Tensor, kept_N: Tensor, places_N: Tensor, *, fill: int) -> Tensor:
    """Return the kept ids at their places, and `fill` elsewhere."""
    size = len(ids_N)
    moved = torch.full((size + 1,), fill, dtype=ids_N.dtype, device=ids_N.device)
    return moved.scatter(0, torch.where(kept_N, places_N, size), ids_N)[:size]


def middle_weights(positions_N: Tensor, slots_N: Tensor, missing_N: Tensor, temperature: float | None) -> Tensor:
    """Return the weight of each missing token among those of its slot, the middle one's the highest."""
    count_M = _sums(missing_N.float(), slots_N).clamp(min=1)
    middle_M = _sums(positions_N * missing_N.float(), slots_N) / count_M
    if temperature is None:
        return missing_N / count_M[slots_N]
    weight_N = torch.exp(-(positions_N - middle_M[slots_N]).abs() / temperature) * missing_N
    return weight_N / _sums(weight_N, slots_N).clamp(min=1e-30)[slots_N]


def _sums(values_N: Tensor, slots_N: Tensor) -> Tensor:
    """Return the sum of the values of each slot."""
    return torch.zeros_like(values_N).index_add(0, slots_N, values_N)
