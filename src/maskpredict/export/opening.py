"""What every export does first and last: find model and packages, make a folder that is whole or not there, sign it.

The signature, export.json, says what a folder is and which files it must have; `recognition.py` reads it.
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
from maskpredict.new_folder import new_folder
from maskpredict.runtime.find_model import find_model

SIGNATURE_FILE = "export.json"
SIGNATURE_VERSION = 1


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    files: dict[str, int]
    """Sizes in bytes by name; a folder counts as one, with all that is in it."""

    @classmethod
    def of(cls, folder: Path) -> Exported:
        """The files of a folder that is finished."""
        files: dict[str, int] = {}
        for name, size in sizes(folder).items():
            top = name.split("/")[0]
            files[top] = files.get(top, 0) + size
        return cls(folder, files)


@dataclass(frozen=True)
class Format:
    """What may be asked of an export, and what it asks."""

    name: str
    precisions: tuple[str, ...]
    marker: str
    """A file that every folder of this format has."""
    packages: tuple[str, ...] = ()
    """What it needs that an ordinary installation does not have."""


@contextmanager
def leaving(
    form: Format, model: str | Path | ModelFolder, out: Path, *, precision: str, overwrite: bool
) -> Iterator[tuple[ModelFolder, Path]]:
    """The model to export, and the folder to fill, which becomes `out` when the block ends well."""
    if precision not in form.precisions:
        raise UserError(f"{form.name} exports have no {precision}; choose one of {', '.join(form.precisions)}.")
    require("export", f"an export to {form.name}", form.packages)
    contents = model if isinstance(model, ModelFolder) else ModelFolder.read(find_model(model))
    with new_folder(out, overwrite=overwrite, marker=form.marker) as partial:
        yield contents, partial
        _sign(partial, form, contents, precision)


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file below a folder, by path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _sign(folder: Path, form: Format, contents: ModelFolder, precision: str) -> None:
    signature = {
        "format_version": SIGNATURE_VERSION,
        "format": form.name,
        "maskpredict": __version__,
        "system": contents.system,
        "languages": asdict(contents.languages),
        "parameters": sum(weight.numel() for weight in contents.weights.values()),
        "precision": precision,
        # The model card is there to be edited.
        "files": {name: size for name, size in sizes(folder).items() if name != CARD_FILE},
    }
    (folder / SIGNATURE_FILE).write_text(json.dumps(signature, indent=2) + "\n", encoding="utf-8")
