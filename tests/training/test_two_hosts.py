"""Four processes on two hosts learn what one process learns. The hosts are network namespaces joined by a cable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.config import dump_config
from maskpredict.model.folder import ModelFolder
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

PORT = 29_400


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[dict[str, str]]:
    """Addresses of two hosts that see each other and nothing else, by the name of their namespace."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        lacking = "making network namespaces needs root and iproute2"
        pytest.fail(lacking) if os.environ.get("CI") else pytest.skip(lacking)
    made = {f"mp{os.getpid()}{side}": f"10.77.0.{number}" for number, side in enumerate("ab", 1)}
    with ExitStack() as stack:
        for name in made:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
        first, second = made
        ip("link", "add", "cable", "netns", first, "type", "veth", "peer", "name", "cable", "netns", second)
        for name, address in made.items():
            ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                ip("-n", name, "link", "set", device, "up")
        yield made


def start(host: str, number: int, first_address: str, config: Path) -> subprocess.Popen[str]:
    """Start two processes of a training run on a host."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2"]
    meeting = ["--node-rank", str(number), "--master-addr", first_address, "--master-port", str(PORT)]
    return subprocess.Popen(
        ["ip", "netns", "exec", host, *torchrun, *meeting, "-m", "maskpredict.cli", "train", str(config)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_four_processes_on_two_hosts_have_the_losses_and_the_weights_of_one(
    hosts: dict[str, str],
    make_config: Callable[..., TrainConfig],
    read_metrics: Callable[[Path | str], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    batch = {"tokens": 512, "part_tokens": 128, "max_length": 48}  # a micro-batch for each process
    alone, shared = (make_config(run, steps=6, batch=batch, validation={"every": 3}) for run in ("alone", "shared"))
    train(alone, quiet=True)
    (tmp_path / "train.yaml").write_text(dump_config(shared))
    first_address, *_ = hosts.values()
    processes = [start(host, number, first_address, tmp_path / "train.yaml") for number, host in enumerate(hosts)]
    said = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
    for one, two in zip(read_metrics(alone.run), read_metrics(shared.run), strict=True):
        assert two == pytest.approx(one, abs=1e-5)
    one_model, two_model = (ModelFolder.read(Path(config.run) / "model").weights for config in (alone, shared))
    for name, weight in one_model.items():
        torch.testing.assert_close(two_model[name], weight, rtol=1e-3, atol=1e-4)
