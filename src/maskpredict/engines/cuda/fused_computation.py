"""A captured CMLM translation with fused kernels, for few and short drafts.

It computes what `plain_computation.py` computes, within rounding, in far fewer launches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from maskpredict.decoding.candidates import SHORTEST
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.engines.cuda.draft_step_reference import DraftOps, max_masked, prune
from maskpredict.engines.cuda.fused_transformer import MAX_FUSED_ROWS, FusedTransformer, suppression_penalty
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.model.transformer import Memory

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

MAX_WIDTH = 128
"""Positions of the widest draft; wider ones are left to `PlainComputation`."""


def suits(shape: CaptureShape) -> bool:
    """Return True if the drafts are few and short enough."""
    return shape.target_width <= MAX_WIDTH and shape.rows * shape.target_width <= MAX_FUSED_ROWS


class FusedComputation:
    """Encoder, length candidates and every pass."""

    def __init__(self, system: CMLM, transformer: FusedTransformer, draft_ops: DraftOps, shape: CaptureShape) -> None:
        assert suits(shape)
        self.system, self.transformer, self.draft_ops, self.shape = system, transformer, draft_ops, shape
        table = system.length.table.weight
        self.drafts = FixedDrafts.empty(shape.rows, shape.target_width, table.device)
        self.penalty_V = suppression_penalty(shape.suppressed, len(transformer.output.weight), table.device)
        self.length_bias_C = torch.zeros(len(table), dtype=table.dtype, device=table.device)
        self.length_bias_C[0] = float("-inf")  # see `LengthHead`

    def __call__(self, ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """Translate ids [B, S] of these lengths [B], and return the results of `FixedDrafts`."""
        system, transformer, shape, special = self.system, self.transformer, self.shape, self.system.special
        stream_BSD = transformer.source_stream(ids_BS, lengths_B, slot=system.length.slot)
        scores_BC = transformer.first_scores(stream_BSD, system.length.table.weight, self.length_bias_C)
        longest = system.config.max_positions - 1
        self.draft_ops.begin(self.drafts, scores_BC, shape.iterations, SHORTEST, longest, special.pad, special.mask)
        # Without LENGTH, the first position of each source.
        memory = [Memory(m.keys[:, 1:], m.values[:, 1:]) for m in transformer.memory_of_stream(stream_BSD)]
        source_lengths_B = lengths_B - 1
        for t in range(1, shape.iterations + 1):
            self._run_pass(t, memory, source_lengths_B)
        return self.drafts.results

    def _run_pass(self, number: int, memory: list[Memory], source_lengths_B: Tensor) -> None:
        """Predict the masked positions, and mask those of the next pass."""
        drafts, ops, shape, mask = self.drafts, self.draft_ops, self.shape, self.system.special.mask
        predicted = max_masked(shape.target_width, shape.iterations, number - 1)
        stream_RPD = self.transformer.target_stream(
            drafts.inputs_RW,
            drafts.lengths_R,
            memory,
            source_lengths_B,
            None if number == 1 else drafts.places_RW[:, :predicted],
        )
        bests = self.transformer.best_of_stream(stream_RPD, self.penalty_V)
        last = number == shape.iterations
        if number > 1 or shape.kept is None:
            if last:
                ops.take_predictions(drafts, bests)
            else:
                ops.take_and_mask_again(drafts, bests, number, mask, shape.threshold)
            return
        ops.take_predictions(drafts, bests)
        prune(drafts, shape.sentences, shape.kept)
        if not last:
            ops.mask_again(drafts, number, mask, shape.threshold)
