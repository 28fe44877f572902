"""Checkpoints of fairseq and its relatives, read without running anything that is in them.

Such a file is a pickle, and a pickle can call any function when it is opened. Only tensors, plain containers and
`argparse.Namespace`, a bag of values, are let through. The stopwatches and averages that fairseq of 2019 left in its
checkpoints are read as nothing at all: not their class is used, but an empty one of ours.
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

PREFERRED = ("checkpoint_best_average.pt", "checkpoint_best.pt", "checkpoint_last.pt")
"""Names that are looked for in a folder, in this order, before any other `.pt` file."""


class _Placeholder:
    """What is left of an object that is of no use here."""

    def __new__(cls, *_: object) -> _Placeholder:
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Its content is dropped."""


_ALLOWED: list[Any] = [
    argparse.Namespace,
    *((_Placeholder, f"fairseq.meters.{name}") for name in ("AverageMeter", "TimeMeter", "StopwatchMeter")),
]
"""Classes that are let through, or by which others are replaced; never a function."""

_FORBIDDEN = re.compile(r"GLOBAL ([\w.]+)")
"""Where PyTorch's complaint names the class or function that it did not let through."""


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds."""

    path: Path
    settings: Mapping[str, Any]
    """How the model was built and trained, by the names of the command-line options it was trained with."""
    tensors: dict[str, Tensor]

    @property
    def architecture(self) -> str:
        """Name of the model's architecture."""
        return str(self.settings.get("arch"))


def find_checkpoint(folder: Path) -> Path | None:
    """The checkpoint in a folder; of several, the one that its name says is the best."""
    named = [folder / name for name in PREFERRED if (folder / name).is_file()]
    return next(iter([*named, *sorted(folder.glob("*.pt"))]), None)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, or say in one sentence why it cannot be used."""
    content = _unpickled(path)
    model = content.get("model") if isinstance(content, dict) else None
    settings = _settings(content) if isinstance(content, dict) else {}
    if not isinstance(model, dict) or not settings:
        raise UserError(f"{path} is not a checkpoint of fairseq: it lacks the model's settings or its weights.")
    tensors = {str(name): tensor for name, tensor in model.items() if isinstance(tensor, Tensor)}
    return Checkpoint(path, settings, tensors)


def _unpickled(path: Path) -> Any:
    try:
        with torch.serialization.safe_globals(_ALLOWED):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from error
    except Exception as error:  # a damaged pickle can fail in any way there is
        if forbidden := _FORBIDDEN.search(str(error)):
            raise UserError(
                f"{path} holds more than weights and settings ({forbidden[1]}), which could run code, so it is "
                "refused; where you trust it, save its weights and settings alone (docs/interchange.md says how)."
            ) from error
        raise UserError(f"{path} is damaged or not a checkpoint; copy it again.") from error


def _settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """`args` as older versions write it, or the parts of `cfg` that newer ones do."""
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
