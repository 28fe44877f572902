"""From drafts to finished targets: mask-predict with a transformer behind it.

Drafts of one padded width are decoded together, whichever sentence they belong to; a sentence's length candidates share
what the encoder made of it. Shape letters: B rows (drafts), T positions, D width, M masked positions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.mask_predict import Decoded, mask_predict
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.decoding.strategies import STRATEGIES
from maskpredict.decoding.trace import Pass
from maskpredict.model.batch import Tokens, pad, pad_rows, round_up
from maskpredict.model.layout import Padded
from maskpredict.model.transformer import Memory, Transformer, suppress
from maskpredict.tokenizer import SpecialIds


@dataclass(frozen=True)
class Encoded:
    """Sources after the encoder, ready for any number of decoder passes."""

    memory: list[Memory]
    layout: Padded
    length_log_probs_BL: Tensor

    def select(self, sentences: Sequence[int]) -> tuple[list[Memory], Padded]:
        """Memory and layout of these sentences, which may repeat."""
        rows = torch.tensor(sentences, device=self.layout.lengths_B.device)
        return [Memory(m.keys[rows], m.values[rows]) for m in self.memory], self.layout.select(rows)


@dataclass(frozen=True)
class Finisher:
    """Completes drafts of the sentences in `encoded`."""

    transformer: Transformer
    encoded: Encoded
    special: SpecialIds
    settings: MaskPredictSettings

    def finish(
        self, drafts: list[list[int]], owner: list[int], given: Sequence[Sequence[int]] | None = None
    ) -> list[Finished]:
        """Complete drafts, each of the sentence `owner` names.

        With `given`, the result is those tokens and the probability each had when its position was last predicted.
        """
        finished: dict[int, Finished] = {}
        widths = [round_up(len(draft)) for draft in drafts]
        for width in sorted(set(widths)):
            group = [row for row, own in enumerate(widths) if own == width]
            rows = self._finish_group(
                [drafts[row] for row in group],
                [owner[row] for row in group],
                None if given is None else [given[row] for row in group],
            )
            finished.update(zip(group, rows, strict=True))
        return [finished[row] for row in range(len(drafts))]

    def first_guess(self, draft: list[int], sentence: int) -> Tensor:
        """Log-probabilities [T, V] of every token at every position of a draft as it stands."""
        tokens = self._pad([draft])
        memory, source = self.encoded.select([sentence])
        hidden_BTD = self.transformer.decode(tokens.ids, tokens.layout, memory, source, causal=False)
        return self.logits(hidden_BTD[0]).log_softmax(-1)

    def _finish_group(
        self, drafts: list[list[int]], owner: list[int], given: Sequence[Sequence[int]] | None
    ) -> list[Finished]:
        tokens = self._pad(drafts)
        predictor = _Predictor(self, tokens, owner, None if given is None else self._pad(given).ids)
        plan = STRATEGIES[self.settings.strategy]
        history: list[tuple[Tensor, Decoded]] = []
        result = mask_predict(
            predictor.predict,
            tokens.ids,
            predictor.free_BT,
            plan.count(predictor.free_BT.sum(1), self.settings.iterations),
            self.special.mask,
            strategy=plan.strategy,
            stop_when_stable=self.settings.stop_when_stable,
            threshold=self.settings.threshold,
            watch=(lambda masked_BT, decoded: history.append((masked_BT, decoded))) if self.settings.trace else None,
        )
        if predictor.given_BT is not None:
            result = Decoded(predictor.given_BT, predictor.given_log_probs_BT, result.passes_B)
        return _finished(result, predictor.free_BT, [len(draft) for draft in drafts], history)

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tokens:
        return pad(rows, self.special.pad, self.transformer.output.weight.device)

    def logits(self, hidden_MD: Tensor) -> Tensor:
        """Logits [M, V] in float32, with suppressed tokens made impossible."""
        logits_MV = self.transformer.output(pad_rows(hidden_MD))[: len(hidden_MD)].float()
        return suppress(logits_MV, self.settings.suppress_tokens)


class _Predictor:
    """The model as mask-predict sees it, for one group of drafts."""

    def __init__(self, finisher: Finisher, tokens: Tokens, owner: list[int], given_BT: Tensor | None) -> None:
        self.finisher, self.tokens, self.given_BT = finisher, tokens, given_BT
        self.memory, self.source = finisher.encoded.select(owner)
        valid_BT = tokens.layout.valid
        self.free_BT = (tokens.ids == finisher.special.mask) & valid_BT
        # An end mark in front of given words would cut them off.
        self.before_given_BT = (valid_BT & ~self.free_BT).flip(1).cumsum(1).flip(1) > 0
        self.given_log_probs_BT = torch.zeros(tokens.ids.shape, device=tokens.ids.device)

    def predict(self, inputs_BT: Tensor, masked_BT: Tensor) -> tuple[Tensor, Tensor]:
        finisher = self.finisher
        hidden_BTD = finisher.transformer.decode(inputs_BT, self.tokens.layout, self.memory, self.source, causal=False)
        # Only masked positions need the vocabulary, by far the largest matrix product.
        logits_MV = finisher.logits(hidden_BTD[masked_BT])
        logits_MV[self.before_given_BT[masked_BT], finisher.special.eos] = float("-inf")
        norm_M = logits_MV.logsumexp(-1)
        best = logits_MV.max(-1)
        if self.given_BT is not None:
            wanted_M1 = self.given_BT[masked_BT][:, None]
            self.given_log_probs_BT[masked_BT] = logits_MV.gather(1, wanted_M1)[:, 0] - norm_M
        tokens_BT, log_probs_BT = inputs_BT.clone(), torch.zeros_like(self.given_log_probs_BT)
        tokens_BT[masked_BT], log_probs_BT[masked_BT] = best.indices, best.values - norm_M
        return tokens_BT, log_probs_BT


def _finished(
    result: Decoded, free_BT: Tensor, lengths: list[int], history: list[tuple[Tensor, Decoded]]
) -> list[Finished]:
    """The tensors of a group taken apart; given positions do not enter the score."""
    scores = ((result.log_probs_BT * free_BT).sum(1) / free_BT.sum(1).clamp(min=1)).tolist()
    tokens, log_probs = result.tokens_BT.tolist(), result.log_probs_BT.tolist()
    passes = result.passes_B.tolist()
    steps = [(m.tolist(), d.tokens_BT.tolist(), d.log_probs_BT.exp().tolist()) for m, d in history]
    return [
        Finished(
            tokens[row][:length],
            log_probs[row][:length],
            scores[row],
            passes[row],
            [Pass(m[row][:length], t[row][:length], p[row][:length]) for m, t, p in steps[: passes[row]]],
        )
        for row, length in enumerate(lengths)
    ]
