"""Safe reading of checkpoints of fairseq and its relatives.

Such a file is a pickle, which can call any function when it is loaded. Only tensors, plain containers and
`argparse.Namespace` are allowed. The meter objects that fairseq of 2019 saved in its checkpoints are replaced by an
empty class of ours.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from maskpredict.errors import UserError

MAX_GROWTH = 8
"""Numbers in all tensors for each byte of the file; whole checkpoints have less than one."""
PREFERRED = ("checkpoint_best_average.pt", "checkpoint_best.pt", "checkpoint_last.pt")
"""File names in order of preference, before any other `.pt` file."""


class _Placeholder:
    """Replaces an unpickled object that is not needed."""

    def __new__(cls, *_: object) -> _Placeholder:
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Discard the content."""


_ALLOWED: list[Any] = [
    argparse.Namespace,
    *((_Placeholder, f"fairseq.meters.{name}") for name in ("AverageMeter", "TimeMeter", "StopwatchMeter")),
]
"""Allowed classes, and replacements of classes; never functions."""

_FORBIDDEN = re.compile(r"GLOBAL ([\w.]+)")
"""Name of the refused class or function in PyTorch's error message."""


@dataclass(frozen=True)
class Checkpoint:
    """Content of a checkpoint file."""

    path: Path
    settings: Mapping[str, Any]
    """Settings of the model and its training, by name of the command-line option."""
    tensors: dict[str, Tensor]

    @property
    def architecture(self) -> str:
        """Name of the model's architecture."""
        return str(self.settings.get("arch"))


def find_checkpoint(folder: Path) -> Path | None:
    """Path of the checkpoint in a folder, the best by name if there are several; None if there is none."""
    named = [folder / name for name in PREFERRED if (folder / name).is_file()]
    return next(iter([*named, *sorted(folder.glob("*.pt"))]), None)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; raises `UserError` if it cannot be used."""
    content = _unpickled(path)
    model = content.get("model") if isinstance(content, dict) else None
    settings = _settings(content) if isinstance(content, dict) else {}
    if not isinstance(model, dict) or not settings:
        raise UserError(f"{path} is not a checkpoint of fairseq: it lacks the model's settings or its weights.")
    tensors = {str(name): tensor for name, tensor in model.items() if isinstance(tensor, Tensor)}
    # A tensor can repeat a few numbers of the file without end, and would take memory as soon as it is changed.
    if sum(tensor.numel() for tensor in tensors.values()) > MAX_GROWTH * path.stat().st_size:
        raise UserError(f"{path} is damaged: it has fewer numbers than its tensors would need; copy it again.")
    return Checkpoint(path, settings, tensors)


def _unpickled(path: Path) -> Any:
    try:
        with torch.serialization.safe_globals(_ALLOWED):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error
    except Exception as error:  # a damaged pickle can raise anything
        if forbidden := _FORBIDDEN.search(str(error)):
            raise UserError(
                f"{path} holds more than weights and settings ({forbidden[1]}), which could run code, so it is "
                "refused; if you trust it, save only its weights and settings (docs/interchange.md shows how)."
            ) from error
        raise UserError(f"{path} is damaged or not a checkpoint; copy it again.") from error


def _settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """Settings from `args` of older versions, or from `cfg` of newer ones."""
    if args := _values(content.get("args")):
        return args
    parts = _values(content.get("cfg"))
    model = _values(parts.get("model"))
    name = {"arch": model["_name"]} if "_name" in model else {}
    return {**_values(parts.get("task")), **name, **model}


def _values(holder: Any) -> dict[str, Any]:
    if isinstance(holder, argparse.Namespace):
        return dict(vars(holder))
    return dict(holder) if isinstance(holder, dict) else {}
