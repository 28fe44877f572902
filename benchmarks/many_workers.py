"""Cost of the work around a teacher: splitting, Ray, shards and merging; and throughput of one and two workers.

    python benchmarks/many_workers.py de-en-shallow sources.de.xz results.json --lines 2000 --rounds 3

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
    """Finished shards at some time, and the CPU seconds of this process and of all that it started."""

    shards: int
    time: float
    cpu_seconds: float


def cpu_seconds() -> float:
    """CPU seconds of this process and all below it, those that have ended included."""
    ticks, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks.get(process, 0) for process in ours) / os.sysconf("SC_CLK_TCK")


def measured(config: TextDistillConfig, workers: int) -> dict[str, float]:
    """Throughput and CPU time of a distillation, from when each worker may have made a shard to the last shard."""
    folder = config.out.with_name(f"{config.out.name}.shards")
    shutil.rmtree(folder, ignore_errors=True)
    distill_text(replace(config, seconds=0.0, ray=None), quiet=True)  # splits
    moments: list[Moment] = []
    work = Thread(target=distill_text, args=(replace(config, shard=ALL_SHARDS),), kwargs={"quiet": True})
    work.start()
    while work.is_alive():
        moments.append(Moment(len(list(folder.glob("??????"))), time.monotonic(), cpu_seconds()))
        work.join(timeout=0.05)
    last = next(moment for moment in moments if moment.shards == moments[-1].shards)
    first = next(moment for moment in moments if moment.shards >= workers)
    lines = (last.shards - first.shards) * config.shard_lines
    return {
        "lines_per_second": lines / (last.time - first.time),
        "lines_per_cpu_second": lines / (last.cpu_seconds - first.cpu_seconds),
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
        for name in ("lines_per_second", "lines_per_cpu_second"):
            row[name] = statistics.median(one[name] for one in row["rounds"])
    return rows


def driver(config: TextDistillConfig, lines: int) -> dict[str, float]:
    """CPU seconds of the driver for a shard of so many lines, from runs of few and of many shards."""
    cat = replace(config, teacher="command:cat", every_line=True, shard_lines=lines, ray=RayConfig(workers=2))
    text = [line for line in read_lines(cat.text[0].source or Path()) if line]
    spent = {}
    for shards in (4, 24):
        source = cat.out.with_name(f"{shards}.txt")
        with source.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in itertools.islice(itertools.cycle(text), shards * lines))
        own = replace(cat, text=(TextConfig(source=source),), out=cat.out.with_name(f"cat-{shards}"))
        distill_text(replace(own, seconds=0.0), quiet=True)  # splits
        spent[shards] = timed(partial(distill_text, replace(own, shard=ALL_SHARDS), quiet=True))
    return {"lines": lines, "cpu_seconds": (spent[24]["cpu_seconds"] - spent[4]["cpu_seconds"]) / 20}


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
            "split_and_merge": splitting_and_merging(everything, 400_000, 20_000),
            "driver": driver(everything, 20_000),
        }
        result["folders"] = [folder_of_shards(scratch / str(shards), shards) for shards in (5_000, 50_000)]
        result["scaling"] = scaling(config, arguments.rounds)
    arguments.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
