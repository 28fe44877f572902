"""Cost of the work around a teacher: splitting, Ray, shards and merging; and throughput of one and two workers.

    python benchmarks/many_workers.py de-en-shallow sources.de.xz results.json

1. The same lines are translated by one process and by two, and by one worker and two on a local Ray cluster, in turns.
   Each computes on one thread. Throughput counts from a quarter of the work on: starting Ray and loading the model are
   left out. Shards are small, so that little is lost at the end.
2. A teacher that only copies, `command:cat`, shows what the driver takes for each shard that passes through it.
3. Reading, removing duplicates and splitting; merging; and listing and writing in a folder of many shards.

Lines a second are right on a machine that does nothing else; `other_cores` says how many cores other programs kept busy
meanwhile. Lines a CPU second hardly depend on them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import ray

from maskpredict.bench.machine import describe_machine
from maskpredict.checksums import write_checksums
from maskpredict.corpus.reading import read_lines
from maskpredict.distill.by_text import TextConfig, TextDistillConfig, distill_text
from maskpredict.distill.by_text.config import RayConfig
from maskpredict.distill.by_text.ray_workers import RAY_ENVIRONMENT
from maskpredict.distill.by_text.shards import SplitCorpus, TextShards
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.find_model import find_model

WORKERS = (b"ray::Worker", b"maskpredict.distill.worker_main")
"""What the commands of processes contain that translate: Ray's workers, and those that `processes` starts."""
WARM_UP = 0.25
"""Share of the shards after which all workers have loaded the model, and throughput counts."""
ALL_SHARDS = "0/1"
"""`shard` with which the shards stay where they are, so that their times can be read."""


def timed(call: Callable[[], object]) -> dict[str, float]:
    """Wall-clock and CPU seconds of a call in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


@dataclass(frozen=True)
class Moment:
    """Finished shards at some time, and CPU seconds until then."""

    shards: int
    time: float
    cpu_seconds: float
    """Of this process and of those that translate."""
    daemon_seconds: float
    """Of the other processes of Ray, which hardly depend on the work but on the time that passes."""
    machine_seconds: float
    """Of everything on the machine, and of the machines that it shares its processors with."""


def moment(shards: int) -> Moment:
    """The CPU seconds until now."""
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, _idle, _waiting, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:9])
    machine = (user + nice + system + sum(interrupts)) / tick
    seconds, of_ended, parents = {}, {}, {}
    workers = {os.getpid()}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(") ")[2].split()
            process, command = int(path.parent.name), path.with_name("cmdline").read_bytes()
            parents[process] = int(fields[1])
            seconds[process] = sum(map(int, fields[11:13])) / tick
            of_ended[process] = sum(map(int, fields[13:15])) / tick
            workers |= {process} if any(name in command for name in WORKERS) else set()
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    worked = sum(seconds[process] for process in ours & workers) + sum(of_ended[process] for process in ours)
    daemons = sum(seconds[process] for process in ours - workers)
    return Moment(shards, time.monotonic(), worked, daemons, machine)


def measured(config: TextDistillConfig) -> dict[str, float]:
    """Throughput and CPU time of a distillation, from when every worker has loaded the model to the last shard."""
    folder = config.out.with_name(f"{config.out.name}.shards")
    shutil.rmtree(folder, ignore_errors=True)
    distill_text(replace(config, seconds=0.0, ray=None), quiet=True)  # splits
    moments: list[Moment] = []
    work = Thread(target=distill_text, args=(replace(config, shard=ALL_SHARDS),), kwargs={"quiet": True})
    work.start()
    while work.is_alive():
        shards = len(list(folder.glob("??????")))
        if not moments or shards > moments[-1].shards:
            moments.append(moment(shards))
        work.join(timeout=0.2)
    first, last = next(one for one in moments if one.shards >= WARM_UP * moments[-1].shards), moments[-1]
    lines, seconds = (last.shards - first.shards) * config.shard_lines, last.time - first.time
    worked, daemons = last.cpu_seconds - first.cpu_seconds, last.daemon_seconds - first.daemon_seconds
    return {
        "seconds": seconds,
        "lines_per_second": lines / seconds,
        "lines_per_cpu_second": lines / worked,
        "daemon_cores": daemons / seconds,
        "other_cores": (last.machine_seconds - first.machine_seconds - worked - daemons) / seconds,
        "load": os.getloadavg()[0],
    }


def scaling(config: TextDistillConfig, rounds: int) -> list[dict[str, Any]]:
    """Throughput of one and two processes, and of one and two workers on Ray, in turns; each begins a round in turn."""
    rows: list[dict[str, Any]] = [
        {"where": where, "workers": workers, "rounds": []} for where in ("processes", "Ray") for workers in (1, 2)
    ]
    for number in range(rounds):
        for row in (*rows[number % len(rows) :], *rows[: number % len(rows)]):
            workers = row["workers"]
            who = {"processes": workers} if row["where"] == "processes" else {"ray": RayConfig(workers=workers)}
            row["rounds"].append(measured(replace(config, **who)))
            print(row["where"], workers, row["rounds"][-1], flush=True)
    for row in rows:
        for name in ("lines_per_second", "lines_per_cpu_second", "daemon_cores", "other_cores"):
            row[name] = statistics.median(one[name] for one in row["rounds"])
        pairs = zip(row["rounds"], rows[0]["rounds"], strict=True)
        row["times_one_process"] = statistics.median(
            own["lines_per_second"] / one["lines_per_second"] for own, one in pairs
        )
    return rows


def driver(config: TextDistillConfig, lines: int, shards: int) -> dict[str, float]:
    """CPU seconds of the driver for a shard of so many lines, joining the cluster and the wait for workers included."""
    text = [line for line in read_lines(config.text[0].source or Path()) if line]
    source = config.out.with_name("copied.txt")
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in itertools.islice(itertools.cycle(text), shards * lines))
    cat = replace(config, teacher="command:cat", every_line=True, shard_lines=lines, ray=RayConfig(workers=2))
    cat = replace(cat, text=(TextConfig(source=source),), out=config.out.with_name("copied"))
    distill_text(replace(cat, seconds=0.0), quiet=True)  # splits
    spent = timed(partial(distill_text, replace(cat, shard=ALL_SHARDS), quiet=True))
    return {"lines": lines, "shards": shards, "cpu_seconds_per_shard": spent["cpu_seconds"] / shards}


def splitting_and_merging(config: TextDistillConfig, lines: int, shard_lines: int) -> dict[str, Any]:
    """Costs of the first and last step for text of which no line occurs twice."""
    text = [line for line in read_lines(config.text[0].source or Path()) if line]
    source = config.out.with_name("many.txt")
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f"{line} {i}\n" for i, line in enumerate(itertools.islice(itertools.cycle(text), lines)))
    own = replace(config, ray=None, teacher="command:rev", text=(TextConfig(source=source),), shard_lines=shard_lines)
    own = replace(own, out=config.out.with_name("many"))
    split = timed(lambda: distill_text(replace(own, seconds=0.0), quiet=True))
    folder = own.out.with_name("many.shards")
    stored = sum(file.stat().st_size for file in folder.glob("*.zst"))
    distill_text(replace(own, shard=ALL_SHARDS), quiet=True)
    made = sum(file.stat().st_size for file in folder.glob("??????/*"))
    merge = timed(lambda: distill_text(own, quiet=True))
    return {
        "lines": lines,
        "text_bytes_per_line": source.stat().st_size / lines,
        "stored_bytes_per_line": stored / lines,
        "finished_bytes_per_line": made / lines,
        "split": split,
        "split_lines_per_cpu_second": lines / split["cpu_seconds"],
        "merge": merge,
        "merge_lines_per_cpu_second": lines / merge["cpu_seconds"],
    }


def folder_of_shards(folder: Path, shards: int) -> dict[str, float]:
    """CPU seconds to list the missing shards, to read the sources of one and to save it, in a folder of so many."""
    folder.mkdir()
    for shard in range(shards):
        (folder / f"{shard:06d}.source.zst").write_bytes(b"text")
        if shard:
            (folder / f"{shard:06d}").mkdir()
    write_checksums(folder)
    corpus = SplitCorpus("text", 1.0, references=False, read=shards, shards=[1] * shards)
    made = TextShards(folder, {"compression": "zst"}, [corpus])
    listing = timed(made.missing)
    reading = timed(lambda: [made.sources(shard) for shard in range(shards)])
    writing = timed(lambda: made.write(0, {"counts.json": b"{}"}))
    return {
        "shards": shards,
        "list_seconds": listing["cpu_seconds"],
        "read_seconds": reading["cpu_seconds"] / shards,
        "write_seconds": writing["cpu_seconds"],
    }


def main() -> None:
    """Measure everything and write it to one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--lines", type=int, default=1_200)
    parser.add_argument("--shard-lines", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    os.environ |= {**RAY_ENVIRONMENT, "RAY_AUTH_MODE": "disabled"}  # or Ray would write a token into the home folder
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    languages = ModelFolder.read(find_model(arguments.model)).languages
    lines = itertools.islice(dict.fromkeys(filter(str.strip, read_lines(arguments.sources))), 20_000)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        all_lines = list(lines)
        for name, some in (("text.txt", all_lines[: arguments.lines]), ("all.txt", all_lines)):
            (scratch / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
        config = TextDistillConfig(
            teacher=f"translator:{arguments.model}",
            decoding={"iterations": 4, "length_candidates": 1},
            source_language=languages.source,
            target_language=languages.target,
            text=(TextConfig(source=scratch / "text.txt"),),
            out=scratch / "out",
            every_line=True,
            shard_lines=arguments.shard_lines,
            threads=1,
            device="cpu",
        )
        everything = replace(
            config, text=(TextConfig(source=scratch / "all.txt"),), teacher="command:rev", decoding={}, every_line=False
        )
        result = {
            "machine": asdict(describe_machine("cpu", 1)),
            "model": arguments.model,
            "lines": arguments.lines,
            "shard_lines": arguments.shard_lines,
            "split_and_merge": splitting_and_merging(everything, 100_000, 20_000),
            "driver": driver(everything, 20_000, 16),
        }
        result["folders"] = [folder_of_shards(scratch / str(shards), shards) for shards in (5_000, 50_000)]
        result["scaling"] = scaling(config, arguments.rounds)
    arguments.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
