"""Folders of results, made of numbers alone: the paper's own, or any others in their shape."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.finding import Finding, Setup, write_finding
from maskpredict.paper.models import ModelFacts
from maskpredict.paper.report.published_numbers import paper_results

SETUP = Setup(
    source_language="en",
    target_language="de",
    split="test.news",
    sentences=3003,
    signature="nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
    device="cpu (1 thread)",
    compute_type="float32",
    models=(ModelFacts("model", "cmlm", "512/2048", 61_000_000),),
    versions={"maskpredict": "0.1.0", "python": "3.11.1", "sacrebleu": "2.6.0", "torch": "2.13.0"},
)


def write_results(folder: Path, results: dict[str, Any]) -> Path:
    """Results by name of the analysis, as `analyze` leaves them."""
    for name, result in results.items():
        write_finding(folder, Finding(ANALYSES[name], SETUP, result))
    return folder


@pytest.fixture(scope="session")
def of_the_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paper's own numbers as results; copy them before writing there."""
    results = {name: own.result for name, own in paper_results("en", "de").items()}
    return write_results(tmp_path_factory.mktemp("paper"), results)


@pytest.fixture
def make_results(of_the_paper: Path, tmp_path: Path) -> Callable[..., Path]:
    """A folder of results; of the paper's own if none are given."""

    def make(results: dict[str, Any] | None = None) -> Path:
        if results is None:
            return Path(shutil.copytree(of_the_paper, tmp_path / "results"))
        return write_results(tmp_path / "results", results)

    return make
