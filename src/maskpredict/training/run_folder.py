"""The run folder of a training run.

config.yaml       every value the run uses
metrics.jsonl     losses, rates and scores; tensorboard/ holds the same
checkpoints/      to resume from
best-K/           the best by validation loss
model/            the finished model folder
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from maskpredict.config import dump_config, load_config, to_dict
from maskpredict.errors import UserError
from maskpredict.new_file import is_partial, new_file
from maskpredict.training.config import TrainConfig

CONFIG_FILE = "config.yaml"
MAY_CHANGE = (
    *("run", "steps", "seconds", "validation", "rewarmup", "checkpoint_every", "keep_best"),
    *("device", "precision", "engine", "threads", "max_skipped", "stuck_after"),
)
"""Keys that may change when a run is resumed; any other change would make it another run."""


class RunFolder:
    """Paths within a run folder, and the check that a resumed run is the same run."""

    def __init__(self, config: TrainConfig) -> None:
        self.path = Path(config.run)
        self.checkpoints = self.path / "checkpoints"
        self.best = self.path / f"best-{config.keep_best}"
        self.model = self.path / "model"

    def open(self, config: TrainConfig) -> None:
        """Create the folder or check that it holds the same run, then write the config."""
        written = self.path / CONFIG_FILE
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is not a folder; choose another place for `run`.")
        if written.exists():
            _refuse_other_run(load_config(TrainConfig, written), config, self.path)
        elif self.path.exists() and any(not is_partial(path, CONFIG_FILE) for path in self.path.iterdir()):
            raise UserError(f"{self.path} is not empty and holds no run; choose another folder for `run`.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path} cannot be made: {error.strerror}; choose another place for `run`.") from error
        with new_file(written) as file:
            file.write(dump_config(config).encode())


def _refuse_other_run(old: TrainConfig, new: TrainConfig, path: Path) -> None:
    same = replace(old, **{name: getattr(new, name) for name in MAY_CHANGE})
    if same == new:
        return
    before, after = to_dict(same), to_dict(new)
    changed = next(name for name in after if after[name] != before[name])
    raise UserError(
        f"{path} holds a run with {changed}={before[changed]!r}, not {after[changed]!r}; "
        "choose another folder for `run`, or continue with the old value."
    )
