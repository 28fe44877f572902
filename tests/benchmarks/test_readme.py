"""benchmarks/README.md lists every script and every result, and nothing that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
README = (BENCHMARKS / "README.md").read_text(encoding="utf-8")


def test_every_script_is_listed_with_its_command() -> None:
    scripts = {path.name for path in BENCHMARKS.glob("*.py")}
    assert set(re.findall(r"^\| `(\w+\.py)` \|", README, re.MULTILINE)) == scripts
    assert set(re.findall(r"`python benchmarks/(\w+\.py)", README)) == scripts


def test_every_result_is_listed() -> None:
    _, _, results = README.partition("## Results")
    first_columns = re.findall(r"^\| (`.*?) \|", results, re.MULTILINE)
    names = [name for column in first_columns for name in re.findall(r"`(.+?)`", column)]
    assert set(names) == {path.name for path in (BENCHMARKS / "results").iterdir()}
