"""An alignment model's translation as one captured CUDA graph: encoder, and every pass over the positions.

A source says how many positions it has, so there are no lengths to try, and no result is too wide for its capture. CTC
models are alignment models of one pass that sees nothing.

Shape letters: B sentences, S source positions, W positions of their drafts, V vocabulary, N rows of the flat batch
whose tokens are predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.mask_predict import Decoded, Rules, one_pass, positions_to_mask, undecoded
from maskpredict.decoding.settings import AlignmentSettings
from maskpredict.decoding.strategies import words_and_blanks
from maskpredict.engines.cuda.capture import Computation, finished_alignments
from maskpredict.engines.cuda.capture_shape import CaptureShape, best_alignment_count
from maskpredict.engines.cuda.captures import Candidates, Captures
from maskpredict.engines.cuda.draft_step_reference import DraftOps, masked_first, max_masked
from maskpredict.engines.cuda.fused_computation import suits
from maskpredict.engines.cuda.fused_transformer import FusedTransformer, suppression_penalty
from maskpredict.kernels.fixed_drafts import Blank, FixedDrafts
from maskpredict.model.batch import Tokens
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.layout import Padded
from maskpredict.systems.ctc import CTC


class AlignmentCaptures(Captures):
    """Passes over alignments, of CTC models the first alone."""

    system: CTC

    def shape_of(self, requests: Sequence[Request], settings: AlignmentSettings) -> CaptureShape | None:
        """As in `Captures`."""
        return CaptureShape.of_alignments(requests, settings, self.system.config.ctc_positions)

    def batch_limit(self, width: int, settings: Any) -> int | None:
        """As in `Captures`."""
        if not isinstance(settings, AlignmentSettings):
            return None
        return best_alignment_count(width, settings, self.system.config.ctc_positions)

    def plain_computation(self, shape: CaptureShape) -> Computation:
        """As in `Captures`."""
        return PlainAlignment(self.system, shape)

    def fused_computation(self, transformer: FusedTransformer, ops: DraftOps, shape: CaptureShape) -> Computation:
        """As in `Captures`."""
        return FusedAlignment(self.system, transformer, ops, shape)

    def finished(self, results: Tensor, shape: CaptureShape, sentences: int, settings: Any) -> Candidates:
        """As in `Captures`."""
        return finished_alignments(results, shape, sentences)


class PlainAlignment:
    """Encoder and every pass in PyTorch operations."""

    def __init__(self, system: CTC, shape: CaptureShape) -> None:
        self.system, self.shape, self.blank = system, shape, blank_of(system)
        self.suppressed = torch.tensor(shape.suppressed, dtype=torch.long, device=system.device)
        self.owner_B = torch.arange(shape.sentences, device=system.device)
        self.drafts = FixedDrafts.empty(shape.rows, shape.target_width, system.device)

    def __call__(self, ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """Translate ids [B, S] of these lengths [B], and return the results of `FixedDrafts`."""
        shape, special, transformer = self.shape, self.system.special, self.system.transformer
        encoding = self.system.encode(Tokens(ids_BS, Padded.of(lengths_B, shape.source_width)))
        assert isinstance(encoding.layout, Padded)
        source, target = encoding.layout, Padded.of(self.system.config.ctc_positions * lengths_B, shape.target_width)
        draft_BW = torch.full(target.valid.shape, special.pad, device=lengths_B.device)
        draft_BW = draft_BW.masked_fill(target.valid, special.mask)
        passes_B = torch.full_like(lengths_B, shape.iterations)
        rules = Rules(
            target.valid,
            passes_B,
            special.mask,
            words_and_blanks,
            threshold=shape.threshold,
            blank=self.blank.shown,
        )
        decoded = undecoded(draft_BW, target.valid)
        for t in range(shape.iterations):
            most = max_masked(shape.target_width, shape.iterations, t, self.blank)

            def predict(seen_BW: Tensor, masked_BW: Tensor, most: int = most) -> tuple[Tensor, Tensor]:
                inputs = self.system.decoder_inputs(encoding, seen_BW, target, self.owner_B)
                hidden = transformer.decode_states(inputs, target, encoding.memory, source, causal=False)
                return self._likeliest(hidden, masked_BW, most)

            decoded = one_pass(predict, decoded, positions_to_mask(t, decoded, rules), rules)
        self._store(decoded, target, passes_B)
        return self.drafts.results

    def _likeliest(self, hidden_BWD: Tensor, masked_BW: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Return tokens and log-probabilities [B, W] at the masked positions, at most `most` in a draft."""
        places_N = masked_first(masked_BW)[:, :most].flatten()
        logits_NV = self.system.transformer.logits(hidden_BWD.flatten(0, 1)[places_N])
        best = best_tokens(logits_NV.index_fill_(1, self.suppressed, float("-inf")), 1)
        tokens_N, log_probs_N = best.tokens_RC[:, 0], best.log_probs_RC[:, 0]
        tokens_N = torch.where(tokens_N == self.blank.predicted, self.blank.shown, tokens_N)

        def at_places(values_N: Tensor) -> Tensor:
            return values_N.new_zeros(masked_BW.numel()).index_copy(0, places_N, values_N).view_as(masked_BW)

        return at_places(tokens_N), at_places(log_probs_N)

    def _store(self, decoded: Decoded, target: Padded, passes_B: Tensor) -> None:
        self.drafts.tokens_RW.copy_(decoded.tokens_BT)
        self.drafts.log_probs_RW.copy_(decoded.log_probs_BT)
        self.drafts.lengths_R.copy_(target.lengths_B)
        self.drafts.passes_R.copy_(passes_B)
        self.drafts.used_R.copy_(decoded.passes_B)


class FusedAlignment:
    """Encoder and every pass with fused kernels, for few and short drafts."""

    def __init__(self, system: CTC, transformer: FusedTransformer, ops: DraftOps, shape: CaptureShape) -> None:
        assert suits(shape)
        self.system, self.transformer, self.ops, self.shape = system, transformer, ops, shape
        self.blank, weight = blank_of(system), transformer.output.weight
        self.drafts = FixedDrafts.empty(shape.rows, shape.target_width, weight.device)
        self.penalty_V = suppression_penalty(shape.suppressed, len(weight), weight.device)

    def __call__(self, ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """Translate ids [B, S] of these lengths [B], and return the results of `FixedDrafts`."""
        transformer, shape, special, drafts = self.transformer, self.shape, self.system.special, self.drafts
        stream_BSD = transformer.source_stream(ids_BS, lengths_B)
        states_BWD = transformer.split_states(stream_BSD, self.system.split)
        memory = transformer.memory_of_stream(stream_BSD)
        positions = self.system.config.ctc_positions
        self.ops.begin_alignments(drafts, lengths_B, positions, shape.iterations, special.pad, special.mask)
        for number in range(1, shape.iterations + 1):
            inputs_BWD, wanted_BP = states_BWD, None
            if number > 1:  # the first pass sees nothing, and predicts everything
                inputs_BWD = transformer.add_words(states_BWD, drafts.inputs_RW, special.mask)
                wanted_BP = drafts.places_RW[:, : self._predicted(number)]
            stream_BPD = transformer.target_stream_of(inputs_BWD, drafts.lengths_R, memory, lengths_B, wanted_BP)
            bests = transformer.best_of_stream(stream_BPD, self.penalty_V)
            if number == shape.iterations:
                self.ops.take_predictions(drafts, bests, self.blank)
            else:
                self.ops.take_and_mask_again(drafts, bests, number, special.mask, shape.threshold, self.blank)
        return drafts.results

    def _predicted(self, number: int) -> int:
        return max_masked(self.shape.target_width, self.shape.iterations, number - 1, self.blank)


def blank_of(system: CTC) -> Blank:
    """Return the ids of a model's blank."""
    return Blank(predicted=system.special.mask, shown=system.special.bos)
