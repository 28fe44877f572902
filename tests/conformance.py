"""One set of cases for everything that decodes: the engines, the ONNX example, the exported page's JavaScript.

`CASES` say what is asked, `assert_same` and `assert_consistent` what every answer must be. Whoever decodes gives an
`Answer` for each line; what it cannot be asked is left out by the features it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation

PLAIN, PASSES_N, EARLY_EXIT, LENGTHS, STRATEGIES, N_BEST, PINS, GAPS, OPEN_GAPS, GOLD_LENGTH, FREE_PINS, FREE_GAPS = (
    "plain",
    "as many passes as positions",
    "early exit",
    "choice of lengths",
    "strategies",
    "n-best",
    "pins",
    "gaps",
    "open gaps",
    "gold length",
    "pins without places",
    "gaps without sizes",
)
ALL = frozenset(
    {PLAIN, PASSES_N, EARLY_EXIT, LENGTHS, STRATEGIES, N_BEST, PINS, GAPS, OPEN_GAPS, GOLD_LENGTH},
)


@dataclass(frozen=True)
class Case:
    """Settings, and the feature that one must have to be asked."""

    name: str
    settings: dict[str, Any]
    feature: str = PLAIN

    @property
    def follows_the_schedule(self) -> bool:
        """True when no candidate ends before its last pass."""
        return not (self.settings.get("prune_candidates") or self.settings.get("stop_when_stable"))

    def lines(self, sentences: Sequence[str]) -> list[Line]:
        """The lines to translate, with what the case imposes on them; `sentences` are of the toy language."""
        long_enough = [(number, text) for number, text in enumerate(sentences) if " " in text]
        if self.feature == PINS:
            return [
                Line(text, pins=("IROK", ("ENAB", 1)) if number % 2 else ("ENAB OMIT",))
                for number, text in enumerate(sentences)
            ]
        if self.feature == GAPS:
            return [Line(text, template=(None, "▁", None, None, "</s>")) for text in sentences[:20]]
        if self.feature == OPEN_GAPS:
            return [Line(text, template="IROK ___ ENAB ___{2}.") for text in sentences[:24]]
        if self.feature == FREE_PINS:
            return [Line(text, pins=("IROK",) if number % 2 else ("ENAB OMIT",)) for number, text in long_enough]
        if self.feature == FREE_GAPS:
            return [Line(text, template="IROK ___ ENAB.") for _, text in long_enough]
        if self.feature == GOLD_LENGTH:
            return [Line(text, reference=" ".join(["IROK"] * (1 + n % 9))) for n, text in enumerate(sentences)]
        return [Line(text) for text in sentences]


CASES = [
    Case("one pass", {"iterations": 1, "length_candidates": 1}),
    Case("two passes", {"iterations": 2, "length_candidates": 1}),
    Case("four passes over three lengths", {"iterations": 4, "length_candidates": 3}),
    Case("ten passes over five lengths", {"iterations": 10, "length_candidates": 5}),
    Case("a pass for each position", {"iterations": "N", "length_candidates": 2}, PASSES_N),
    Case("sure words stay", {"iterations": 6, "length_candidates": 2, "threshold": 0.9}, EARLY_EXIT),
    Case("until nothing changes", {"iterations": 8, "length_candidates": 2, "stop_when_stable": True}, EARLY_EXIT),
    Case("pruned", {"iterations": 10, "length_candidates": 5, "prune_candidates": 2}, EARLY_EXIT),
    Case("likely lengths", {"iterations": 4, "length_candidates": 5, "length_threshold": 0.3}, LENGTHS),
    Case("weighed lengths", {"iterations": 4, "length_candidates": 5, "length_weight": 0.2}, LENGTHS),
    Case("one shot", {"strategy": "one_shot", "length_candidates": 2}, STRATEGIES),
    Case("easy first", {"strategy": "easy_first", "length_candidates": 2}, STRATEGIES),
    Case("left to right", {"strategy": "left_to_right", "length_candidates": 1}, STRATEGIES),
    Case("random order", {"strategy": "random_order", "length_candidates": 2, "seed": 3}, STRATEGIES),
    Case("three hypotheses", {"iterations": 3, "length_candidates": 4, "num_hypotheses": 3}, N_BEST),
    Case("pinned words", {"iterations": 4, "length_candidates": 3}, PINS),
    Case("gaps of a known size", {"iterations": 4, "length_candidates": 3}, GAPS),
    Case("gaps of any size", {"iterations": 2, "length_candidates": 2}, OPEN_GAPS),
    Case("the reference's length", {"iterations": 4, "length_candidates": 1}, GOLD_LENGTH),
]


ALIGNMENT_CASES = [
    Case("one pass", {"iterations": 1}),
    Case("two passes", {"iterations": 2}),
    Case("four passes", {"iterations": 4}),
    Case("a pass for each position", {"iterations": "N"}, PASSES_N),
    Case("sure positions stay", {"iterations": 6, "threshold": 0.9}, EARLY_EXIT),
    Case("until nothing changes", {"iterations": 8, "stop_when_stable": True}, EARLY_EXIT),
    Case("least confident of all", {"strategy": "mask_predict", "iterations": 4}, STRATEGIES),
    Case("blocks", {"strategy": "blocks", "iterations": 4}, STRATEGIES),
    Case("blocks of more passes than positions", {"strategy": "blocks", "iterations": 90}, STRATEGIES),
    Case("easy first", {"strategy": "easy_first"}, STRATEGIES),
    Case("pinned words", {"iterations": 4}, FREE_PINS),
    Case("gaps", {"iterations": 3}, FREE_GAPS),
]
"""Those of alignment models, which have neither lengths nor places."""


@dataclass(frozen=True)
class Step:
    """A pass over one length candidate."""

    masked: list[bool]
    tokens: list[str]


@dataclass(frozen=True)
class Answer:
    """What became of one line; None where the decoder does not say."""

    tokens: list[str]
    """Every position of the translation."""
    score: float | None = None
    passes: int | None = None
    lengths: list[int] | None = None
    chosen: int | None = None
    candidates: list[list[Step]] = field(default_factory=list)
    others: list[list[str]] = field(default_factory=list)
    """Tokens of the next best translations."""

    @classmethod
    def of(cls, translation: Translation) -> Answer:
        """The answer of a Translator, traced or not."""
        trace = translation.trace
        candidates = [] if trace is None else trace.candidates
        return cls(
            translation.tokens,
            translation.score,
            translation.passes,
            list(translation.lengths),
            None if trace is None else trace.chosen,
            [[Step(step.masked, step.tokens) for step in one.passes] for one in candidates],
            [other.tokens for other in translation.hypotheses],
        )


def assert_same(answers: Sequence[Answer], expected: Sequence[Answer], tolerance: float = 1e-4) -> None:
    """Exact decoders give the same tokens in the same passes, and scores that differ by rounding alone."""
    for answer, wanted in zip(answers, expected, strict=True):
        assert answer.tokens == wanted.tokens
        for name in ("passes", "lengths", "chosen"):
            if getattr(answer, name) is not None:
                assert getattr(answer, name) == getattr(wanted, name), name
        if answer.score is not None:
            assert wanted.score is not None
            assert abs(answer.score - wanted.score) < tolerance
        if answer.candidates:
            assert answer.candidates == wanted.candidates
        if answer.others:
            assert answer.others == wanted.others


def assert_consistent(answer: Answer, line: Line, settings: dict[str, Any]) -> None:
    """What must be true of any traced answer, whatever the model and the rounding."""
    assert answer.candidates, "not traced"
    for steps in answer.candidates:
        assert_schedule(steps, settings)
    assert answer.chosen is not None
    assert answer.candidates[answer.chosen][-1].tokens == answer.tokens
    assert answer.passes == len(answer.candidates[answer.chosen])
    assert_pins(answer, line)


def assert_schedule(steps: Sequence[Step], settings: dict[str, Any], strategy: str = "mask_predict") -> None:
    """Each pass leaves all positions as they were but those it predicts; mask-predict's are as many as the paper says.

    `strategy` is the one that the settings have unless they name one.
    """
    free, total = steps[0].masked, settings.get("iterations")
    for t, step in enumerate(steps):
        if t:
            before = steps[t - 1]
            kept = [place for place, masked in enumerate(step.masked) if not masked]
            assert [step.tokens[place] for place in kept] == [before.tokens[place] for place in kept]
        assert not any(masked and not may for masked, may in zip(step.masked, free, strict=True))
        if settings.get("strategy", strategy) == "mask_predict" and settings.get("threshold") is None:
            passes = sum(free) if total == "N" else total
            assert isinstance(passes, int)
            assert sum(step.masked) == max(1, sum(free) * (passes - t) // passes)


def assert_pins(answer: Answer, line: Line) -> None:
    """The translation has the pinned words."""
    for pin in line.pins:
        phrase = pin if isinstance(pin, str) else pin[0]
        assert phrase in "".join(answer.tokens).replace("▁", " ")
