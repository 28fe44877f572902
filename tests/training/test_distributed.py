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
import os, signal, sys, threading, time
from pathlib import Path
from maskpredict.config import load_config
from maskpredict.systems.cmlm import CMLM
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

set_progress = CMLM.set_progress

def wait_for_a_lock_that_nobody_opens():
    threading.Event().wait()

def first_time(name):
    file = Path(sys.argv[1]).with_name(name)
    return os.environ["RANK"] == "1" and not file.exists() and file.touch() is None

def at_an_update(system, share):
    if share >= 0.5 and first_time("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    if share >= 0.8 and first_time("stuck"):
        wait_for_a_lock_that_nobody_opens()
    set_progress(system, share)

if sys.argv[2] == "with faults":
    CMLM.set_progress = at_an_update
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
        time.sleep(2)
train(load_config(TrainConfig, Path(sys.argv[1])), quiet=True)
"""
"""With faults, the second process is killed in the middle of the run, and later is stuck; restarted, it is late."""


def torchrun(config: TrainConfig, folder: Path, how: str) -> str:
    """Train with two processes on this machine; returns what they say."""
    (folder / "train.yaml").write_text(dump_config(config))
    (folder / "program.py").write_text(PROGRAM)
    arguments = ["--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0"]
    arguments.append("--max_restarts=10")  # more than two, since a process on a busy machine may look stuck
    command = [sys.executable, "-m", "torch.distributed.run", *arguments]
    done = subprocess.run(
        [*command, str(folder / "program.py"), str(folder / "train.yaml"), how],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_two_workers_have_the_losses_and_the_weights_of_one(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path
) -> None:
    changes = {"system": "autoregressive", "steps": 6, "validation": {"every": 3}}
    alone, shared = (make_config(run, **changes) for run in ("alone", "shared"))
    train(alone, quiet=True)
    torchrun(shared, tmp_path, "undisturbed")
    assert_same(alone, shared, read_metrics)


def test_workers_that_are_killed_or_stuck_start_again_from_the_last_checkpoint_and_see_the_same_data(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path
) -> None:
    changes = {"steps": 10, "validation": {"every": 5}, "checkpoint_every": 2}
    alone, shared = make_config("alone", **changes), make_config("shared", **changes, stuck_after=10.0)
    train(alone, quiet=True)
    said = torchrun(shared, tmp_path, "with faults")
    assert (tmp_path / "killed").exists()
    assert "connectFullMesh failed" not in said, "every time, all find each other"
    assert "process 1 has made no progress for 10 seconds, in update 9" in said
    assert "wait_for_a_lock_that_nobody_opens" in said
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
