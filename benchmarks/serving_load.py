"""Throughput, latency and memory of the service under concurrent clients, with batching and one sentence at a time.

    python benchmarks/serving_load.py MODEL --clients 64 --seconds 60

The script starts a local server twice, with its defaults and with batches of one sentence. Each of `--clients` clients
sends a request when it has the answer to the last one. Clients and server share the machine's cores. The output has
requests per second, latencies of the clients, answers by status, and the server's resident memory over time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import torch

TEXTS = [
    "Guten Morgen!",
    "Wo ist der Schlüssel?",
    "Der Zug fährt um acht Uhr ab.",
    "Ich habe gestern einen langen Brief geschrieben.",
    "Kannst du mir sagen, wann das Museum am Sonntag öffnet?",
    "Im Garten hinter dem Haus steht ein alter Apfelbaum, der jedes Jahr weniger trägt.",
    "Die Kinder warteten vor der Schule auf den Bus, der wegen des Schnees viel zu spät kam.",
    "Nach dem Essen gingen wir noch eine Stunde am Fluss spazieren und sprachen über die Pläne für das nächste Jahr.",
    "Obwohl der Bericht schon im Frühjahr fertig war, hat die Verwaltung ihn erst veröffentlicht, als mehrere "
    "Zeitungen danach gefragt hatten.",
    "Wer mit dem Fahrrad zur Arbeit fährt, spart nicht nur Geld, sondern kommt in einer großen Stadt oft auch "
    "schneller an als jemand, der im Auto sitzt und an jeder zweiten Ampel warten muss.",
    "Das Dorf liegt am Rand des Waldes. Im Winter ist es dort still. Nur der Bäcker öffnet jeden Tag, auch bei Sturm.",
]
"""Request texts, from two words to several sentences."""


@dataclass
class Outcome:
    """Measurements of the clients."""

    mode: str
    seconds: float = 0.0
    """From the first request to the last answer."""
    server_cpu_seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    resident_mb: list[float] = field(default_factory=list)
    """The server's memory, each second."""

    def summary(self) -> dict[str, object]:
        """The figures, without the raw latencies."""
        ordered = sorted(self.latencies)
        return {
            "mode": self.mode,
            "requests_a_second": round(len(ordered) / self.seconds, 2),
            "server_cpu_seconds_a_request": round(self.server_cpu_seconds / len(ordered), 3),
            "p50_seconds": round(statistics.median(ordered), 3),
            "p99_seconds": round(ordered[int(0.99 * (len(ordered) - 1))], 3),
            "statuses": dict(self.statuses),
            "resident_mb_by_quarter": [round(statistics.median(own)) for own in _quarters(self.resident_mb)],
            "most_resident_mb": round(max(self.resident_mb)),
        }


def _quarters(values: list[float]) -> list[list[float]]:
    """The values in four parts: a single one depends on the batch that is being computed."""
    size = max(1, len(values) // 4)
    return [values[start : start + size] for start in range(0, 4 * size, size)]


async def client(url: str, body: dict[str, object], outcome: Outcome, end: float, seed: int) -> None:
    """Ask, wait for the answer, ask again."""
    chance = random.Random(seed)
    # Each has a connection of its own: to look through a pool of many takes longer than the server needs to answer.
    async with httpx.AsyncClient(base_url=url, timeout=120, verify=False) as server:
        while time.perf_counter() < end:
            begin = time.perf_counter()
            try:
                answer = await server.post("/v1/translate", json={**body, "q": chance.choice(TEXTS)})
                outcome.statuses[str(answer.status_code)] += 1
                if answer.status_code == 200:
                    outcome.latencies.append(time.perf_counter() - begin)
                elif answer.status_code == 503:
                    await asyncio.sleep(float(answer.headers["Retry-After"]))
            except httpx.TransportError as error:
                outcome.statuses[type(error).__name__] += 1


async def watch_memory(process: int, outcome: Outcome, end: float) -> None:
    """Note the server's resident memory."""
    while time.perf_counter() < end:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        outcome.resident_mb.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        await asyncio.sleep(1)


def cpu_seconds(process: int) -> float:
    """Processor time that the server has used; unlike the clock it hardly depends on what else the machine does."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def crowd(url: str, process: int, mode: str, arguments: argparse.Namespace) -> Outcome:
    """All clients for some time, after a short warm-up that does not count."""
    languages = httpx.get(f"{url}/languages").json()
    source = next(language for language in languages if language["targets"])
    body: dict[str, object] = {"source": source["code"], "target": source["targets"][0]}
    for name in ("iterations", "length_candidates"):
        if getattr(arguments, name) is not None:
            body[name] = getattr(arguments, name)
    for seconds in (arguments.warm_up, arguments.seconds):
        outcome, begin, used = Outcome(mode), time.perf_counter(), cpu_seconds(process)
        clients = [client(url, body, outcome, begin + seconds, seed) for seed in range(arguments.clients)]
        await asyncio.gather(*clients, watch_memory(process, outcome, begin + seconds))
        outcome.seconds = time.perf_counter() - begin
        outcome.server_cpu_seconds = cpu_seconds(process) - used
    return outcome


def measured(mode: str, options: list[str], arguments: argparse.Namespace) -> Outcome:
    """Start a server, send the crowd, stop the server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    model = ["--model", arguments.model, "--port", str(port), "--threads", str(arguments.threads)]
    process = subprocess.Popen(
        [sys.executable, "-m", "maskpredict.cli", "serve", *model, *options], stderr=subprocess.DEVNULL
    )
    try:
        while not _answers(url):
            if process.poll() is not None:
                sys.exit(f"the server did not start: {' '.join(process.args)}")  # type: ignore[arg-type]
            time.sleep(0.2)
        return asyncio.run(crowd(url, process.pid, mode, arguments))
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def main() -> None:
    """Measure and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="model folder")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=5)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--length-candidates", type=int)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    modes = {"batched": [], "one at a time": ["--batch-tokens", "1"]}
    outcomes = [measured(mode, options, arguments).summary() for mode, options in modes.items()]
    rates = [float(str(outcome["requests_a_second"])) for outcome in outcomes]
    machine = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }
    report = {"asked": vars(arguments), "machine": machine, "outcomes": outcomes, "gain": round(rates[0] / rates[1], 2)}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
