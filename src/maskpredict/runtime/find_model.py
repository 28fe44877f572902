"""Where a model lies and where it computes: a shipped name or a path, and a device."""

from __future__ import annotations

from pathlib import Path

import torch

import maskpredict
from maskpredict.errors import UserError
from maskpredict.model.folder import is_model_folder

SHIPPED = Path(maskpredict.__file__).parent / "models"


def find_model(model: str | Path) -> Path:
    """The folder of a shipped model by its name, of a model by its path, or of the model in a run folder."""
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
    """Names of the models that come with the package."""
    return sorted(folder.name for folder in SHIPPED.glob("*") if is_model_folder(folder))


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"the device {name!r} cannot be used here; choose auto, cpu or cuda.") from error
    return device
