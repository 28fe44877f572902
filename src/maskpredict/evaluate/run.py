"""Scores of several systems on several test sets, with paired significance tests."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import maskpredict
from maskpredict.errors import UserError
from maskpredict.evaluate.comet import check_command, comet_score
from maskpredict.evaluate.metrics import DEFAULT_METRICS, find_metrics
from maskpredict.evaluate.normalization import normalize
from maskpredict.evaluate.reference_set import ReferenceSet
from maskpredict.evaluate.scores import RESAMPLES, MetricScore, check_confidence, score_corpus
from maskpredict.evaluate.significance import PAIRED_TESTS, Comparison, compare_systems
from maskpredict.evaluate.systems import ScoredSystem, SystemOutput
from maskpredict.progress import Progress


@dataclass(frozen=True)
class ScoringConfig:
    """Metrics, confidence intervals, paired tests and normalization."""

    metrics: tuple[str, ...] = DEFAULT_METRICS
    """Names of metrics, in the order in which they are shown."""
    confidence: int = RESAMPLES
    """Bootstrap samples of confidence intervals; 0 disables them."""
    paired_test: str = "bootstrap"
    """Paired test of two or more systems: bootstrap, randomization, or empty for none."""
    normalize: str = ""
    """Normalization of hypotheses and references: ro, ro-no-diacritics, or empty for none."""
    comet_command: str = ""
    """External scoring program, with {source}, {hypothesis} and {reference} for files; empty for none."""

    def __post_init__(self) -> None:
        find_metrics(self.metrics)
        normalize([], self.normalize)
        check_confidence(self.confidence)
        if self.paired_test and self.paired_test not in PAIRED_TESTS:
            raise UserError(f"there is no paired test {self.paired_test!r}; choose {' or '.join(PAIRED_TESTS)}.")


@dataclass(frozen=True)
class SystemResult:
    """Scores of one system on one test set."""

    name: str
    origin: Mapping[str, Any]
    """The file, or the model and its decoding settings."""
    seconds: float | None
    """Time that translating took; None for a file."""
    scores: tuple[MetricScore, ...]
    translations: list[str]
    """Translations before normalization."""


@dataclass(frozen=True)
class SetResult:
    """Scores of all systems on one test set."""

    name: str
    sentences: int
    references: int
    target_language: str
    systems: tuple[SystemResult, ...]
    comparison: Comparison | None
    """All systems against the first; None for a single one."""


@dataclass(frozen=True)
class Evaluation:
    """Scores of all systems on all test sets."""

    config: ScoringConfig
    sets: tuple[SetResult, ...]
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation for JSON, without the translations."""
        record = asdict(self)
        for result in record["sets"]:
            for system in result["systems"]:
                del system["translations"]
        return record


def evaluate(
    systems: Sequence[ScoredSystem],
    sets: Sequence[ReferenceSet],
    config: ScoringConfig | None = None,
    *,
    quiet: bool = True,
) -> Evaluation:
    """Score each system on each test set; with two or more, compare all with the first."""
    config = config or ScoringConfig()
    _check(systems, sets, config)
    with Progress(quiet=quiet) as progress:
        results = tuple(_evaluate_set(systems, references, config, progress) for references in sets)
    versions = {"maskpredict": maskpredict.__version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("sacrebleu", "onnxruntime", "torch") if find_spec(name) is not None}
    return Evaluation(config, results, versions)


def _check(systems: Sequence[ScoredSystem], sets: Sequence[ReferenceSet], config: ScoringConfig) -> None:
    """Refuse mistakes before the first sentence is translated."""
    if not systems or not sets:
        raise UserError("there is nothing to score; give a model or a file of translations, and a test set.")
    names = [system.name for system in systems]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems are called {name}; write NAME=... to tell them apart.")
    for references in sets:
        for system in systems:
            system.check(references)
        for metric in find_metrics(config.metrics):
            metric.build(references.target_language)  # its tokenizer may not be installed
        if config.comet_command:
            check_command(config.comet_command, has_source=references.source is not None)


def _evaluate_set(
    systems: Sequence[ScoredSystem], references: ReferenceSet, config: ScoringConfig, progress: Progress
) -> SetResult:
    outputs = {system.name: system.output(references, progress) for system in systems}
    task = progress.task(f"Scoring {references.name}", total=len(systems))
    results = []
    for name, output in outputs.items():
        scores = _scores(output, references, config)
        results.append(SystemResult(name, output.origin, output.seconds, scores, output.texts))
        task.advance()
    task.finish()
    return SetResult(
        name=references.name,
        sentences=len(references),
        references=len(references.references),
        target_language=references.target_language,
        systems=tuple(results),
        comparison=_comparison(outputs, references, config) if config.paired_test and len(systems) > 1 else None,
    )


def _scores(output: SystemOutput, references: ReferenceSet, config: ScoringConfig) -> tuple[MetricScore, ...]:
    corpus = score_corpus(
        normalize(output.texts, config.normalize),
        _normalized(references, config),
        metrics=config.metrics,
        target_language=references.target_language,
        confidence=config.confidence,
    )
    scores = [replace(score, signature=_signed(score.signature, config)) for score in corpus.scores]
    if config.comet_command:
        sources = references.source.texts if references.source else None
        scores.append(comet_score(config.comet_command, output.texts, references.references[0].texts, sources))
    return tuple(scores)


def _comparison(outputs: Mapping[str, SystemOutput], references: ReferenceSet, config: ScoringConfig) -> Comparison:
    compared = compare_systems(
        {name: normalize(output.texts, config.normalize) for name, output in outputs.items()},
        _normalized(references, config),
        metrics=config.metrics,
        target_language=references.target_language,
        test=config.paired_test,
    )
    signatures = {name: _signed(signature, config) for name, signature in compared.signatures.items()}
    return replace(compared, signatures=signatures)


def _normalized(references: ReferenceSet, config: ScoringConfig) -> list[list[str]]:
    return [normalize(lines.texts, config.normalize) for lines in references.references]


def _signed(signature: str, config: ScoringConfig) -> str:
    return f"{signature}|normalize:{config.normalize}" if config.normalize else signature
