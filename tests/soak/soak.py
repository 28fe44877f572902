"""A server under 64 clients and a training run of 10,000 updates: their memory, handles and threads must not grow.

    python -m tests.soak.soak --minutes 30 --steps 10000 --output results.json

Both run at the same time. Ends with status 1 if the server answers with a 5xx other than 503 or translates otherwise at
the end than at the beginning, or if something grows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from maskpredict.corpus.toy import write_toy_corpus
from tests.soak.process_sizes import watched
from tests.soak.service import Crowd

NO_GROWTH = 1.05
"""Growth from the second to the last quarter that counts as none."""
TINY = "{width: 16, hidden: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, max_positions: 64}"


def main() -> None:
    """Soak both, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        training = start_training(Path(folder), arguments.steps)
        with watched(training.pid, 2.0) as sizes, server() as (url, process):
            service = Crowd(url).soak(process, arguments.clients, 60 * arguments.minutes)
            assert training.wait() == 0, "the training run failed"
        trained = training_figures(Path(folder) / "run") | sizes.summary()
    content = {
        "command": f"python -m tests.soak.soak --minutes {arguments.minutes:g} --steps {arguments.steps}",
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "service": service,
        "training": trained,
        "growing": growing(service) + growing(trained),
    }
    print(json.dumps(content, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(content, indent=2) + "\n")
    sys.exit(bool(content["growing"]) or not service["same_answers"] or service["errors_of_the_server"] > 0)


def growing(figures: dict[str, Any]) -> list[str]:
    """Names of the sizes that grow.

    Handles and threads of a server follow the number of requests that it works on, so those before and after all
    requests are compared.
    """
    if "idle_handles" not in figures:
        return [name for name in ("resident_mb", "handles", "threads") if figures[name]["growth"] > NO_GROWTH]
    idle = [name for name in ("idle_handles", "idle_threads") if left(figures[name]) > 0]
    return ["resident_mb"] * (figures["resident_mb"]["growth"] > NO_GROWTH) + idle


def left(idle: dict[str, int]) -> int:
    """How many more there are after all requests than before, beside those that pools may keep."""
    return idle["after"] - idle["before"] - idle.get("pool", 0)


def start_training(folder: Path, steps: int) -> subprocess.Popen[bytes]:
    """A training run on the toy language, which validates and saves a checkpoint every 250 updates."""
    write_toy_corpus(folder / "corpus", 400, 20, 20, 1)
    pairs = [str(folder / "corpus" / name) for name in ("train.src", "train.tgt", "valid.src", "valid.tgt")]
    command = [sys.executable, "-m", "maskpredict.cli"]
    prepare = ["prepare", "data", "-s", "src", "-t", "tgt", "--train", *pairs[:2], "--valid", *pairs[2:]]
    subprocess.run([*command, *prepare, "--vocab-size", "200"], cwd=folder, check=True, capture_output=True)
    (folder / "train.yaml").write_text(
        f"data: data\nrun: run\npreset: tiny\nmodel: {TINY}\nsteps: {steps}\nthreads: 1\ndevice: cpu\n"
        "batch: {tokens: 128, part_tokens: 128, max_length: 48}\n"
        "validation: {every: 250}\ncheckpoint_every: 250\nkeep_best: 3\n"
    )
    return subprocess.Popen([*command, "train", "train.yaml"], cwd=folder, stderr=subprocess.DEVNULL)


def training_figures(run: Path) -> dict[str, Any]:
    """Updates and losses of a finished run."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [record["loss"] for record in records if record["kind"] == "valid"]
    return {
        "updates": max(record["update"] for record in records),
        "first_validation_loss": round(losses[0], 3),
        "last_validation_loss": round(losses[-1], 3),
    }


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server with a small shipped model, as its address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "maskpredict.cli", "serve", "-m", "de-en-shallow", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not _answers(f"http://127.0.0.1:{port}"):
            assert process.poll() is None, "the server did not start"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    main()
