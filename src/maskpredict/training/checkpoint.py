"""Checkpoints: the newest, to resume from, and the best, which are averaged into the finished model.

RUN/checkpoints/update-N/   weights, optimizer state and position in the data; the newest two are kept
RUN/best-K/update-N/        weights and validation loss of the best so far

Each has the checksums of its files. A run whose newest checkpoint is damaged resumes from the one before.

No random state is saved: it is a function of the position in the data (see `engine.part_seed`).
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from maskpredict.checksums import verify_file, write_checksums
from maskpredict.disk_errors import DiskError
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.model.folder import WEIGHTS_FILE as MODEL_WEIGHTS_FILE
from maskpredict.model.folder import is_model_folder
from maskpredict.new_folder import new_folder, remove_folder
from maskpredict.training.loader import Position

STATE_FILE, WEIGHTS_FILE, OPTIMIZER_FILE = "state.json", "weights.safetensors", "optimizer.safetensors"
KEPT = 2
"""Checkpoints to resume from: the newest, and one to fall back to."""
_NAME = re.compile(r"update-\d+")
_ADVICE = "delete that checkpoint to continue without it"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunState:
    """Progress of a run."""

    update: int = 0
    """Updates made."""
    position: Position = field(default_factory=Position)
    """Position of the next update."""
    seconds: float = 0.0
    """Time spent in training so far, over all pieces."""
    best_loss: float | None = None
    """Lowest validation loss so far."""
    validations_since_best: int = 0
    forgot_at: int | None = None
    """Updates made when the run was last resumed without its optimizer state."""
    target_tokens: int | None = 0
    """Target tokens seen, padding not counted; None if the run began before they were counted."""
    skipped: int = 0
    """Updates whose loss or gradient was not finite, which changed nothing."""
    skipped_in_a_row: int = 0
    """Skipped updates since the last one that changed the weights."""

    @classmethod
    def read(cls, folder: Path) -> RunState:
        """The state saved in a checkpoint."""
        verify_file(folder / STATE_FILE, _ADVICE)
        try:
            saved = read_json(folder / STATE_FILE)
            return cls(**{"target_tokens": None, **saved, "position": Position(**saved["position"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{folder / STATE_FILE} is damaged; {_ADVICE}.") from error


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint to resume from, in memory."""

    folder: Path
    state: RunState
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor] | None
    """None if the optimizer state was left out, as `maskpredict pack --without-optimizer` does."""

    @classmethod
    def read(cls, folder: Path) -> Checkpoint:
        """Read a checkpoint, or raise a `UserError` if a file of it is damaged."""
        optimizer = folder / OPTIMIZER_FILE
        return cls(
            folder,
            RunState.read(folder),
            load_tensors(folder / WEIGHTS_FILE),
            load_tensors(optimizer) if optimizer.exists() else None,
        )


def save_checkpoint(
    folder: Path, state: RunState, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor]
) -> None:
    """Write a checkpoint to resume from, then remove all but it and the one before."""
    target = folder / f"update-{state.update:08d}"
    remove_folder(target)  # a damaged one, if the run was resumed from one before it
    with new_folder(target, overwrite=False, marker=STATE_FILE) as partial:
        save_file(_plain(weights), partial / WEIGHTS_FILE)
        save_file(_plain(optimizer), partial / OPTIMIZER_FILE)
        (partial / STATE_FILE).write_text(json.dumps(asdict(state), indent=2))
        write_checksums(partial)
    earlier = [path for path in checkpoints(folder) if path.name < target.name]
    _remove_all_but(folder, {target, *earlier[1 - KEPT :]})


def remove_superseded(folder: Path) -> None:
    """Remove old and unfinished checkpoints that a killed process left."""
    _remove_all_but(folder, set(checkpoints(folder)[-KEPT:]))


def newest_checkpoint(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that is intact, or None if there is none at all; a warning names damaged ones."""
    damaged: list[str] = []
    for saved in reversed(checkpoints(folder)):
        try:
            checkpoint = Checkpoint.read(saved)
        except UserError as error:
            damaged.append(str(error))
            continue
        for reason in damaged:
            logger.warning("Resuming from %s, since the newer checkpoint is unusable: %s", saved, reason)
        return checkpoint
    if damaged:
        raise UserError(f"no checkpoint in {folder} is intact ({damaged[0]}); delete that folder to start again.")
    return None


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    return sorted(path.parent for path in folder.glob(f"update-*/{STATE_FILE}") if _NAME.fullmatch(path.parent.name))


def intact(folders: list[Path]) -> list[Path]:
    """The checkpoints that can be read; a warning names the others."""
    usable = []
    for folder in folders:
        try:
            best_loss(folder)
            load_tensors(folder / WEIGHTS_FILE)
        except UserError as error:
            logger.warning("%s is left out of the average: %s", folder, error)
        else:
            usable.append(folder)
    return usable


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint file, or of a model folder's."""
    verify_file(path, _ADVICE)
    try:
        return load_file(path)
    except Exception as error:
        raise UserError(f"{path} is damaged ({error}); {_ADVICE}.") from error


def keep_best(folder: Path, state: RunState, loss: float, weights: Mapping[str, Tensor], count: int) -> None:
    """Keep a checkpoint if its validation loss is finite and among the `count` lowest."""
    target = folder / f"update-{state.update:08d}"
    # A run that was killed after this update, and resumed from before it, finds its earlier checkpoint here.
    others = {path: _loss_or_infinity(path) for path in checkpoints(folder) if path != target}
    worst = max(others.values(), default=math.inf)
    if count < 1 or not math.isfinite(loss) or (len(others) >= count and loss >= worst):
        return
    remove_folder(target)
    with new_folder(target, overwrite=False, marker=STATE_FILE) as partial:
        save_file(_plain(weights), partial / WEIGHTS_FILE)
        (partial / STATE_FILE).write_text(json.dumps({"update": state.update, "loss": loss}, indent=2))
        write_checksums(partial)
    _remove_all_but(folder, {target, *sorted(others, key=lambda path: others[path])[: count - 1]})


def best_loss(folder: Path) -> float:
    """The validation loss of a kept checkpoint."""
    verify_file(folder / STATE_FILE, _ADVICE)
    try:
        return float(read_json(folder / STATE_FILE)["loss"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder / STATE_FILE} is damaged; {_ADVICE}.") from error


def _loss_or_infinity(folder: Path) -> float:
    """The validation loss of a kept checkpoint; infinity if it is damaged, so that it is the first to go."""
    try:
        return best_loss(folder)
    except DiskError:
        raise
    except UserError:
        return math.inf


def _remove_all_but(folder: Path, kept: set[Path]) -> None:
    """Remove all other checkpoints, and what killed processes left of some."""
    for other in folder.glob("update-*"):
        if other not in kept:
            remove_folder(other)


def average_weights(folders: list[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints or model folders."""
    if not folders:
        raise UserError("there is no checkpoint to average; train longer or validate more often.")
    total: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in load_tensors(_weights_file(folder)).items():
            if name in total and total[name].shape != tensor.shape:
                raise UserError(f"{folder} holds a model of another size than {folders[0]}; average like with like.")
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(folders)).float() for name, tensor in total.items()}


def _weights_file(folder: Path) -> Path:
    return folder / (MODEL_WEIGHTS_FILE if is_model_folder(folder) else WEIGHTS_FILE)


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
