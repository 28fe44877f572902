"""Model folders by name or path."""

from __future__ import annotations

from pathlib import Path

import maskpredict
from maskpredict.errors import UserError
from maskpredict.model.folder import is_model_folder

SHIPPED = Path(maskpredict.__file__).parent / "models"
"""Models that come with the package."""
CHECKOUT = Path(maskpredict.__file__).parents[2] / "models"
"""Larger models, beside the package in a checkout of the repository."""


def find_model(model: str | Path) -> Path:
    """Return the folder of a known model by its name, of a model by its path, or of the model in a run folder."""
    path = Path(model)
    if path.is_dir() and not is_model_folder(path) and is_model_folder(path / "model"):
        return path / "model"
    if path.exists():
        return path
    for folder in (SHIPPED, CHECKOUT):
        if is_model_folder(folder / path):
            return folder / path
    if names := shipped_models() + _names(CHECKOUT):
        raise UserError(f"there is no model folder {model}; models known by name are {', '.join(names)}.")
    return path


def shipped_models() -> list[str]:
    """Return the names of the models that come with the package."""
    return _names(SHIPPED)


def _names(folder: Path) -> list[str]:
    return sorted(model.name for model in folder.glob("*") if is_model_folder(model))
