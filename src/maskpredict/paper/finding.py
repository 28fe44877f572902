"""What an analysis found, on disk: FOLDER/NAME.json, NAME.md, and NAME.png and NAME.svg where there is a picture."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import maskpredict
from maskpredict.config import from_dict, to_dict
from maskpredict.errors import UserError
from maskpredict.paper import plot
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import measured
from maskpredict.paper.models import ModelFacts
from maskpredict.paper.study import Study
from maskpredict.paper.table import markdown
from maskpredict.paper.translations import ComputeEnvironment


@dataclass(frozen=True)
class Setup:
    """What numbers depend on besides the analysis."""

    source_language: str
    target_language: str
    split: str
    sentences: int
    signature: str
    """sacreBLEU's: what the scores can be compared with."""
    device: str
    compute_type: str
    models: tuple[ModelFacts, ...]
    versions: dict[str, str]


@dataclass(frozen=True)
class Finding:
    """A result, and how it came about."""

    analysis: Analysis[Any]
    setup: Setup
    result: Any
    """Of the type that the analysis says."""

    @property
    def note(self) -> str:
        """A sentence below the table, if there is anything to say."""
        return self.analysis.note(self.result) if self.analysis.note else ""


def setup_of(study: Study) -> Setup:
    """What the numbers of a study depend on."""
    languages = study.dataset.languages
    here = ComputeEnvironment(study.models.device_name(), version("torch"))
    machines = sorted(study.machines, key=astuple) or [here]
    return Setup(
        source_language=languages.source,
        target_language=languages.target,
        split=study.split,
        sentences=int(measured(lambda: len(study.references)).value or 0),
        signature=_signature(study),
        device=_all(machine.device for machine in machines),
        compute_type=study.competitors.compute_type,
        models=study.models.facts(),
        versions={
            "maskpredict": maskpredict.__version__,
            "python": platform.python_version(),
            "sacrebleu": version("sacrebleu"),
            "torch": _all(machine.torch for machine in machines),
        },
    )


def _all(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def _signature(study: Study) -> str:
    try:
        signature = study.score(study.references[:1]).signature
    except UserError:
        return ""
    return f"{signature}|normalize:{study.normalization}" if study.normalization else signature


def write_finding(folder: Path, finding: Finding) -> None:
    """Write all files of a finding; the JSON comes last and whole, so it vouches for the others."""
    folder.mkdir(parents=True, exist_ok=True)
    analysis, stem = finding.analysis, folder / finding.analysis.name
    parts = [f"# {analysis.title}", analysis.about, markdown(analysis.table(finding.result)), finding.note]
    stem.with_suffix(".md").write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")
    draw = analysis.draw
    if draw is not None:
        plot.save(lambda: draw(finding.result), stem)
    content = {"analysis": analysis.name, "setup": to_dict(finding.setup), "result": to_dict(finding.result)}
    partial = folder / f"{analysis.name}.partial"
    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(stem.with_suffix(".json"))


def read_finding(folder: Path, analysis: Analysis[Any]) -> Finding | None:
    """What an analysis found earlier; None if it was not run."""
    path = folder / f"{analysis.name}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Finding(analysis, from_dict(Setup, content["setup"]), from_dict(analysis.result, content["result"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, UserError) as error:
        raise UserError(f"{path} cannot be read as a result of {analysis.name}; run the analysis again.") from error
