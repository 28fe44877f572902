"""An interrupted run goes on to the very same end: same losses, same weights, bit by bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskpredict.config import dump_config
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.training.checkpoint import OPTIMIZER_FILE, RunState, checkpoints, load_tensors
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

MakeConfig = Callable[..., TrainConfig]
ReadMetrics = Callable[[Path | str], list[dict[str, Any]]]

PROGRAM = """
import sys
from pathlib import Path
from maskpredict.config import load_config
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train
result = train(load_config(TrainConfig, Path(sys.argv[1])), quiet=True)
if "torch._dynamo" in sys.modules:
    sys.exit("PyTorch's compiler was imported, which takes over a second")
sys.exit(0 if result.finished else 7)
"""


def start(config: TrainConfig, folder: Path) -> subprocess.Popen[bytes]:
    """The run in a process of its own."""
    (folder / "train.yaml").write_text(dump_config(config))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder / "train.yaml")], env=environment)


def wait_for_updates(run: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        metrics = run / "metrics.jsonl"
        if metrics.exists() and metrics.read_text().count('"train"') >= count:
            return
        assert process.poll() is None, "the run ended before it could be interrupted"
        time.sleep(0.005)
    raise AssertionError("the run made no progress")


def assert_same_end(one: TrainConfig, other: TrainConfig, read_metrics: ReadMetrics) -> None:
    assert read_metrics(one.run) == read_metrics(other.run)
    model, other_model = (ModelFolder.read(Path(config.run) / "model") for config in (one, other))
    assert all(np.array_equal(model.weights[name], other_model.weights[name]) for name in model.weights)
    assert model.training == other_model.training
    assert model.training is not None
    assert model.training.target_tokens
    last, other_last = (checkpoints(Path(config.run) / "checkpoints")[-1] for config in (one, other))
    for name in ("weights.safetensors", "optimizer.safetensors"):
        assert (last / name).read_bytes() == (other_last / name).read_bytes()
    best, other_best = ([p.name for p in checkpoints(Path(c.run) / "best-2")] for c in (one, other))
    assert best == other_best


@pytest.mark.parametrize("system", ["cmlm", "autoregressive"])
@pytest.mark.parametrize("schedule", ["linear", "inverse_sqrt"])
def test_a_run_stopped_after_every_single_update_ends_as_an_uninterrupted_one(
    make_config: MakeConfig, read_metrics: ReadMetrics, system: str, schedule: str
) -> None:
    changes = {"system": system, "optimizer": {"rate": 3e-3, "warmup": 4, "schedule": schedule}, "steps": 7}
    whole, pieces = make_config("whole", **changes), make_config("pieces", **changes)
    train(whole, quiet=True)
    results = [train(pieces, quiet=True, stop_after=1e-9) for _ in range(7)]
    assert [result.updates for result in results] == [1, 2, 3, 4, 5, 6, 7]
    assert [result.finished for result in results] == [False] * 6 + [True]
    assert_same_end(whole, pieces, read_metrics)


def test_a_killed_run_continues_from_its_last_checkpoint_to_the_same_end(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path
) -> None:
    changes = {"steps": 150, "checkpoint_every": 7, "validation": {"every": 4}}
    whole, killed = make_config("whole", **changes), make_config("killed", **changes)
    train(whole, quiet=True)
    for updates in (12, 31):  # killed twice
        process = start(killed, tmp_path)
        try:
            wait_for_updates(Path(killed.run), updates, process)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    saved = RunState.read(checkpoints(Path(killed.run) / "checkpoints")[-1])
    recorded = [r["update"] for r in read_metrics(killed.run) if r["kind"] == "train"]
    assert 0 < saved.update < 150
    assert saved.update <= recorded[-1]
    assert train(killed, quiet=True).finished
    assert_same_end(whole, killed, read_metrics)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_its_last_update_and_continues_to_the_same_end(
    make_config: MakeConfig, read_metrics: ReadMetrics, tmp_path: Path, number: signal.Signals
) -> None:
    changes = {"steps": 150, "checkpoint_every": 1000}
    whole, interrupted = make_config("whole", **changes), make_config("interrupted", **changes)
    train(whole, quiet=True)
    process = start(interrupted, tmp_path)
    wait_for_updates(Path(interrupted.run), 10, process)
    process.send_signal(number)
    assert process.wait(timeout=60) == 7
    saved = RunState.read(checkpoints(Path(interrupted.run) / "checkpoints")[-1])
    assert saved.update == max(record["update"] for record in read_metrics(interrupted.run))
    assert not (Path(interrupted.run) / "model").exists()
    assert train(interrupted, quiet=True).finished
    assert_same_end(whole, interrupted, read_metrics)


def test_a_finished_run_is_left_as_it_is(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    config = make_config()
    train(config, quiet=True)
    before = read_metrics(config.run), (Path(config.run) / "model" / "model.safetensors").read_bytes()
    result = train(config, quiet=True)
    assert (result.finished, result.updates) == (True, 10)
    after = read_metrics(config.run), (Path(config.run) / "model" / "model.safetensors").read_bytes()
    assert before == after


def test_a_finished_run_can_be_made_longer(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    whole = make_config("whole", steps=14)
    train(whole, quiet=True)
    for steps in (5, 14):
        train(make_config("longer", steps=steps), quiet=True)
    records = [[r for r in read_metrics(make_config(run).run) if r["kind"] == "train"] for run in ("whole", "longer")]
    assert records[0] == records[1]


def test_a_line_that_was_cut_off_in_the_middle_is_forgotten(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    whole, cut = make_config("whole"), make_config("cut")
    train(whole, quiet=True)
    train(cut, quiet=True, stop_after=1e-9)
    with (Path(cut.run) / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"kind": "train", "update": 2, "loss": 1.0}) + "\n" + '\0\0{}\n{"kind": "tra')
    train(cut, quiet=True)
    assert read_metrics(whole.run) == read_metrics(cut.run)


def test_a_run_whose_newest_checkpoint_is_torn_goes_on_from_the_one_before_to_the_same_end(
    make_config: MakeConfig, read_metrics: ReadMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    whole, torn = make_config("whole"), make_config("torn")
    train(whole, quiet=True)
    for _ in range(5):
        train(torn, quiet=True, stop_after=1e-9)
    before, newest = checkpoints(Path(torn.run) / "checkpoints")
    weights = newest / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert train(torn, quiet=True).finished
    assert f"Resuming from {before}, since the newer checkpoint is unusable: {weights} is damaged" in caplog.text
    assert_same_end(whole, torn, read_metrics)


def test_a_run_that_was_killed_before_it_had_a_config_can_begin(make_config: MakeConfig) -> None:
    config = make_config(steps=2)
    left = Path(config.run) / "config.yaml.partial-4711"
    left.parent.mkdir()
    left.write_text("data: ")
    assert train(config, quiet=True).finished
    assert not left.exists()


def test_a_damaged_checkpoint_is_named(make_config: MakeConfig) -> None:
    config = make_config()
    train(config, quiet=True, stop_after=1e-9)
    (saved,) = checkpoints(Path(config.run) / "checkpoints")
    (saved / "weights.safetensors").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"weights\.safetensors is damaged"):
        train(config, quiet=True)


def test_a_float16_run_remembers_its_loss_scale(make_config: MakeConfig, read_metrics: ReadMetrics) -> None:
    whole, pieces = (make_config(run, steps=4, precision="float16", device="cpu") for run in ("whole", "pieces"))
    train(whole, quiet=True)
    while not train(pieces, stop_after=1e-9, quiet=True).finished:
        pass
    last = checkpoints(Path(pieces.run) / "checkpoints")[-1]
    assert load_tensors(last / OPTIMIZER_FILE)["loss_scale"][0] < 2.0**16, "at first the gradients overflow"
    assert_same_end(whole, pieces, read_metrics)
