"""The record of a decoding run as plain data: what was masked, what was predicted, how surely, at each pass.

The terminal player, the web page, the event stream and the tests all read this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True)
class Pass:
    """The target after one pass; lists have one entry per position, the end mark included."""

    masked: list[bool]
    """True where this pass masked the position and predicted it anew."""
    ids: list[int]
    """Tokens as they stand after the pass."""
    probabilities: list[float]
    """Of each token when it was last predicted; 1 where it was pinned."""
    tokens: list[str] = field(default_factory=list)
    """The same tokens as subwords, once `Trace.spelled` has been called."""


@dataclass(frozen=True)
class CandidateTrace:
    """One length candidate from first pass to last."""

    length: int
    """Target length in subwords, the end mark included."""
    score: float
    """Mean log-probability of its tokens after the last pass."""
    passes: list[Pass]


@dataclass(frozen=True)
class Trace:
    """Everything that happened to one sentence."""

    candidates: list[CandidateTrace]
    """In the length head's order, likeliest first."""
    chosen: int
    """Which of them became the translation."""

    @property
    def passes(self) -> list[Pass]:
        """The passes of the chosen candidate."""
        return self.candidates[self.chosen].passes

    def spelled(self, pieces: Callable[[list[int]], list[str]]) -> Trace:
        """The same trace with subwords beside the ids."""
        return replace(
            self,
            candidates=[
                replace(one, passes=[replace(step, tokens=pieces(step.ids)) for step in one.passes])
                for one in self.candidates
            ],
        )

    def to_dict(self) -> dict[str, object]:
        """The same as dictionaries and lists, for JSON."""
        return asdict(self)
