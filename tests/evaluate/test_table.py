"""The table of an evaluation, as it is printed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from maskpredict.evaluate.run import Evaluation, ScoringConfig, SetResult, SystemResult
from maskpredict.evaluate.scores import Interval, MetricScore
from maskpredict.evaluate.significance import Comparison, Difference
from maskpredict.evaluate.table import render


def score(metric: str, title: str, value: float, plus_minus: float | None = None) -> MetricScore:
    interval = None if plus_minus is None else Interval(value, plus_minus)
    return MetricScore(metric, title, value, f"signature of {metric}", interval)


def system(name: str, *scores: MetricScore, seconds: float | None = None) -> SystemResult:
    return SystemResult(name, {}, seconds, scores, [])


def printed(*sets: SetResult, width: int = 80) -> str:
    """The tables on a terminal of this width, without the blanks at the ends of lines."""
    console = Console(file=io.StringIO(), width=width)
    console.print(render(Evaluation(ScoringConfig(), sets, {})), crop=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_a_file_without_intervals_has_a_plain_table() -> None:
    scores = score("ter", "TER", 45.678), score("chrf", "chrF2++", 50.0)
    assert printed(SetResult("ref.txt", 1234, 1, "de", (system("mine", *scores),), None)) == (
        "ref.txt: 1,234 sentences\n"
        "┏━━━━━━━━┳━━━━━━━┳━━━━━━━━━━━┓\n"
        "┃ system ┃ TER ↓ ┃ chrF2++ ↑ ┃\n"
        "┡━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━┩\n"
        "│ mine   │ 45.68 │     50.00 │\n"
        "└────────┴───────┴───────────┘\n"
        "TER: signature of ter\n"
        "chrF2++: signature of chrf"
    )


def test_systems_are_shown_with_intervals_p_values_and_times() -> None:
    systems = (
        system("mine", score("bleu", "BLEU", 30.123, 1.255), score("comet", "COMET", 0.81234), seconds=12.34),
        system("a file", score("bleu", "BLEU", 9.0, 0.5), score("comet", "COMET", 0.7)),
    )
    comparison = Comparison("mine", "bootstrap", 1000, (Difference("a file", "bleu", -21.1, 0.00123),), {})
    assert printed(SetResult("test", 50, 2, "", systems, comparison)) == (
        "test: 50 sentences, 2 references\n"
        "┏━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃ system ┃       BLEU ↑ ┃ COMET ↑ ┃ seconds ┃\n"
        "┡━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ mine   │ 30.12 ± 1.25 │  0.8123 │    12.3 │\n"
        "│ a file │  9.00 ± 0.50 │  0.7000 │       - │\n"
        "│        │   p = 0.0012 │         │         │\n"
        "└────────┴──────────────┴─────────┴─────────┘\n"
        "BLEU: signature of bleu\n"
        "COMET: signature of comet\n"
        "± is half the 95% confidence interval. p against mine: paired bootstrap, 1,000\n"
        "samples."
    )


def test_explanations_are_dim_on_a_terminal() -> None:
    result = SetResult("test", 50, 1, "", (system("mine", score("bleu", "BLEU", 30.0, 1.0)),), None)
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(render(Evaluation(ScoringConfig(), (result,), {})))
    assert isinstance(console.file, io.StringIO)
    assert "\x1b[2m± is half the 95% confidence interval." in console.file.getvalue()


def test_several_test_sets_stand_one_below_the_other() -> None:
    sets = [SetResult(name, 1, 1, "", (system("mine", score("bleu", "BLEU", 1.0)),), None) for name in ("a", "b")]
    lines = printed(*sets).splitlines()
    assert [line for line in lines if "sentences" in line] == ["a: 1 sentences", "b: 1 sentences"]


@pytest.mark.parametrize("name", ["[bold]mine[/bold]", "x" * 60])
def test_names_are_printed_as_they_are(name: str) -> None:
    result = SetResult(name, 1, 1, "", (system(name, score("bleu", "BLEU", 1.0)),), None)
    shown = printed(result, width=50)
    assert shown.replace("\n", "").startswith(f"{name}: 1 sentences")
    cells = "".join(line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│"))
    assert cells == name


def test_a_signature_stays_on_one_line_in_a_narrow_terminal() -> None:
    long = MetricScore("bleu", "BLEU", 1.0, "signature " * 20 + "end")
    result = SetResult("ref", 1, 1, "", (system("mine", long),), None)
    assert f"BLEU: {long.signature}" in printed(result, width=30).splitlines()
