"""TER: edits, block moves included, that turn a translation into its reference, per 100 reference words."""

from __future__ import annotations

from sacrebleu.metrics.ter import TER

from maskpredict.evaluate.metrics.base import CorpusMetric


def _build(target_language: str) -> TER:
    return TER()


METRIC = CorpusMetric("ter", "TER", _build, higher_is_better=False)
