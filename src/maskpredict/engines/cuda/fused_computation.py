"""What a capture of a CMLM computes, with fused kernels: as few launches as possible from ids to finished drafts.

The same as `captured_plain` within rounding, for few and short drafts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from maskpredict.decoding.candidates import SHORTEST
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.engines.cuda.draft_step_reference import DraftOps, most_masked, prune
from maskpredict.engines.cuda.fused_transformer import MOST_ROWS, FusedTransformer, no_penalty_but
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.model.transformer import Memory

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM

WIDEST = 128
"""Positions of a draft beyond which it is left to `captured_plain`."""


def suits(shape: CaptureShape) -> bool:
    """Whether these are few and short enough drafts."""
    return shape.target_width <= WIDEST and shape.rows * shape.target_width <= MOST_ROWS


class FusedComputation:
    """Encoder, length candidates and every pass."""

    def __init__(self, system: CMLM, transformer: FusedTransformer, draft_ops: DraftOps, shape: CaptureShape) -> None:
        assert suits(shape)
        self.system, self.transformer, self.draft_ops, self.shape = system, transformer, draft_ops, shape
        table = system.length.table.weight
        self.drafts = FixedDrafts.empty(shape.rows, shape.target_width, table.device)
        self.penalty_V = no_penalty_but(shape.suppressed, len(transformer.output.weight), table.device)
        self.length_bias_C = torch.zeros(len(table), dtype=table.dtype, device=table.device)
        self.length_bias_C[0] = float("-inf")  # see `LengthHead`

    def __call__(self, ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """The results of `FixedDrafts`."""
        system, transformer, shape, special = self.system, self.transformer, self.shape, self.system.special
        stream_BSD = transformer.source_stream(ids_BS, lengths_B, slot=system.length.slot)
        scores_BC = transformer.first_scores(stream_BSD, system.length.table.weight, self.length_bias_C)
        longest = system.config.max_positions - 1
        self.draft_ops.begin(self.drafts, scores_BC, shape.iterations, SHORTEST, longest, special.pad, special.mask)
        # Without LENGTH, which stands in front of each sentence.
        memory = [Memory(m.keys[:, 1:], m.values[:, 1:]) for m in transformer.memory_of_stream(stream_BSD)]
        source_lengths_B = lengths_B - 1
        for t in range(1, shape.iterations + 1):
            self._make_pass(t, memory, source_lengths_B)
        return self.drafts.results

    def _make_pass(self, number: int, memory: list[Memory], source_lengths_B: Tensor) -> None:
        """Predict what is masked, and mask what the next pass shall predict."""
        drafts, ops, shape, mask = self.drafts, self.draft_ops, self.shape, self.system.special.mask
        predicted = most_masked(shape.target_width, shape.iterations, number - 1)
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
