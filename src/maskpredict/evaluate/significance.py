"""Paired significance tests of sacreBLEU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.significance import PairedTest, Result

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics import DEFAULT_METRICS, CorpusMetric, find_metrics
from maskpredict.evaluate.scores import check_aligned

PAIRED_TESTS = {"bootstrap": "bs", "randomization": "ar"}
"""Names of the tests in sacreBLEU: paired bootstrap resampling and approximate randomization."""


@dataclass(frozen=True)
class Difference:
    """Difference of a system from the baseline in one metric."""

    system: str
    metric: str
    difference: float
    """Score of the system minus that of the baseline."""
    p_value: float
    """Probability of a difference at least this large between equally good systems."""


@dataclass(frozen=True)
class Comparison:
    """Differences of all systems from the first."""

    baseline: str
    test: str
    samples: int
    """Resamples or random trials."""
    differences: tuple[Difference, ...]
    signatures: Mapping[str, str]
    """Signatures of the tests, by metric."""


def compare_systems(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    target_language: str = "",
    test: str = "bootstrap",
    samples: int = 0,
) -> Comparison:
    """Compare the translations of two or more systems, by name, of which the first is the baseline.

    `test` is bootstrap or randomization; `samples` is sacreBLEU's default (1,000 or 10,000) if 0.
    """
    if test not in PAIRED_TESTS:
        raise UserError(f"there is no paired test {test!r}; choose {' or '.join(PAIRED_TESTS)}.")
    if len(systems) < 2:
        raise UserError("a paired test needs two or more systems; give another one.")
    for hypotheses in systems.values():
        check_aligned(hypotheses, references)
    # One at a time: sacreBLEU tells metrics apart by a name that both kinds of BLEU share.
    tests = {
        metric.name: _paired_test(metric, systems, references, target_language, test, samples)
        for metric in find_metrics(metrics)
    }
    results = {name: paired() for name, paired in tests.items()}
    baseline, *others = systems
    return Comparison(
        baseline=baseline,
        test=test,
        samples=max(paired.n_samples for paired in tests.values()),
        differences=tuple(
            difference for name, (_, table) in results.items() for difference in _differences(name, others, table)
        ),
        signatures={name: next(iter(signed.values())).format() for name, (signed, _) in results.items()},
    )


def _paired_test(
    metric: CorpusMetric,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    target_language: str,
    test: str,
    samples: int,
) -> PairedTest:
    built = {metric.name: metric.build(target_language)}
    return PairedTest(list(systems.items()), built, references, PAIRED_TESTS[test], n_samples=samples)


def _differences(metric: str, others: Sequence[str], table: Mapping[str, Sequence[str | Result]]) -> list[Difference]:
    """sacreBLEU's table has a column of names and one of results, the baseline's first."""
    first, *results = (cell for column in table.values() for cell in column if isinstance(cell, Result))
    differences = []
    for name, result in zip(others, results, strict=True):
        assert result.p_value is not None  # only the baseline has none
        differences.append(Difference(name, metric, float(result.score - first.score), float(result.p_value)))
    return differences
