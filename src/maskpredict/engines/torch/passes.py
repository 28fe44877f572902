"""Decoder passes with PyTorch: predictions at the masked positions of a group of drafts.

Shape letters: B rows (drafts), T positions, M masked positions, R some of them, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from maskpredict.decoding.engine import Prediction, Query
from maskpredict.model.batch import pad, pad_rows
from maskpredict.model.best_tokens import predicted, rows_at_once
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer
from maskpredict.systems.base import EncoderOutput, System

HiddenStates = Callable[[Tensor, Tensor], Tensor]
"""(tokens_BT, wanted_BT) -> the decoder's output [M, D] at the wanted positions, row by row."""


class TorchPasses:
    """Passes over one group of drafts."""

    def __init__(self, transformer: Transformer, hidden: HiddenStates, layout: Padded, eos: int) -> None:
        self.transformer, self.hidden, self.layout, self.eos = transformer, hidden, layout, eos

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> Tensor:
        """As in `Passes`."""
        return pad(rows, fill, self.layout.lengths_B.device).ids

    @torch.inference_mode()
    def predict(self, tokens_BT: Tensor, masked_BT: Tensor, query: Query) -> Prediction:
        """As in `Passes`."""
        given_M = None if query.given_BT is None else query.given_BT[masked_BT]
        answer = predicted(self._logits(tokens_BT, masked_BT, query), given_M)

        def at_places(values_M: Tensor) -> Tensor:
            return values_M.new_zeros(masked_BT.shape).masked_scatter_(masked_BT, values_M)

        given_log_probs = None if answer.given_log_probs_M is None else at_places(answer.given_log_probs_M)
        return Prediction(at_places(answer.tokens_M), at_places(answer.log_probs_M), given_log_probs)

    @torch.inference_mode()
    def log_probs(self, tokens_BT: Tensor, query: Query) -> Tensor:
        """As in `Passes`."""
        wanted_BT = torch.zeros_like(tokens_BT, dtype=torch.bool)
        wanted_BT[0, : int(self.layout.lengths_B[0])] = True
        return torch.cat(list(self._logits(tokens_BT, wanted_BT, query))).float().log_softmax(-1).cpu()

    def _logits(self, tokens_BT: Tensor, wanted_BT: Tensor, query: Query) -> Iterator[Tensor]:
        """Yield logits [R, V] at the wanted positions, some at a time.

        The output projection, by far the largest matrix product, runs at the wanted positions only.
        """
        hidden_MD = self.hidden(tokens_BT, wanted_BT)
        suppressed = torch.tensor(query.suppress, dtype=torch.long, device=hidden_MD.device)
        no_end_M = None if query.no_end_BT is None else query.no_end_BT[wanted_BT]
        done = 0
        for hidden_RD in hidden_MD.split(rows_at_once(hidden_MD)):
            rows_RD = hidden_RD if self.transformer.sentence_by_sentence else pad_rows(hidden_RD)
            logits_RV = self.transformer.logits(rows_RD)[: len(hidden_RD)]
            logits_RV = logits_RV.index_fill_(1, suppressed, float("-inf"))
            if no_end_M is not None:
                logits_RV[no_end_M[done : done + len(hidden_RD)], self.eos] = float("-inf")
            if query.end_penalty:
                logits_RV[:, self.eos] -= query.end_penalty
            done += len(hidden_RD)
            yield logits_RV


class PaddedHiddenStates:
    """The decoder over rows of one padded width."""

    def __init__(self, system: System, encoding: EncoderOutput, owner: Sequence[int], target: Padded) -> None:
        assert isinstance(encoding.layout, Padded)
        self.system, self.encoding, self.all_sources, self.target = system, encoding, encoding.layout, target
        self.owner_B = torch.tensor(list(owner), device=target.lengths_B.device)
        self._select(torch.ones_like(self.owner_B, dtype=torch.bool))

    def __call__(self, tokens_BT: Tensor, wanted_BT: Tensor) -> Tensor:
        """Return the decoder's output [M, D] at the wanted positions."""
        active_B = wanted_BT.any(1)
        if not torch.equal(active_B, self.active_B):
            self._select(active_B)
        inputs_BTD = self.system.decoder_inputs(
            self.encoding, tokens_BT[active_B], self.active_target, self.active_owner_B
        )
        hidden_BTD = self.system.transformer.decode_states(
            inputs_BTD, self.active_target, self.memory, self.source, causal=False
        )
        return self.system.output_states(hidden_BTD, self.active_target)[wanted_BT[active_B]]

    def _select(self, active_B: Tensor) -> None:
        """Compute only these rows from now on."""
        self.active_B = active_B
        self.active_target = self.target.select(active_B)
        self.active_owner_B = self.owner_B[active_B]
        self.memory = [Memory(m.keys[self.active_owner_B], m.values[self.active_owner_B]) for m in self.encoding.memory]
        self.source = self.all_sources.select(self.active_owner_B)
