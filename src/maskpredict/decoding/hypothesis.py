"""Requests and hypotheses in ids, the input and output of a decoder. The runtime converts from and to text."""

from __future__ import annotations

from dataclasses import dataclass

from maskpredict.decoding.trace import Trace


@dataclass(frozen=True)
class Gap:
    """A gap in a given target: `length` subwords, or any number when it is None."""

    length: int | None = None


@dataclass(frozen=True)
class Contrast:
    """A source that shows where a pin belongs."""

    source: tuple[int, ...]
    """The source with another word in place of those that the pin translates, its end mark included."""
    continuations: frozenset[int]
    """Target ids of subwords that continue a word."""
    words: int = 1
    """Number of the words that the pin translates."""


@dataclass(frozen=True)
class Pin:
    """Target subwords that decoding must keep."""

    ids: tuple[int, ...]
    place: int | None = None
    """Position of the first of them, counted from 0; None lets the model choose where the phrase goes."""
    contrast: Contrast | None = None
    """With one, a phrase without a place takes that of what the same words of the source would have become."""


@dataclass(frozen=True)
class Request:
    """One sentence to translate."""

    source: tuple[int, ...]
    """Source ids, the end mark included."""
    length: int | None = None
    """Decode exactly this target length (end mark included), such as the reference's, instead of predicting one."""
    pins: tuple[Pin, ...] = ()
    """Words that must appear."""
    template: tuple[tuple[int, ...] | Gap, ...] | None = None
    """A target with gaps to complete; its end mark is added by the system."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence."""

    ids: list[int]
    """All its positions, the end mark included."""
    log_probs: list[float]
    """Log-probability of each position."""
    score: float
    """Higher is better; its definition depends on the system."""
    passes: int
    """Decoder passes it took."""
    lengths: tuple[int, ...] = ()
    """Target lengths of all candidates, likeliest first."""
    trace: Trace | None = None
