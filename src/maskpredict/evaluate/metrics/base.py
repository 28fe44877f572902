"""Interface of corpus-level metrics, which sacreBLEU computes, resamples and signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric


@dataclass(frozen=True)
class CorpusMetric:
    """A metric that sacreBLEU can compute, or one derived from its `Metric` class."""

    name: str
    """Name on the command line."""
    title: str
    """Name in tables."""
    build: Callable[[str], Metric]
    """Makes a fresh sacreBLEU metric, with the settings that suit a target language ("" if it is not known)."""
    higher_is_better: bool = True
