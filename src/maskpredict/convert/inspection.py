"""`maskpredict inspect` for folders with a foreign checkpoint."""

from __future__ import annotations

from pathlib import Path

from maskpredict.convert.checkpoint import find_checkpoint, read_checkpoint
from maskpredict.convert.importing import convert, family_of
from maskpredict.convert.layers import languages_setting
from maskpredict.errors import UserError
from maskpredict.model.folder import is_model_folder
from maskpredict.model.stored_weights import parameter_count
from maskpredict.runtime.inspection import Inspection


def inspect_checkpoint(folder: Path) -> Inspection | None:
    """Describe a folder with a foreign checkpoint, and whether it can be imported; None for any other folder."""
    path = None if is_model_folder(folder) else find_checkpoint(folder)
    if path is None:
        return None
    facts = {"checkpoint": path.name}
    try:
        _describe(path, facts)
        problems = []
    except UserError as error:
        problems = [str(error)]
    return Inspection(folder, "foreign model", facts, problems)


def _describe(path: Path, facts: dict[str, str]) -> None:
    checkpoint = read_checkpoint(path)
    facts["architecture"] = checkpoint.architecture
    family = family_of(checkpoint)
    if family is None:
        raise UserError(f"the architecture '{checkpoint.architecture}' cannot be imported.")
    facts["what it is"] = family.description
    facts["languages"] = " to ".join(languages_setting(checkpoint.settings, path))
    contents = convert(checkpoint, family)
    facts["parameters"] = f"{parameter_count(contents.weights):,}"
    facts["what to do"] = f"maskpredict import {family.name} {path.parent} OUT [--bpe-codes FILE]"
