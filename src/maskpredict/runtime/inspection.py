"""Facts about a model, run or data folder, and its problems, found without running a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from maskpredict.config import dump_config
from maskpredict.corpus.dataset import DESCRIPTION_FILE, Dataset
from maskpredict.errors import UserError
from maskpredict.model.folder import WEIGHTS_FILE, ModelFolder, is_model_folder
from maskpredict.model.stored_weights import parameter_count
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.settings import resolve_settings
from maskpredict.yaml_dialect import inline_yaml

_METRICS_FILE, _RUN_CONFIG_FILE = "metrics.jsonl", "config.yaml"


@dataclass(frozen=True)
class Inspection:
    """Facts about a folder, and its problems."""

    folder: Path
    kind: str
    """Model, run or data folder."""
    facts: dict[str, str]
    """Descriptions by name."""
    problems: list[str]
    """Problems, one sentence each."""


def inspect_folder(folder: Path) -> Inspection:
    """Inspect a model, run or data folder; raise a `UserError` for any other."""
    if not folder.exists():
        folder = find_model(folder)
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name a model, run or data folder.")
    if (folder / DESCRIPTION_FILE).exists():
        return _checked(folder, "data folder", _data)
    if is_model_folder(folder):
        return _checked(folder, "model folder", _model)
    if (folder / _RUN_CONFIG_FILE).exists():
        return _checked(folder, "run folder", _run)
    raise UserError(
        f"{folder} is no model, run, data or exported folder: it has no config.json, config.yaml, dataset.json or "
        "export.json."
    )


def render(inspection: Inspection) -> Table:
    """Return the facts as a table."""
    table = Table(title=f"{inspection.folder} ({inspection.kind})", show_header=False, title_justify="left")
    for name, value in inspection.facts.items():
        table.add_row(name, value)
    table.add_row("whole", "no" if inspection.problems else "yes")
    return table


def _checked(folder: Path, kind: str, look: Callable[[Path, dict[str, str]], list[str]]) -> Inspection:
    """Collect facts with `look`; a `UserError` that stops it is a problem of the folder."""
    facts: dict[str, str] = {}
    try:
        problems = look(folder, facts)
    except UserError as error:
        problems = [str(error)]
    return Inspection(folder, kind, facts, problems)


def _model(folder: Path, facts: dict[str, str]) -> list[str]:
    contents = ModelFolder.read(folder)
    source, target = contents.tokenizers.source, contents.tokenizers.target
    facts["system"] = contents.system
    facts["languages"] = f"{contents.languages.source} to {contents.languages.target}"
    facts["vocabulary"] = _sizes(source.vocab_size, target.vocab_size, contents.tokenizers.joint)
    facts["parameters"] = f"{parameter_count(contents.weights):,}"
    facts["weights file"] = f"{(folder / WEIGHTS_FILE).stat().st_size:,} bytes"
    if contents.shortlist is not None:
        facts["shortlist"] = f"up to {contents.shortlist.translations_VK.shape[1]} translations of a source subword"
    if contents.training is not None:
        facts["training"] = _without_comments(dump_config(contents.training))
    facts["architecture"] = _without_comments(dump_config(contents.config))
    contents.check_weights()
    facts["decoding"] = _without_comments(dump_config(resolve_settings(contents.system, contents.generation, {})))
    declared = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("vocab_size")
    actual = {"source": source.vocab_size, "target": target.vocab_size}
    if declared != actual:
        return [f"config.json speaks of a vocabulary of {declared}, the tokenizer has {actual}."]
    return []


def _data(folder: Path, facts: dict[str, str]) -> list[str]:
    dataset = Dataset(folder)
    description = dataset.description
    facts["languages"] = f"{dataset.languages.source} to {dataset.languages.target}"
    sizes = description.vocab_size
    facts["vocabulary"] = _sizes(sizes.source, sizes.target, description.joint_vocabulary)
    for name, split in description.splits.items():
        facts[name] = f"{split.pairs:,} pairs: {', '.join(part.name for part in split.corpora)}"
    return dataset.check()


def _run(folder: Path, facts: dict[str, str]) -> list[str]:
    facts["config"] = _without_comments((folder / _RUN_CONFIG_FILE).read_text(encoding="utf-8"))
    facts["checkpoints"] = ", ".join(_names(folder / "checkpoints")) or "none"
    for best in sorted(folder.glob("best-*")):
        facts[best.name] = ", ".join(_names(best)) or "none"
    problems: list[str] = []
    last = _last_record(folder / _METRICS_FILE, problems)
    if last:
        facts["last record"] = last
    if (folder / "model").is_dir():
        model = _checked(folder / "model", "model folder", _model)
        facts["model"] = f"finished, {model.facts.get('parameters', 'unknown')} parameters"
        problems += model.problems
    else:
        facts["model"] = "not finished; the same `train` command continues"
    return problems


def _last_record(path: Path, problems: list[str]) -> str:
    if not path.exists():
        return ""
    last = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            last = inline_yaml(json.loads(line)).strip("{}")
        except ValueError:
            problems.append(f"line {number} of {path} is not JSON; delete that line.")
    return last


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []


def _sizes(source: int, target: int, joint: bool) -> str:
    return f"{source:,} subwords, joint" if joint else f"{source:,} and {target:,} subwords"


def _without_comments(yaml: str) -> str:
    return "\n".join(line.split("  #")[0] for line in yaml.splitlines())
