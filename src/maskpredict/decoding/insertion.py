"""Decoding by insertion (Stern et al., 2019): a target grows from nothing, in every slot at once or one word at a time.

A slot is the place in front of each word and of the end mark. A pass asks for the likeliest word of every slot; the end
mark says that a slot lacks nothing. Decoding ends when all slots say so. In parallel, n words take about log2(n) + 2
passes, the last of which inserts nothing; greedily, n + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maskpredict.decoding.beam import longest_target
from maskpredict.decoding.decoder import Decoder, StartedTranslation
from maskpredict.decoding.engine import Encoded, Query
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.pausing import pause
from maskpredict.decoding.settings import InsertionSettings
from maskpredict.decoding.whole_drafts import predict_all

Word = tuple[int, float]
"""A token and its log-probability when it was inserted."""


@dataclass(frozen=True)
class Canvas:
    """An unfinished target."""

    ids: list[int]
    """Its words, and the end mark."""
    log_probs: list[float]
    """Log-probability of each word when it was inserted; of the end mark, that nothing was missing before it."""
    passes: int = 0
    finished: bool = False

    def grown(self, words: Sequence[Word], longest: int, *, one: bool) -> Canvas:
        """Return the target with a word inserted into each slot that lacks one; with `one`, the likeliest alone.

        `words` are the answers of all slots. If they do not all fit, the likeliest do.
        """
        end = self.ids[-1]
        lacking = [slot for slot, (token, _) in enumerate(words) if token != end]
        room = longest - len(self.ids)
        # A stable sort: of equals, the leftmost.
        chosen = set(sorted(lacking, key=lambda slot: -words[slot][1])[: min(room, 1) if one else room])
        ids, log_probs = [], []
        for slot, (token, log_prob) in enumerate(zip(self.ids, self.log_probs, strict=True)):
            if slot in chosen:
                ids.append(words[slot][0])
                log_probs.append(words[slot][1])
            ids.append(token)
            log_probs.append(log_prob)
        if not lacking:
            log_probs[-1] = words[-1][1]
        return Canvas(ids, log_probs, self.passes + 1, finished=not lacking or len(ids) >= longest)

    @property
    def hypothesis(self) -> Hypothesis:
        """The target as a translation."""
        return Hypothesis(self.ids, self.log_probs, sum(self.log_probs) / len(self.log_probs), self.passes)


AskSlots = Callable[[list[Canvas], list[int]], list[list[Word]]]
"""(unfinished targets, the source of each) -> the likeliest word of each of their slots."""


def grow(ask: AskSlots, eos: int, longest: Sequence[int], *, one: bool) -> list[Canvas]:
    """Grow a target for each source until no slot lacks a word, or it has its `longest` length."""
    canvases = [Canvas([eos], [0.0], finished=most <= 1) for most in longest]
    while unfinished := [row for row, canvas in enumerate(canvases) if not canvas.finished]:
        for row, words in zip(unfinished, ask([canvases[row] for row in unfinished], unfinished), strict=True):
            canvases[row] = canvases[row].grown(words, longest[row], one=one)
    return canvases


class InsertionDecoder(Decoder):
    """Translates by insertion."""

    settings_type: ClassVar[type] = InsertionSettings

    def start(self, requests: Sequence[Request], settings: InsertionSettings) -> StartedTranslation:
        """As in `Decoder`."""
        self.refuse_constraints(requests)
        sources = [request.source for request in requests]
        longest = [longest_target(len(ids), settings, self.engine.config.max_positions) for ids in sources]
        with self.engine.working():
            ask = self._ask(self.engine.encode(sources), settings)
            canvases = grow(ask, self.engine.special.eos, longest, one=settings.insertions == "greedy")
        hypotheses = [[canvas.hypothesis] for canvas in canvases]
        return lambda: hypotheses

    def _ask(self, encoded: Encoded, settings: InsertionSettings) -> AskSlots:
        def ask(canvases: list[Canvas], owner: list[int]) -> list[list[Word]]:
            ids = [canvas.ids for canvas in canvases]
            suppress, pad = settings.suppress_tokens, self.engine.special.pad
            answers = predict_all(encoded, ids, owner, suppress, pad=pad, end_penalty=settings.end_penalty)
            return [list(zip(answer.tokens, answer.log_probs, strict=True)) for answer in answers]

        return ask

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: InsertionSettings
    ) -> list[Hypothesis]:
        """As in `Decoder`: each target grows in the order in which the model is most certain of its words.

        A word that a slot lacks twice may then be inserted at the other of its two places.
        """
        self.refuse_constraints(requests)
        with self.engine.working():
            encoded = self.engine.encode([request.source for request in requests])
            return [self._replayed(encoded, row, target, settings) for row, target in enumerate(targets)]

    def _replayed(
        self, encoded: Encoded, sentence: int, target: Sequence[int], settings: InsertionSettings
    ) -> Hypothesis:
        query = Query(settings.suppress_tokens, end_penalty=settings.end_penalty)
        *words, end = target
        log_probs = [0.0] * len(target)
        shown, passes = [len(words)], 0  # places in the target
        while True:
            pause()
            runner = encoded.passes([sentence], [len(shown)])
            rows = runner.array([[target[place] for place in shown]], self.engine.special.pad)
            slots_TV = np.asarray(runner.log_probs(rows, query))
            passes += 1
            new: dict[int, float] = {}  # the surest place of each slot that lacks words
            for slot, (left, right) in enumerate(zip([-1, *shown], shown, strict=False)):
                lacking = range(left + 1, right)
                if lacking:
                    fit = [float(slots_TV[slot, target[place]]) for place in lacking]
                    new[lacking[fit.index(max(fit))]] = max(fit)
            if not new:
                log_probs[-1] = float(slots_TV[-1, end])
                return Hypothesis(list(target), log_probs, sum(log_probs) / len(log_probs), passes)
            if settings.insertions == "greedy":
                new = dict([max(new.items(), key=lambda item: item[1])])
            for place, log_prob in new.items():
                log_probs[place] = log_prob
            shown = sorted([*shown, *new])
