"""Model folders by name, path, or reference to the hub."""

from __future__ import annotations

from pathlib import Path

import maskpredict
from maskpredict.errors import UserError
from maskpredict.model.folder import is_model_folder
from maskpredict.runtime import hub

SHIPPED = Path(maskpredict.__file__).parent / "models"
"""Models that come with the package."""
CHECKOUT = Path(maskpredict.__file__).parents[2] / "models"
"""Larger models, beside the package in a checkout of the repository."""
DEFAULTS = ("de-en-shallow", "en-de")
"""One model a direction, for the demonstration and `serve`; a wheel has these alone, a checkout also others."""


def find_model(model: str | Path) -> Path:
    """Return the folder of a known model by its name, of one of the hub, of a path, or of the model in a run folder."""
    path = Path(model)
    if path.is_dir() and not is_model_folder(path) and is_model_folder(path / "model"):
        return path / "model"
    if path.exists():
        return path
    if path.as_posix().startswith(hub.PREFIX):
        return hub.fetch(path.as_posix())
    for folder in (SHIPPED, CHECKOUT):
        if is_model_folder(folder / path):
            return folder / path
    if names := shipped_models() + checkout_models():
        raise UserError(
            f"there is no model folder {model}; models known by name here are {', '.join(names)}, a checkout of the "
            "repository may have more, and hf:owner/name is one of the Hugging Face hub."
        )
    return path


def shipped_models() -> list[str]:
    """Return the names of the models that come with the package."""
    return _names(SHIPPED)


def default_models() -> list[str]:
    """Return those of `DEFAULTS` that came with this copy of the package."""
    return [name for name in DEFAULTS if is_model_folder(SHIPPED / name)]


def checkout_models() -> list[str]:
    """Return the names of the larger models of a checkout; none in an installed package."""
    return _names(CHECKOUT)


def _names(folder: Path) -> list[str]:
    return sorted(model.name for model in folder.glob("*") if is_model_folder(model))
