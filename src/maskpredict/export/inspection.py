"""`maskpredict inspect` for exported folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maskpredict.export import browser_folder, ctranslate2_folder, onnx_graphs, transformers_folder
from maskpredict.export.writing import SIGNATURE_FILE, SIGNATURE_VERSION, file_sizes
from maskpredict.model.folder import CARD_FILE
from maskpredict.runtime.inspection import Inspection, inspect_folder
from maskpredict.systems.cmlm import CMLM

_AGAIN = "export the model again"


def inspect_export(folder: Path) -> Inspection | None:
    """Describe an exported folder and its problems; None for any other folder."""
    path = folder / SIGNATURE_FILE
    if not path.is_file():
        return None
    facts: dict[str, str] = {}
    try:
        signature = json.loads(path.read_text(encoding="utf-8"))
        if signature["format_version"] > SIGNATURE_VERSION:
            return Inspection(folder, "exported model", facts, [f"{path} is of a newer version; upgrade maskpredict."])
        problems = _describe(folder, signature, facts)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return Inspection(folder, "exported model", facts, [f"{path} is damaged; {_AGAIN}."])
    return Inspection(folder, f"{signature['format']} folder", facts, problems)


def _describe(folder: Path, signature: dict[str, Any], facts: dict[str, str]) -> list[str]:
    """Fill in the facts; returns the problems."""
    files = file_sizes(folder)
    what, command = _purpose(signature["format"], signature["system"], folder)
    facts["what it is"] = what
    facts["model"] = f"{signature['system']} with {signature['parameters']:,} parameters"
    if title := _card_title(folder):
        facts["model card"] = title
    facts["languages"] = f"{signature['languages']['source']} to {signature['languages']['target']}"
    facts["precision"] = signature["precision"]
    facts["size"] = f"{sum(files.values()):,} bytes in {len(files):,} files"
    facts["written by"] = f"maskpredict {signature['maskpredict']}"
    facts["what to do"] = command
    problems = _differences(signature["files"], files)
    if signature["format"] == transformers_folder.FORMAT.name and not problems:
        problems = inspect_folder(folder).problems  # it is also a model folder
    return problems


def _purpose(form: str, system: str, folder: Path) -> tuple[str, str]:
    """Description of a folder of this format, and a command that uses it."""
    match form:
        case ctranslate2_folder.FORMAT.name:
            use = f"import ctranslate2; print(ctranslate2.Translator({str(folder)!r}).translate_batch([['▁Hallo']]))"
            return "a model for CTranslate2, which does the decoding", f'python -c "{use}"'
        case onnx_graphs.FORMAT.name if system == CMLM.name:
            example = f"python examples/onnx_mask_predict.py {folder} 4 1 < sources.txt"
            return "encoder and decoder as ONNX graphs, without the loop around them", example
        case onnx_graphs.FORMAT.name if system == "alignment":
            example = f"python examples/onnx_alignment.py {folder} < sources.txt"
            return "encoder and decoder as ONNX graphs, without the loop around them", example
        case onnx_graphs.FORMAT.name:
            use = f"import onnxruntime; onnxruntime.InferenceSession('{folder}/encoder.onnx')"
            return "encoder and decoder as ONNX graphs, without the loop around them", f'python -c "{use}"'
        case transformers_folder.FORMAT.name:
            command = f"maskpredict translate -m {folder}"
            return "a model for Hugging Face's transformers that stays a model folder of ours", command
        case browser_folder.FORMAT.name:
            command = f"python -m http.server --directory {folder} 8000"
            return "a web page that translates by itself in the browser", f"{command}, then open http://localhost:8000"
    raise ValueError(form)


def _card_title(folder: Path) -> str:
    card = folder / CARD_FILE
    lines = card.read_text(encoding="utf-8").splitlines() if card.is_file() else []
    return next((line.lstrip("# ") for line in lines if line.startswith("#")), "")


def _differences(expected: dict[str, int], actual: dict[str, int]) -> list[str]:
    missing = [f"{name} is missing; {_AGAIN}." for name in expected if name not in actual]
    changed = [
        f"{name} has {actual[name]:,} bytes instead of {size:,}; unless you edited it, {_AGAIN}."
        for name, size in expected.items()
        if actual.get(name, size) != size
    ]
    return missing + changed
