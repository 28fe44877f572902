"""Reranking of a model's translations by a second, autoregressive model.

Mask-predict predicts the words of a pass independently, so its confidence says little about whether they fit together,
least of all between targets of different lengths. An autoregressive model, such as the teacher, scores a finished
target as a whole, in a single parallel pass. Gu et al. (2018) choose between fertilities in this way, by the second
model's score alone (noisy parallel decoding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.tokenizer import Tokenizer

if TYPE_CHECKING:
    from maskpredict.runtime.translator import Translator


class Judge:
    """An autoregressive model with the languages and subwords of the model that it reranks."""

    def __init__(self, name: str, judge: Translator, settings: Any, judged: Translator, *, alone: bool = False) -> None:
        """Let `judge`, with these settings, rerank the translations of `judged`, or refuse it."""
        if judge.system != "autoregressive":
            raise UserError(f"the judge is a model of the system {judge.system}; use an autoregressive one.")
        if judge.languages != judged.languages:
            languages = f"{judge.languages.source} to {judge.languages.target}"
            raise UserError(f"the judge translates {languages}; use one of the model's own languages.")
        source_sides = judge.tokenizers.source, judged.tokenizers.source
        target_sides = judge.tokenizers.target, judged.tokenizers.target
        if not (_same_subwords(*source_sides) and _same_subwords(*target_sides)):
            raise UserError("the judge has other subwords than the model; use one trained on the same data folder.")
        positions = judge.engine.config.max_positions
        if positions < judged.engine.config.max_positions:
            raise UserError(f"the judge has {positions} positions, fewer than the model; use one with as many.")
        self.name = name
        """Name or path of the judge's model."""
        self.decoder, self.settings, self.judged = judge.decoder, settings, judged.decoder
        self.alone = alone
        """True if the judge's score alone counts, not that of the model."""
        self.eos = judge.tokenizers.target.special.eos

    def start(self, requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        """As in `Decoder`, with the hypotheses ordered by the sum of both models' scores, or by the judge's alone."""
        if settings.choices == 1:
            raise UserError("a judge needs several translations; use two or more length candidates, or beams.")
        started = self.judged.start(requests, replace(settings, num_hypotheses=settings.choices))
        return lambda: [ranked[: settings.num_hypotheses] for ranked in self._reranked(requests, started())]

    def _reranked(self, requests: Sequence[Request], candidates: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        owners = [request for request, rows in zip(requests, candidates, strict=True) for _ in rows]
        targets = [self._target(hypothesis) for rows in candidates for hypothesis in rows]
        judged = iter(self.decoder.score(owners, targets, self.settings))
        own = 0.0 if self.alone else 1.0
        scores = [[own * hypothesis.score + next(judged).score for hypothesis in rows] for rows in candidates]
        return [
            [rows[place] for place in sorted(range(len(rows)), key=lambda place: -row_scores[place])]
            for rows, row_scores in zip(candidates, scores, strict=True)
        ]

    def _target(self, hypothesis: Hypothesis) -> list[int]:
        """Return its ids up to the first end mark."""
        ids = hypothesis.ids
        return [*(ids[: ids.index(self.eos)] if self.eos in ids else ids), self.eos]


def _same_subwords(one: Tokenizer, other: Tokenizer) -> bool:
    ids = range(one.vocab_size)
    return one.vocab_size == other.vocab_size and one.pieces(ids) == other.pieces(ids)
