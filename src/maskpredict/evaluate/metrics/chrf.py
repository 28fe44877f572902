"""chrF2++: F-score of character n-grams up to six and word n-grams up to two."""

from __future__ import annotations

from sacrebleu.metrics.chrf import CHRF

from maskpredict.evaluate.metrics.base import CorpusMetric


def _build(target_language: str) -> CHRF:
    return CHRF(word_order=2)


METRIC = CorpusMetric("chrf", "chrF2++", _build)
