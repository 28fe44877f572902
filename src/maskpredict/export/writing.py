"""Common part of all exports: checks options and packages, reads the model, writes the folder atomically and signs it.

The signature, export.json, describes the folder and lists its files; `inspection.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from maskpredict import __version__
from maskpredict.errors import UserError
from maskpredict.extras import require
from maskpredict.model.folder import CARD_FILE, ModelFolder
from maskpredict.model.stored_weights import parameter_count
from maskpredict.new_folder import new_folder
from maskpredict.runtime.find_model import find_model

SIGNATURE_FILE = "export.json"
SIGNATURE_VERSION = 1


@dataclass(frozen=True)
class Exported:
    """Folder and files of a finished export."""

    folder: Path
    files: dict[str, int]
    """Sizes in bytes by name; a subfolder counts as one file."""

    @classmethod
    def of(cls, folder: Path) -> Exported:
        """Description of a finished export."""
        files: dict[str, int] = {}
        for name, size in file_sizes(folder).items():
            top = name.split("/")[0]
            files[top] = files.get(top, 0) + size
        return cls(folder, files)


@dataclass(frozen=True)
class FolderFormat:
    """Options and requirements of an export format."""

    name: str
    precisions: tuple[str, ...]
    marker: str
    """File that every folder of this format contains."""
    packages: tuple[str, ...] = ()
    """Packages that it needs beyond those of a plain installation."""


@contextmanager
def export_folder(
    form: FolderFormat, model: str | Path | ModelFolder, out: Path, *, precision: str, overwrite: bool
) -> Iterator[tuple[ModelFolder, Path]]:
    """Context with the model to export and the folder to fill, which becomes `out` if the block succeeds."""
    if precision not in form.precisions:
        raise UserError(f"{form.name} exports do not support {precision}; choose one of {', '.join(form.precisions)}.")
    require("export", f"an export to {form.name}", form.packages)
    contents = model if isinstance(model, ModelFolder) else ModelFolder.read(find_model(model))
    with new_folder(out, overwrite=overwrite, marker=form.marker) as partial:
        yield contents, partial
        _sign(partial, form, contents, precision)


def file_sizes(folder: Path) -> dict[str, int]:
    """Size in bytes of every file in a folder, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _sign(folder: Path, form: FolderFormat, contents: ModelFolder, precision: str) -> None:
    signature = {
        "format_version": SIGNATURE_VERSION,
        "format": form.name,
        "maskpredict": __version__,
        "system": contents.system,
        "languages": asdict(contents.languages),
        "parameters": parameter_count(contents.weights),
        "precision": precision,
        # Users may edit the model card.
        "files": {name: size for name, size in file_sizes(folder).items() if name != CARD_FILE},
    }
    (folder / SIGNATURE_FILE).write_text(json.dumps(signature, indent=2) + "\n", encoding="utf-8")
