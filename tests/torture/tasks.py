"""The verbs that are tortured, made so small that each takes a fraction of a second, and what each must end with."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture.child import run

WORDS = [a + b for a in ("ba", "ko", "ti", "lu") for b in ("ne", "sa", "mo", "ri", "ke", "fu")]
TINY = "{width: 16, hidden: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1, max_positions: 64}"
TRAIN = [
    *("preset=tiny", f"model={TINY}", "device=cpu", "threads=1", "optimizer.warmup=4"),
    *("batch={tokens: 256, part_tokens: 128, max_length: 48}", "validation.every=5", "keep_best=2"),
]
RECIPE = [
    *("toy.train_pairs=120", "toy.valid_pairs=8", "toy.test_pairs=8", "distill.shard_pairs=30"),
    *("teacher.steps=12", "student.steps=12", "teacher.checkpoint_every=4", "student.checkpoint_every=4"),
    *(f"teacher.model={TINY}", f"student.model={TINY}", "distill.beam_size=1", "evaluate.teacher=[{beam_size: 1}]"),
]
_CLOCK = {"seconds", "tokens_per_second"}
_UNFINISHED = (".partial-", ".previous-")


@dataclass(frozen=True)
class Task:
    """A verb, and how to judge what it left."""

    name: str
    arguments: tuple[str, ...]
    weight: int
    """Share of the kills."""
    prepare: Callable[[Path], None] = lambda folder: None
    """Fills the folder in which it starts."""
    progress: Callable[[Path], set[str]] = lambda folder: set()
    """What is done so far, and may never be lost."""


def make_tasks(inputs: Path, *, slow: bool) -> list[Task]:
    """The tasks, with their input files, which are made first; `slow` ones take seconds each."""
    _make_inputs(inputs)
    data, text, model = inputs / "data", inputs / "text.xx", inputs / "ar" / "model"
    tsv, run_file = inputs / "train.tsv", inputs / "train.yaml"
    prepare = ("prepare", "out", "-s", "xx", "-t", "yy", "--train", str(tsv), "--valid", str(tsv), "--overwrite")
    ids = ("distill", "out", f"data={data}", f"teacher={model}", "beam_size=1", "shard_pairs=12", "device=cpu")
    by_text = ("distill", "out", "--teacher", "command:tr a-z A-Z", "--text", str(text), "-s", "xx", "-t", "yy")
    tasks = [
        Task("prepare", (*prepare, "--vocab-size", "60"), 4, _earlier(inputs / "data")),
        Task("train", ("train", str(run_file), "run=run"), 6, progress=_newest_update),
        Task("average", ("average", str(inputs / "ar" / "best-2"), "out", "--overwrite"), 4, _earlier(model)),
        Task("distill", ids, 6, progress=_finished_shards),
        Task("distill by text", (*by_text, "shard_lines=8"), 6, progress=_finished_shards),
        Task(
            "reproduce", ("reproduce", "toy", *RECIPE, "--work", "work", "--results", "results"), 6, progress=_records
        ),
        Task("translate lines", ("translate", "-m", str(model), str(text), "-o", "out.txt"), 3, _earlier_file, _lines),
        Task("translate a page", ("translate", "-m", str(model), str(inputs / "page.html"), "-o", "out.html"), 3),
    ]
    if slow:
        tasks.append(Task("distill, two processes", (*ids, "processes=2"), 1, progress=_finished_shards))
    return tasks


def result(folder: Path) -> dict[str, Any]:
    """All files that a run has left, without what depends on the clock."""
    files = [path for path in folder.rglob("*") if path.is_file() and "tfevents" not in path.name]
    return {str(path.relative_to(folder)): _content(path) for path in files}


def unfinished(folder: Path) -> list[str]:
    """Files and folders that only a killed process can have left."""
    return [str(path) for path in folder.rglob("*") if any(mark in path.name for mark in _UNFINISHED)]


def _content(path: Path) -> Any:
    if path.name == "metrics.jsonl":
        return [_timeless(json.loads(line)) for line in path.read_text().splitlines()]
    if path.suffix == ".json":
        return _timeless(json.loads(path.read_text()))
    if path.name == "README.md":  # a model card has the time of the training in it
        return None
    return path.read_bytes()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in {*_CLOCK, "state.json"}}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _make_inputs(inputs: Path) -> None:
    chance = random.Random(1)
    inputs.mkdir()
    sources = [" ".join(chance.choices(WORDS, k=chance.randint(2, 8))) for _ in range(60)]
    (inputs / "train.tsv").write_text("".join(f"{line}\t{line[::-1].upper()}\n" for line in sources))
    (inputs / "text.xx").write_text("".join(f"{line}\n" for line in sources))
    (inputs / "page.html").write_text("".join(f"<p>{line} <b>{line[:9]}</b></p>\n" for line in sources[:20]))
    (inputs / "train.yaml").write_text(f"data: {inputs / 'data'}\nsteps: 24\ncheckpoint_every: 3\n")
    train = ("train", "train.yaml", *TRAIN)
    pairs = ("--train", "train.tsv", "--valid", "train.tsv")
    for arguments in (
        ("prepare", "data", "-s", "xx", "-t", "yy", *pairs, "--vocab-size", "70"),
        (*train, "run=ar", "system=autoregressive", "steps=10"),
    ):
        ending = run(arguments, inputs)
        assert ending.code == 0, ending.said
    lines = (inputs / "ar" / "config.yaml").read_text()
    (inputs / "train.yaml").write_text(
        lines.replace("run: ar", "run: run")
        .replace("system: autoregressive", "system: cmlm")
        .replace("steps: 10", "steps: 24")
        .replace("data: data", f"data: {inputs / 'data'}")
    )


def _earlier(folder: Path) -> Callable[[Path], None]:
    """Begin with an earlier result in the place of the new one."""

    def put(start: Path) -> None:
        shutil.copytree(folder, start / "out")

    return put


def _earlier_file(start: Path) -> None:
    (start / "out.txt").write_text("an earlier translation\n")


def _lines(folder: Path) -> set[str]:
    """Translated lines; none before there are any of this run."""
    kept, out = folder / "out.txt.unfinished", folder / "out.txt"
    if kept.exists():
        whole = kept.read_bytes().rpartition(b"\n")[0].splitlines()[1:]
        return {f"{number} {json.loads(line)[1]}" for number, line in enumerate(whole)}
    return {f"{number} {line}" for number, line in enumerate(out.read_text().splitlines()) if "earlier" not in line}


def _newest_update(folder: Path) -> set[str]:
    """Updates up to that of the newest checkpoint."""
    names = [path.parent.name for path in folder.glob("run/checkpoints/update-????????/state.json")]
    return {f"update {number}" for number in range(1 + max((int(name[-8:]) for name in names), default=0))}


def _finished_shards(folder: Path) -> set[str]:
    """Shards by name and inode, since a shard that is made again is lost work; all, once they are merged."""
    shards = [path for path in folder.glob("out.shards/*") if path.is_dir() and path.name.isdigit()]
    return {f"{path.name} {path.stat().st_ino}" for path in shards} | ({"all"} if (folder / "out").exists() else set())


def _records(folder: Path) -> set[str]:
    """Stages that are finished."""
    records = {path.stem: json.loads(path.read_text()) for path in folder.glob("work/*.json")}
    return {name for name, record in records.items() if record["finished"]}
