"""Results of an analysis on disk: FOLDER/NAME.json, NAME.md, and NAME.png and NAME.svg if there is a figure."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import maskpredict
from maskpredict.config import from_dict, to_dict
from maskpredict.errors import UserError
from maskpredict.paper import plot
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import measured
from maskpredict.paper.models import MODEL, ModelFacts
from maskpredict.paper.study import Study
from maskpredict.paper.table import markdown
from maskpredict.paper.translations import ComputeEnvironment


@dataclass(frozen=True)
class Setup:
    """Experimental setup: everything besides the analysis that its numbers depend on."""

    source_language: str
    target_language: str
    split: str
    sentences: int
    signature: str
    """sacreBLEU signature of the scores."""
    device: str
    compute_type: str
    models: tuple[ModelFacts, ...]
    versions: dict[str, str]
    command: str = ""
    """Command that makes the results again; empty for results from before it was recorded."""
    switched_off: dict[str, Any] = field(default_factory=dict)
    """Decoding settings that the folder of the analysed model recommends and the paper does not have."""


@dataclass(frozen=True)
class Finding:
    """Result of an analysis, with its experimental setup."""

    analysis: Analysis[Any]
    setup: Setup
    result: Any
    """Instance of `analysis.result`."""

    @property
    def note(self) -> str:
        """Sentence to print below the table; empty if there is none."""
        return self.analysis.note(self.result) if self.analysis.note else ""


def setup_of(study: Study) -> Setup:
    """Experimental setup of a study."""
    languages = study.dataset.languages
    current = ComputeEnvironment(study.models.device_name(), version("torch"))
    environments = sorted(study.environments, key=astuple) or [current]
    return Setup(
        source_language=languages.source,
        target_language=languages.target,
        split=study.split,
        sentences=int(measured(lambda: len(study.references)).value or 0),
        signature=_signature(study),
        device=_joined(environment.device for environment in environments),
        compute_type=study.competitors.compute_type,
        models=study.models.facts(),
        versions={
            "maskpredict": maskpredict.__version__,
            "python": platform.python_version(),
            "sacrebleu": version("sacrebleu"),
            "torch": _joined(environment.torch for environment in environments),
        },
        command=study.command,
        switched_off=study.models.recommended(MODEL),
    )


def _joined(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def _signature(study: Study) -> str:
    try:
        signature = study.score(study.references[:1]).signature
    except UserError:
        return ""
    return f"{signature}|normalize:{study.normalization}" if study.normalization else signature


def write_finding(folder: Path, finding: Finding) -> None:
    """Write all files of a result; the JSON file comes last and atomically, so its presence means they are complete."""
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
    """Saved result of an analysis; None if there is none."""
    path = folder / f"{analysis.name}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Finding(analysis, from_dict(Setup, content["setup"]), from_dict(analysis.result, content["result"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, UserError) as error:
        raise UserError(f"{path} cannot be read as a result of {analysis.name}; run the analysis again.") from error
