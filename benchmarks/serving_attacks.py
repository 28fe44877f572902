"""Latency of a polite client, and memory of the server, while others send the most expensive legal requests.

    python benchmarks/serving_attacks.py results.json --seconds 20 --rounds 3

Starts `maskpredict serve` with its defaults. A polite client at 127.0.0.2 sends one short sentence after another. In
each of the attacks, `--connections` connections from 127.0.0.3 repeat one expensive request meanwhile; in "leaving" the
sender closes each connection at once. The result has the polite client's latencies without and under each attack, the
statuses that the attackers got, and the server's resident memory after it has started, and after each attack.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

from maskpredict.bench.machine import BackgroundLoad, describe_machine

POLITE, ATTACKER = "127.0.0.2", "127.0.0.3"
SETTLE_SECONDS = 6.0
"""Seconds between the end of an attack and the measurement of memory, in which the server frees what it can."""
PAIR = {"source": "de", "target": "en"}
SHORT = {**PAIR, "q": "Wann fährt der nächste Zug nach Hause?"}
LONG = (
    "Obwohl der Bericht schon im Frühjahr fertig war, hat die Verwaltung ihn erst veröffentlicht, als mehrere "
    "Zeitungen danach gefragt hatten, und seitdem streiten alle darüber, wer ihn in Auftrag gegeben hat, wer ihn "
    "bezahlt, wer ihn gelesen und wer ihn verstanden hat, obwohl doch jeder weiß, dass niemand ihn lesen wollte, "
    "weil er so lang ist, dass man ihn kaum an einem Tag lesen kann, und so schwer, dass man ihn nicht in die "
    "Tasche stecken mag, wenn man abends mit dem Zug nach Hause fährt und lieber aus dem Fenster auf die Felder "
    "und die Häuser sieht, die langsam dunkel werden."
)[:590]
GAPS = "The report ___ was ___ by all the ___ that ___."
ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "N passes, 16 candidates": (
        "/v1/translate",
        {**PAIR, "q": LONG, "iterations": "N", "length_candidates": 16},
    ),
    "32 passes, 16 candidates": (
        "/v1/translate",
        {**PAIR, "q": LONG, "iterations": 32, "length_candidates": 16, "trace": True},
    ),
    "four open gaps": (
        "/v1/fill",
        {**PAIR, "source_text": LONG[:200], "template": {"text": GAPS}, "iterations": 20, "trace": True},
    ),
    "250 nulls": (
        "/v1/fill",
        {**PAIR, "source_text": LONG, "template": {"tokens": [None] * 250}, "iterations": "N"},
    ),
    "32 pins": (
        "/v1/translate",
        {**PAIR, "q": LONG, "iterations": 8, "length_candidates": 16, "pins": [{"phrase": "report"}] * 32},
    ),
    "1,000 lines": ("/translate", {**PAIR, "q": "ja\n" * 1_000}),
    "1,666 lines": ("/translate", {**PAIR, "q": "ja\n" * 1_666}),
    "5,000 characters": ("/translate", {**PAIR, "q": (LONG + " ") * 8, "alternatives": 8}),
    "HTML": ("/translate", {**PAIR, "q": "<p>ja</p>" * 550, "format": "html"}),
    "file": ("/translate_file", {**PAIR, "file": (LONG + "\n") * 150}),
}
LEAVING = "N passes, 16 candidates"


@dataclass
class Outcome:
    """Measurements under one attack, or under none."""

    attack: str
    latencies: list[float] = field(default_factory=list)
    refused: int = 0
    """Short sentences that were not translated."""
    attackers: Counter[str] = field(default_factory=Counter)
    """Answers to the attackers, by status."""
    cores_busy_with_other_programs: float | None = None
    resident_mb: float = 0.0
    """After the attack."""

    def summary(self) -> dict[str, Any]:
        """Return the figures, without the single latencies."""
        return {
            **asdict(self),
            "latencies": len(self.latencies),
            "median_seconds": round(statistics.median(self.latencies), 3),
            "longest_seconds": round(max(self.latencies), 3),
            "attackers": dict(self.attackers),
        }


def client_at(address: str, url: str) -> httpx.AsyncClient:
    """Return a client whose connections come from a loopback address of its own."""
    return httpx.AsyncClient(base_url=url, timeout=60, transport=httpx.AsyncHTTPTransport(local_address=address))


async def be_polite(url: str, outcome: Outcome, end: float) -> None:
    """Send one short sentence after another."""
    async with client_at(POLITE, url) as client:
        while time.perf_counter() < end:
            begin = time.perf_counter()
            answer = await client.post("/v1/translate", json=SHORT)
            outcome.latencies.append(time.perf_counter() - begin)
            outcome.refused += answer.status_code != 200
            await asyncio.sleep(0.1)


async def attack(url: str, name: str, outcome: Outcome, end: float, *, leaves: bool) -> None:
    """Repeat one expensive request."""
    route, body = ATTACKS[name]
    async with client_at(ATTACKER, url) as client:
        while time.perf_counter() < end:
            try:
                if "file" in body:
                    form = {key: value for key, value in body.items() if key != "file"}
                    sending = client.post(route, data=form, files={"file": ("a.txt", body["file"].encode())})
                else:
                    sending = client.post(route, json=body)
                answer = await asyncio.wait_for(sending, random.uniform(0.05, 0.5) if leaves else None)
                outcome.attackers[str(answer.status_code)] += 1
                if answer.status_code >= 400:
                    await asyncio.sleep(0.02)
            except (TimeoutError, httpx.TransportError) as error:
                outcome.attackers["left" if leaves else type(error).__name__] += 1


async def measure(url: str, process: int, name: str | None, seconds: float, connections: int) -> Outcome:
    """Measure under an attack; `None` is no attack, `leaving` one whose sender leaves."""
    outcome, load = Outcome(name or "none"), BackgroundLoad()
    end = time.perf_counter() + seconds
    leaves = name == "leaving"
    chosen = LEAVING if leaves or name is None else name
    attackers = [
        asyncio.create_task(attack(url, chosen, outcome, end, leaves=leaves))
        for _ in range(0 if name is None else connections)
    ]
    await be_polite(url, outcome, end)
    for attacker in attackers:
        attacker.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)
    outcome.cores_busy_with_other_programs = load.cores()
    await asyncio.sleep(SETTLE_SECONDS)
    await settle(url)
    outcome.resident_mb = resident_mb(process)
    return outcome


async def settle(url: str) -> None:
    """Wait until nothing is left to compute, and send one sentence, after which the server frees memory."""
    async with client_at(POLITE, url) as client:
        while "maskpredict_running_batches 0.0" not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.2)
        await client.post("/v1/translate", json=SHORT)
        await asyncio.sleep(0.5)


def resident_mb(process: int) -> float:
    """Return the server's resident memory in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


async def measure_all(url: str, process: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return all measurements of one server."""
    await settle(url)
    await asyncio.sleep(SETTLE_SECONDS)
    await settle(url)
    fresh = resident_mb(process)
    outcomes = []
    for name in [None, *ATTACKS, "leaving"]:
        outcome = await measure(url, process, name, arguments.seconds, arguments.connections)
        outcomes.append(outcome.summary())
        print(json.dumps(outcomes[-1]), file=sys.stderr, flush=True)
    return {"fresh_mb": fresh, "attacks": outcomes}


def main() -> None:
    """Measure some rounds, each with a new server, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--port", type=int, default=8_790)
    arguments = parser.parse_args()
    url, rounds = f"http://127.0.0.1:{arguments.port}", []
    for _ in range(arguments.rounds):
        command = [sys.executable, "-m", "maskpredict.cli", "serve", "--port", str(arguments.port)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            while not _answers(url):
                if server.poll() is not None:
                    sys.exit("the server did not start")
                time.sleep(0.2)
            rounds.append(asyncio.run(measure_all(url, server.pid, arguments)))
        finally:
            server.terminate()
            server.wait()
    worst = {
        name: max(one["longest_seconds"] for each in rounds for one in each["attacks"] if one["attack"] == name)
        for name in ("none", *ATTACKS, "leaving")
    }
    memory = max(one["resident_mb"] / each["fresh_mb"] for each in rounds for one in each["attacks"])
    report = {
        "settings": {"seconds": arguments.seconds, "connections": arguments.connections},
        "machine": asdict(describe_machine("cpu", threads=2)),
        "longest_seconds": worst,
        "longest_seconds_of_all": max(worst.values()),
        "memory_after_attacks_to_fresh": round(memory, 3),
        "rounds": rounds,
    }
    arguments.results.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    main()
