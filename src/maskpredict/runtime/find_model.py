"""Model folders by name or path."""

from __future__ import annotations

from pathlib import Path

import maskpredict
from maskpredict.errors import UserError
from maskpredict.model.folder import is_model_folder

SHIPPED = Path(maskpredict.__file__).parent / "models"


def find_model(model: str | Path) -> Path:
    """Return the folder of a shipped model by its name, of a model by its path, or of the model in a run folder."""
    path = Path(model)
    if not path.exists() and is_model_folder(SHIPPED / path):
        return SHIPPED / path
    if path.is_dir() and not is_model_folder(path) and is_model_folder(path / "model"):
        return path / "model"
    if not path.exists() and shipped_models():
        raise UserError(
            f"there is no model folder {model}; those that come with the package are {', '.join(shipped_models())}."
        )
    return path


def shipped_models() -> list[str]:
    """Return the names of the models that come with the package."""
    return sorted(folder.name for folder in SHIPPED.glob("*") if is_model_folder(folder))
