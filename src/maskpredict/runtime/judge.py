"""A second model that chooses among the translations of the first.

Mask-predict predicts the words of a pass independently of each other, so its confidence says little about how well they
go together, and least of all when it compares targets of different lengths. An autoregressive model, such as the
teacher, tells how likely a finished target is as a whole, and in a single parallel pass, since nothing is left to be
written. Gu et al. (2018) choose between fertilities in this way.
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
    """An autoregressive model with the languages and subwords of the model that it judges."""

    def __init__(self, name: str, own: Translator, settings: Any, judged: Translator) -> None:
        """`own` judges, with these settings of its own; it is refused if it cannot judge the other."""
        if own.system != "autoregressive":
            raise UserError(f"the judge is a model of the system {own.system}; use an autoregressive one.")
        if own.languages != judged.languages:
            there = f"{own.languages.source} to {own.languages.target}"
            raise UserError(f"the judge translates {there}; use one of the model's own languages.")
        sides = ((own.tokenizers.source, judged.tokenizers.source), (own.tokenizers.target, judged.tokenizers.target))
        if not all(_alike(one, other) for one, other in sides):
            raise UserError("the judge has other subwords than the model; use one trained on the same data folder.")
        positions = own.engine.config.max_positions
        if positions < judged.engine.config.max_positions:
            raise UserError(f"the judge has {positions} positions, fewer than the model; use one with as many.")
        self.name = name
        """What it was opened as."""
        self.decoder, self.settings, self.judged = own.decoder, settings, judged.decoder
        self.eos = own.tokenizers.target.special.eos

    def start(self, requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        """As the judged model's own `start`, but those first that both models together find likeliest."""
        if settings.choices == 1:
            raise UserError("a judge needs something to choose from; use two or more length candidates, or beams.")
        found = self.judged.start(requests, replace(settings, num_hypotheses=settings.choices))
        return lambda: [own[: settings.num_hypotheses] for own in self._in_order(requests, found())]

    def _in_order(self, requests: Sequence[Request], found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        owners = [request for request, own in zip(requests, found, strict=True) for _ in own]
        targets = [self._target(hypothesis) for own in found for hypothesis in own]
        judged = iter(self.decoder.score(owners, targets, self.settings))
        merits = [[hypothesis.score + next(judged).score for hypothesis in own] for own in found]
        return [
            [own[place] for place in sorted(range(len(own)), key=lambda place: -merit[place])]
            for own, merit in zip(found, merits, strict=True)
        ]

    def _target(self, hypothesis: Hypothesis) -> list[int]:
        """Its words as they are read: up to the first end mark."""
        ids = hypothesis.ids
        return [*(ids[: ids.index(self.eos)] if self.eos in ids else ids), self.eos]


def _alike(one: Tokenizer, other: Tokenizer) -> bool:
    ids = range(one.vocab_size)
    return one.vocab_size == other.vocab_size and one.pieces(ids) == other.pieces(ids)
