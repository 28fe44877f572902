"""A captured CMLM translation in PyTorch operations, for any model.

Shape letters: B sentences, L candidates, W positions, R = B * L drafts, V vocabulary,
N rows of the flat batch whose tokens are predicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from maskpredict.decoding.candidates import SHORTEST
from maskpredict.decoding.mask_predict import Decoded, Rules, one_pass, positions_to_mask, undecoded
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.engines.cuda.draft_step_reference import masked_first, max_masked, prune
from maskpredict.kernels.fixed_drafts import FixedDrafts
from maskpredict.model.batch import Tokens
from maskpredict.model.best_tokens import best_tokens
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory

if TYPE_CHECKING:
    from maskpredict.systems.cmlm import CMLM


class PlainComputation:
    """Encoder, length candidates and every pass."""

    def __init__(self, system: CMLM, shape: CaptureShape) -> None:
        self.system, self.shape = system, shape
        self.suppressed = torch.tensor(shape.suppressed, dtype=torch.long, device=system.device)
        self.drafts = FixedDrafts.empty(shape.rows, shape.target_width, system.device)

    def __call__(self, ids_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """Translate ids [B, S] of these lengths [B], and return the results of `FixedDrafts`."""
        shape, special, transformer = self.shape, self.system.special, self.system.transformer
        layout = Padded.of(lengths_B, shape.source_width)
        encoded, length_log_probs, source = self.system.encode_tokens(Tokens(ids_BS, layout))
        assert isinstance(source, Padded)
        order = length_log_probs.sort(dim=1, descending=True, stable=True).indices
        lengths_BL = order[:, : shape.candidates].clamp(SHORTEST, self.system.config.max_positions - 1)

        target = Padded.of(lengths_BL.flatten(), shape.target_width)
        memory = [_repeated(layer_memory, shape.candidates) for layer_memory in transformer.memory(encoded)]
        sources = source.repeat(shape.candidates)

        free_RW = target.valid
        draft_RW = torch.full(free_RW.shape, special.pad, device=free_RW.device).masked_fill(free_RW, special.mask)
        self.drafts.lengths_R.copy_(target.lengths_B)
        self.drafts.length_scores_R.copy_(length_log_probs.gather(1, lengths_BL).flatten())
        self.drafts.pruned_R.zero_()
        self.drafts.passes_R.fill_(shape.iterations)
        rules = Rules(free_RW, self.drafts.passes_R, special.mask, threshold=shape.threshold)
        decoded = undecoded(draft_RW, free_RW)
        for t in range(shape.iterations):
            masked_RW = positions_to_mask(t, decoded, rules)
            most = max_masked(shape.target_width, shape.iterations, t)

            def predict(inputs_RW: Tensor, masked_RW: Tensor, most: int = most) -> tuple[Tensor, Tensor]:
                hidden_RWD = transformer.decode(inputs_RW, target, memory, sources, causal=False)
                return self._likeliest(hidden_RWD, masked_RW, most)

            decoded = one_pass(predict, decoded, masked_RW, rules)
            if t == 0 and shape.kept is not None:
                self._store(decoded)
                prune(self.drafts, shape.sentences, shape.kept)
        self._store(decoded)
        return self.drafts.results

    def _likeliest(self, hidden_RWD: Tensor, masked_RW: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Return tokens and log-probabilities [R, W] at the masked positions, at most `most` in a draft."""
        places_N = masked_first(masked_RW)[:, :most].flatten()
        logits_NV = self.system.transformer.logits(hidden_RWD.flatten(0, 1)[places_N])
        best = best_tokens(logits_NV.index_fill_(1, self.suppressed, float("-inf")), 1)

        def at_places(values_N: Tensor) -> Tensor:
            return values_N.new_zeros(masked_RW.numel()).index_copy(0, places_N, values_N).view_as(masked_RW)

        return at_places(best.tokens_RC[:, 0]), at_places(best.log_probs_RC[:, 0])

    def _store(self, decoded: Decoded) -> None:
        self.drafts.tokens_RW.copy_(decoded.tokens_BT)
        self.drafts.log_probs_RW.copy_(decoded.log_probs_BT)
        self.drafts.used_R.copy_(decoded.passes_B)


def _repeated(memory: Memory, times: int) -> Memory:
    """Repeat every sentence's memory for each of its candidates."""
    if times == 1:
        return memory
    return Memory(memory.keys.repeat_interleave(times, 0), memory.values.repeat_interleave(times, 0))
