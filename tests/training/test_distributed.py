"""Two processes under torchrun learn what one learns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.config import dump_config
from maskpredict.model.folder import ModelFolder
from maskpredict.training.config import TrainConfig
from maskpredict.training.distributed import ProcessGroup, join_process_group, local_device
from maskpredict.training.loop import train

MakeConfig = Callable[..., TrainConfig]
ReadMetrics = Callable[[Path | str], list[dict[str, Any]]]

PROGRAM = """
import sys
from pathlib import Path
from maskpredict.config import load_config
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train
train(load_config(TrainConfig, Path(sys.argv[1])), quiet=True)
"""


def torchrun(config: TrainConfig, folder: Path) -> None:
    """Train with two processes on this machine."""
    (folder / "train.yaml").write_text(dump_config(config))
    (folder / "program.py").write_text(PROGRAM)
    arguments = ["--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0"]
    arguments.append("--max_restarts=6")  # on a busy machine, processes sometimes do not find each other
    command = [sys.executable, "-m", "torch.distributed.run", *arguments]
    done = subprocess.run(
        [*command, str(folder / "program.py"), str(folder / "train.yaml")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def test_two_workers_have_the_losses_and_the_weights_of_one(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path
) -> None:
    changes = {"system": "autoregressive", "steps": 6, "validation": {"every": 3}}
    alone, shared = (make_config(run, **changes) for run in ("alone", "shared"))
    train(alone, quiet=True)
    torchrun(shared, tmp_path)
    assert_same(alone, shared, read_metrics)


def assert_same(alone: TrainConfig, shared: TrainConfig, read_metrics: ReadMetrics) -> None:
    for one, two in zip(read_metrics(alone.run), read_metrics(shared.run), strict=True):
        assert two == pytest.approx(one, abs=1e-5)
    one_model, two_model = (ModelFolder.read(Path(config.run) / "model") for config in (alone, shared))
    for name, weight in one_model.weights.items():
        torch.testing.assert_close(two_model.weights[name], weight, rtol=1e-3, atol=1e-4)
    assert one_model.training == two_model.training, "as many tokens, each counted once"


def test_a_process_that_torchrun_did_not_start_works_alone() -> None:
    with join_process_group(torch.device("cpu")) as group:
        assert group == ProcessGroup(rank=0, world_size=1)
        tensor = torch.ones(3)
        group.all_reduce([tensor])
        assert tensor.tolist() == [1.0, 1.0, 1.0]
        assert group.max(2.5, torch.device("cpu")) == 2.5
    assert local_device("cpu") == torch.device("cpu")
