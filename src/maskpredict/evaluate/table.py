"""An evaluation as text: a table for each test set, with the signatures below."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskpredict.evaluate.metrics import METRICS
from maskpredict.evaluate.run import Evaluation, SetResult
from maskpredict.evaluate.scores import MetricScore


def render(evaluation: Evaluation) -> Group:
    """Tables of all test sets."""
    return Group(*(part for result in evaluation.sets for part in _render_set(result)))


def _render_set(result: SetResult) -> list[RenderableType]:
    first = result.systems[0]
    table = Table(title=_title(result), title_justify="left")
    table.add_column("system", overflow="fold")
    for score in first.scores:
        table.add_column(f"{score.title} {_arrow(score)}", justify="right")
    timed = any(system.seconds is not None for system in result.systems)
    if timed:
        table.add_column("seconds", justify="right")
    for system in result.systems:
        cells = [_cell(score, _p_value(result, system.name, score.metric)) for score in system.scores]
        seconds = "-" if system.seconds is None else f"{system.seconds:.1f}"
        table.add_row(Text(system.name), *cells, *([seconds] if timed else []))
    return [table, *map(_signature, first.scores), *_explanations(result)]


def _signature(score: MetricScore) -> Text:
    """A signature on one line, even in a narrow terminal, so that it can be copied. Print with `crop=False`."""
    return Text(f"{score.title}: {score.signature}", no_wrap=True, overflow="ignore")


def _title(result: SetResult) -> Text:
    references = "" if result.references == 1 else f", {result.references} references"
    return Text(f"{result.name}: {result.sentences:,} sentences{references}")


def _arrow(score: MetricScore) -> str:
    better = METRICS[score.metric].higher_is_better if score.metric in METRICS else True
    return "↑" if better else "↓"


def _cell(score: MetricScore, p_value: float | None) -> str:
    # Scores from 0 to 100 have two decimals, those of COMET from 0 to 1 have four.
    text = f"{score.score:.2f}" if score.metric in METRICS else f"{score.score:.4f}"
    if score.confidence is not None:
        text += f" ± {score.confidence.plus_minus:.2f}"
    if p_value is not None:
        text += f"\np = {p_value:.4f}"
    return text


def _p_value(result: SetResult, system: str, metric: str) -> float | None:
    if result.comparison is None:
        return None
    differences = result.comparison.differences
    return next((d.p_value for d in differences if (d.system, d.metric) == (system, metric)), None)


def _explanations(result: SetResult) -> list[Text]:
    lines = []
    if any(score.confidence for system in result.systems for score in system.scores):
        lines.append("± is half the 95% confidence interval.")
    if (paired := result.comparison) is not None:
        lines.append(f"p against {paired.baseline}: paired {paired.test}, {paired.samples:,} samples.")
    return [Text(" ".join(lines), style="dim")] if lines else []
