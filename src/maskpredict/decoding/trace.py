"""Traces of decoding as plain data: masked positions, predicted tokens and probabilities of each pass.

The terminal player, the web page and the event stream show them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True)
class Pass:
    """The target after one pass; lists have one entry per position, the end mark included."""

    masked: list[bool]
    """True where this pass predicted the position."""
    ids: list[int]
    """Tokens after the pass."""
    probabilities: list[float]
    """Probability of each token when it was last predicted; 1 where it was pinned."""
    tokens: list[str] = field(default_factory=list)
    """The same tokens as subwords, once `Trace.spelled` has been called."""


@dataclass(frozen=True)
class CandidateTrace:
    """All passes of one length candidate."""

    length: int
    """Target length in subwords, the end mark included."""
    score: float
    """Mean log-probability of its tokens after the last pass."""
    passes: list[Pass]


@dataclass(frozen=True)
class Trace:
    """All length candidates of one sentence."""

    candidates: list[CandidateTrace]
    """In the length head's order, likeliest first."""
    chosen: int
    """Index of the candidate that became the translation."""

    @property
    def passes(self) -> list[Pass]:
        """The passes of the chosen candidate."""
        return self.candidates[self.chosen].passes

    def spelled(self, pieces: Callable[[list[int]], list[str]]) -> Trace:
        """Return the trace with subwords beside the ids."""
        return replace(
            self,
            candidates=[
                replace(candidate, passes=[replace(step, tokens=pieces(step.ids)) for step in candidate.passes])
                for candidate in self.candidates
            ],
        )

    def to_dict(self) -> dict[str, object]:
        """Return the trace as dictionaries and lists, for JSON."""
        return asdict(self)
