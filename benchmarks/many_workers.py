"""Cost of the work around a teacher: splitting, Ray, shards and merging; and throughput of one and two workers.

    python benchmarks/many_workers.py de-en-shallow sources.de.xz results.json --lines 240 --shard-lines 20

1. The same lines are translated by one process, and on a local Ray cluster by one worker and by two, in turns. Each
   computes on one thread. Throughput counts from the first finished shard on: starting Ray and loading the model are
   left out. Shards are small, so that little is lost at the end.
2. A teacher that only copies, `command:cat`, shows what the driver takes for each shard that passes through it.
3. Reading, removing duplicates and splitting; merging; and listing and writing in a folder of many shards.

CPU seconds hardly depend on what else the machine does; seconds do, and `load` says how busy it was.
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
from maskpredict.corpus.reading import read_lines
from maskpredict.distill.by_text import TextConfig, TextDistillConfig, distill_text
from maskpredict.distill.by_text.config import RayConfig
from maskpredict.distill.by_text.shards import SplitCorpus, TextShards
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.find_model import find_model

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
    """Of this process and of Ray's workers."""
    daemon_seconds: float
    """Of the other processes of Ray, which hardly depend on the work but on the time that passes."""


def moment(shards: int) -> Moment:
    """The CPU seconds until now."""
    ticks, parents = {}, {}
    workers = {os.getpid()}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            name, _, fields = path.read_text().partition("(")[2].rpartition(") ")
            process = int(path.parent.name)
            parents[process] = int(fields.split()[1])
            ticks[process] = sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")
            workers |= {process} if name.startswith("ray::") else set()
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    worked = sum(ticks[process] for process in ours & workers)
    return Moment(shards, time.monotonic(), worked, sum(ticks[process] for process in ours) - worked)


def measured(config: TextDistillConfig, workers: int) -> dict[str, float]:
    """Throughput and CPU time of a distillation, from when each worker may have made a shard to the last shard."""
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
    first, last = next(one for one in moments if one.shards >= workers), moments[-1]
    lines = (last.shards - first.shards) * config.shard_lines
    return {
        "lines_per_second": lines / (last.time - first.time),
        "lines_per_cpu_second": lines / (last.cpu_seconds - first.cpu_seconds),
        "daemon_cpus": (last.daemon_seconds - first.daemon_seconds) / (last.time - first.time),
        "load": os.getloadavg()[0],
    }


def scaling(config: TextDistillConfig, rounds: int) -> list[dict[str, Any]]:
    """Lines a second of one process, and of one and two workers, in turns."""
    rows: list[dict[str, Any]] = [{"where": "one process"}, *({"where": "Ray", "workers": n} for n in (1, 2))]
    for row in rows:
        row["rounds"] = []
    for _ in range(rounds):
        for row in rows:
            workers = row.get("workers")
            own = replace(config, ray=RayConfig(workers=workers) if workers else None)
            row["rounds"].append(measured(own, workers or 1))
            print(row["where"], workers, row["rounds"][-1], flush=True)
    for row in rows:
        for name in ("lines_per_second", "lines_per_cpu_second", "daemon_cpus"):
            row[name] = statistics.median(one[name] for one in row["rounds"])
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
    """Seconds to list the missing shards and to write one, in a folder of so many finished ones."""
    folder.mkdir()
    for shard in range(shards):
        (folder / f"{shard:06d}.source.zst").touch()
        if shard:
            (folder / f"{shard:06d}").mkdir()
    corpus = SplitCorpus("text", 1.0, references=False, read=shards, shards=[1] * shards)
    made = TextShards(folder, {"compression": "zst"}, [corpus])
    listing = timed(made.missing)
    writing = timed(lambda: made.write(0, {"counts.json": b"{}"}))
    return {"shards": shards, "list_seconds": listing["cpu_seconds"], "write_seconds": writing["cpu_seconds"]}


def main() -> None:
    """Measure everything and write it to one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--lines", type=int, default=2_000)
    parser.add_argument("--shard-lines", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
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
