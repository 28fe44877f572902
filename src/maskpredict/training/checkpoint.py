"""Checkpoints: the newest, to resume from, and the best, which are averaged into the finished model.

RUN/checkpoints/update-N/   weights, optimizer state and position in the data; only the newest is kept
RUN/best-K/update-N/        weights and validation loss of the best so far

No random state is saved: it is a function of the position in the data (see `engine.part_seed`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from maskpredict.errors import UserError
from maskpredict.model.folder import WEIGHTS_FILE as MODEL_WEIGHTS_FILE
from maskpredict.model.folder import is_model_folder
from maskpredict.new_folder import new_folder
from maskpredict.training.loader import Position

STATE_FILE, WEIGHTS_FILE, OPTIMIZER_FILE = "state.json", "weights.safetensors", "optimizer.safetensors"


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

    @classmethod
    def read(cls, folder: Path) -> RunState:
        """The state saved in a checkpoint."""
        try:
            saved = json.loads((folder / STATE_FILE).read_text())
            return cls(**{"target_tokens": None, **saved, "position": Position(**saved["position"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"the checkpoint {folder} is damaged; delete it to continue from an earlier one."
            ) from error


def save_checkpoint(
    folder: Path, state: RunState, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor]
) -> None:
    """Write a checkpoint to resume from, then remove older ones and unfinished ones of killed processes."""
    target = folder / f"update-{state.update:08d}"
    with new_folder(target, overwrite=True, marker=STATE_FILE) as partial:
        save_file(_plain(weights), partial / WEIGHTS_FILE)
        save_file(_plain(optimizer), partial / OPTIMIZER_FILE)
        (partial / STATE_FILE).write_text(json.dumps(asdict(state), indent=2))
    for older in folder.glob("update-*"):
        if older != target:
            shutil.rmtree(older)


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    return sorted(path.parent for path in folder.glob(f"update-*/{STATE_FILE}") if ".partial-" not in path.parent.name)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint file."""
    try:
        return load_file(path)
    except Exception as error:
        raise UserError(f"{path} is damaged ({error}); delete that checkpoint and continue without it.") from error


def keep_best(folder: Path, state: RunState, loss: float, weights: Mapping[str, Tensor], count: int) -> None:
    """Keep a checkpoint if it is among the `count` with the lowest validation loss."""
    target = folder / f"update-{state.update:08d}"
    # A run that was killed after this update, and resumed from before it, finds its earlier checkpoint here.
    kept = {path: best_loss(path) for path in checkpoints(folder) if path != target}
    if count < 1 or (len(kept) >= count and loss >= max(kept.values())):
        return
    with new_folder(target, overwrite=True, marker=STATE_FILE) as partial:
        save_file(_plain(weights), partial / WEIGHTS_FILE)
        (partial / STATE_FILE).write_text(json.dumps({"update": state.update, "loss": loss}, indent=2))
    for path in sorted(kept, key=lambda path: kept[path])[count - 1 :]:
        shutil.rmtree(path)


def best_loss(folder: Path) -> float:
    """The validation loss of a kept checkpoint."""
    return float(json.loads((folder / STATE_FILE).read_text())["loss"])


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
