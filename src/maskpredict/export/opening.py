"""What every export does first and last: find model and packages, and make a folder that is whole or not there."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.new_folder import new_folder
from maskpredict.runtime.find_model import find_model


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    files: dict[str, int]
    """Sizes in bytes by name."""

    @classmethod
    def of(cls, folder: Path) -> Exported:
        """The files of a folder that is finished."""
        return cls(folder, {path.name: path.stat().st_size for path in sorted(folder.iterdir())})


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
    missing = [package for package in form.packages if importlib.util.find_spec(package) is None]
    if missing:
        raise UserError(f"this export needs {', '.join(missing)}; install it with: pip install 'maskpredict[export]'.")
    contents = model if isinstance(model, ModelFolder) else ModelFolder.read(find_model(model))
    with new_folder(out, overwrite=overwrite, marker=form.marker) as partial:
        yield contents, partial
