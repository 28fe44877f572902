"""How `maskpredict train` ends: what it says, and with which exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maskpredict.cli import app

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}
OVERRIDES = [
    "preset=tiny",
    "model={width: 16, hidden: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, max_positions: 64}",
    "batch={tokens: 256, part_tokens: 128, max_length: 48}",
    "validation.every=1000",
    "device=cpu",
    "threads=1",
]


@pytest.fixture
def command(data_folder: Path, tmp_path: Path) -> list[str]:
    """The arguments of a training run of any number of steps."""
    (tmp_path / "train.yaml").write_text(f"data: {data_folder}\n")
    return ["-m", "maskpredict.cli", "train", f"{tmp_path / 'train.yaml'}", f"run={tmp_path / 'run'}", *OVERRIDES]


def wait_for_an_update(run: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        metrics = run / "metrics.jsonl"
        if metrics.exists() and '"train"' in metrics.read_text():
            return
        assert process.poll() is None, "the run ended before it could be interrupted"
        time.sleep(0.01)
    raise AssertionError("the run made no progress")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_a_checkpoint_a_line_and_its_exit_code(
    command: list[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, *command, "steps=100000"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    wait_for_an_update(run, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    (line,) = errors.splitlines()
    assert line.startswith("Stopped after ")
    assert line.endswith(f" updates, which are saved in {run}; the same command continues.")
    assert len(list((run / "checkpoints").iterdir())) == 1
    assert not (run / "model").exists()


def test_a_run_that_was_asked_to_pause_exits_with_code_0(command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command[2:], "steps=3", "--stop-after", "0.000001"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "Stopped after 1 updates" in result.stderr


def test_under_torchrun_one_process_says_the_closing_line(command: list[str], tmp_path: Path) -> None:
    torchrun = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--rdzv_backend=c10d"]
    done = subprocess.run(
        [sys.executable, *torchrun, "--rdzv_endpoint=localhost:0", *command, "steps=2"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"2 updates; the model is {tmp_path / 'run' / 'model'}.") == 1
