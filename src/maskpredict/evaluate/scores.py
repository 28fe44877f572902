"""Scores of one system on one test set, each with the signature that makes it comparable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics import DEFAULT_METRICS, CorpusMetric, find_metrics

RESAMPLES = 1_000
"""Default number of bootstrap samples of a confidence interval."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval of 95%: mean of the resampled scores, plus or minus."""

    mean: float
    plus_minus: float


@dataclass(frozen=True)
class MetricScore:
    """The score of one metric."""

    metric: str
    title: str
    score: float
    signature: str
    """Signature of sacreBLEU: everything besides the texts that the score depends on."""
    confidence: Interval | None = None


@dataclass(frozen=True)
class CorpusScores:
    """The scores of one system on a test set."""

    sentences: int
    scores: tuple[MetricScore, ...]

    def __getitem__(self, metric: str) -> float:
        return next(score.score for score in self.scores if score.metric == metric)


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    target_language: str = "",
    confidence: int = 0,
) -> CorpusScores:
    """Score translations against one or more references.

    `references[r][i]` is the r-th reference of sentence i. `confidence` is the number of bootstrap samples from which
    confidence intervals are estimated, 0 for none.
    """
    check_aligned(hypotheses, references)
    check_confidence(confidence)
    scores = [_score(metric, hypotheses, references, target_language, confidence) for metric in find_metrics(metrics)]
    return CorpusScores(len(hypotheses), tuple(scores))


def check_aligned(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse lists of different lengths, of which sacreBLEU would silently score the shorter."""
    if not hypotheses or not references:
        raise UserError("there is nothing to score; give at least one translation and one reference.")
    for reference in references:
        if len(reference) != len(hypotheses):
            raise UserError(
                f"there are {len(hypotheses):,} translations and {len(reference):,} references; give one for each."
            )


def check_confidence(samples: int) -> None:
    """Refuse a number of samples that is too small for an interval."""
    if samples < 0 or samples == 1:
        raise UserError(f"confidence is {samples}; give a number of samples such as {RESAMPLES:,}, or 0 for none.")


def _score(
    metric: CorpusMetric,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    target_language: str,
    confidence: int,
) -> MetricScore:
    computed = metric.build(target_language)
    result = computed.corpus_score(hypotheses, references, n_bootstrap=max(1, confidence))
    # sacreBLEU exposes the interval only in its printed form.
    interval = Interval(float(result._mean), float(result._ci)) if confidence else None
    signature = computed.get_signature().format()
    return MetricScore(metric.name, metric.title, float(result.score), signature, interval)
