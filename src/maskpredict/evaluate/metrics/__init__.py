"""Corpus-level metrics, one file each. A new metric is a new file and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics import bleu, chrf, ter, tokenized_bleu
from maskpredict.evaluate.metrics.base import CorpusMetric

METRICS: dict[str, CorpusMetric] = {module.METRIC.name: module.METRIC for module in (bleu, chrf, ter, tokenized_bleu)}
"""Metrics by the name that `--metric` takes."""
DEFAULT_METRICS = ("bleu", "chrf", "ter")


def find_metrics(names: Sequence[str]) -> list[CorpusMetric]:
    """The metrics with these names, without duplicates."""
    if not names:
        raise UserError(f"no metric was named; choose some of {', '.join(METRICS)}.")
    for name in names:
        if name not in METRICS:
            raise UserError(f"there is no metric {name!r}; choose some of {', '.join(METRICS)}.")
    return [METRICS[name] for name in dict.fromkeys(names)]


__all__ = ["DEFAULT_METRICS", "METRICS", "CorpusMetric", "find_metrics"]
