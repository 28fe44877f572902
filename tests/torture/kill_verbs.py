"""Kills verbs at random moments, or lets their disk run full or fail, until they are left alone; compares the results.

    python -m tests.torture.kill_verbs 500 --seed 1 --output results.json

Each story begins in an empty folder, or with an earlier result. A verb is disturbed between one and four times: killed
(-9) at a random moment or right before a random change of a file, or its disk is full, or fails with an input/output
error at a random call, once or ever after. Between two starts all files get times in the past or the future, and while
the verb runs the clock of the machine jumps by years. Then the verb runs with the clock's jumps alone. A story ends
well if

- the verb ends well, with the same files, byte for byte, as a run that was never disturbed (times aside),
- no finished piece of work was done again, nothing unfinished is left, and no process,
- an earlier result was there until the new one was, and
- a full and a failing disk were explained in one sentence, with exit code 2 and, on the full disk, nothing left behind.

Failing disks and jumps of the clock need a C compiler, which makes the library of `faults.c`.
Ends with status 1 if a story does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.torture import preload
from tests.torture.child import Ending, Fault, left_processes, run
from tests.torture.tasks import Task, make_tasks, result, unfinished

MOST_FAULTS = 4
"""Faults in one story."""
_LONG_AGO, _LATER = 0, 4_000_000_000


class Broken(AssertionError):
    """A promise that was not kept."""


@dataclass
class Reference:
    """An undisturbed run."""

    files: dict[str, Any]
    seconds: float
    operations: int
    calls: int
    largest: int
    """Bytes of its largest file."""


@dataclass
class Tally:
    """What happened to a task."""

    kills: int = 0
    full_disks: int = 0
    failing_disks: int = 0
    stories: int = 0
    kept: int = 0
    """Pieces of finished work that were there when the verb was killed, and not done again."""
    broken: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return self.kills + self.full_disks + self.failing_disks


def main() -> None:
    """Torture the verbs and print what happened as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", action="store_true", help="with the tasks that take seconds")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop earlier, after so many minutes")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if preload.CLOCK not in os.environ:
        sys.exit(_with_preload(arguments.seed))
    _import_all()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        os.environ[preload.FOLDER] = place
        deadline = started + 60 * arguments.minutes
        tallies = torture(Path(place), arguments.kills, random.Random(arguments.seed), deadline, slow=arguments.slow)
    content = {
        "command": f"python -m tests.torture.kill_verbs {arguments.kills} --seed {arguments.seed}"
        + " --slow" * arguments.slow
        + (f" --minutes {arguments.minutes:g}" if arguments.minutes < float("inf") else ""),
        "kills": sum(tally.kills for tally in tallies.values()),
        "full_disks": sum(tally.full_disks for tally in tallies.values()),
        "failing_disks": sum(tally.failing_disks for tally in tallies.values()),
        "stories": sum(tally.stories for tally in tallies.values()),
        "kept": sum(tally.kept for tally in tallies.values()),
        "broken": sum(len(tally.broken) for tally in tallies.values()),
        "seconds": round(time.monotonic() - started),
        "verbs": {name: vars(tally) for name, tally in tallies.items()},
    }
    text = json.dumps(content, indent=2)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    sys.exit(any(tally.broken for tally in tallies.values()))


def _with_preload(seed: int) -> int:
    """Run this command again with the library of faults, and return its exit code."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        library = preload.build(Path(folder))
        if library is None:
            print("there is no C compiler, so no disk will fail and the clock will not jump", file=sys.stderr)
        environment = {**os.environ, preload.CLOCK: str(seed), "LD_PRELOAD": str(library or "")}
        command = [sys.executable, "-m", "tests.torture.kill_verbs", *sys.argv[1:]]
        return subprocess.run(command, env=environment).returncode


def torture(place: Path, kills: int, chance: random.Random, deadline: float, *, slow: bool) -> dict[str, Tally]:
    """Make stories until there were so many kills, or the time is up."""
    tasks = make_tasks(place / "inputs", slow=slow)
    references = {task.name: _reference(task, place) for task in tasks}
    tallies = {task.name: Tally() for task in tasks}
    while (done := sum(tally.kills for tally in tallies.values())) < kills and time.monotonic() < deadline:
        print(f"{done} kills", file=sys.stderr)
        # The task that is furthest behind its share.
        task = min(tasks, key=lambda task: tallies[task.name].faults / task.weight)
        story = _Story(task, references[task.name], tallies[task.name], place / "story", chance)
        try:
            story.play(min(MOST_FAULTS, kills - done))
        except Broken as broken:
            tallies[task.name].broken.append(str(broken))
            print(f"{task.name}: {broken}", file=sys.stderr)
    return tallies


class _Story:
    def __init__(self, task: Task, reference: Reference, tally: Tally, folder: Path, chance: random.Random) -> None:
        self.task, self.reference, self.tally, self.chance = task, reference, tally, chance
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        task.prepare(folder)
        self.earlier = result(folder)
        self.tally.stories += 1

    def play(self, most: int) -> None:
        """Disturb the verb, then let it finish, and judge what it left."""
        for _ in range(self.chance.randint(1, most)):
            before, left = self.task.progress(self.folder), set(unfinished(self.folder))
            fault = self._fault()
            ending = run(self.task.arguments, self.folder, fault)
            self._judge(fault, ending, before)
            more = set(unfinished(self.folder)) - left
            if more and not ending.killed and fault.call is None:  # a disk that fails cannot be tidied
                raise Broken(f"leaves {sorted(more)}")
            self._jump_clock()
            if ending.code == 0:
                break
        ending = run(self.task.arguments, self.folder)
        if ending.code:
            raise Broken(f"does not continue: {ending.said[-2000:]}")
        if processes := left_processes():
            raise Broken(f"leaves the processes {processes}")
        if files := unfinished(self.folder):
            raise Broken(f"leaves {files}")
        _compare(self.reference.files, result(self.folder))

    def _fault(self) -> Fault:
        reference = self.reference
        kind = self.chance.choice(["seconds", "operation", "file_size"] + ["call"] * (reference.calls > 0))
        if kind == "seconds":
            return Fault(seconds=self.chance.uniform(0, 1.1 * reference.seconds))
        if kind == "operation":
            return Fault(operation=self.chance.randrange(1 + reference.operations))
        if kind == "call":
            count = self.chance.choice([1, reference.calls])
            return Fault(call=int(reference.calls ** self.chance.uniform(0.2, 1)), count=count)
        return Fault(file_size=int(reference.largest ** self.chance.uniform(0.2, 1)))

    def _judge(self, fault: Fault, ending: Ending, before: set[str]) -> None:
        """Check what a disturbed run left."""
        if ending.killed:
            self.tally.kills += 1
        elif fault.file_size is not None and ending.code:
            self.tally.full_disks += 1
            _judge_sentence(ending, "no room left")
        elif fault.call is not None and ending.code:
            self.tally.failing_disks += 1
            _judge_sentence(ending, "")
        elif ending.code:
            raise Broken(f"fails with code {ending.code}: {ending.said[-2000:]}")
        lost = before - self.task.progress(self.folder)
        if lost and "all" not in self.task.progress(self.folder):
            raise Broken(f"has lost {sorted(lost)}")
        self.tally.kept += len(before)
        if self.earlier:
            self._judge_earlier_result()

    def _judge_earlier_result(self) -> None:
        """The earlier result or the new one must be complete, at least under the name where the next run finds it."""
        files = result(self.folder)
        aside = {f"out/{name.partition('/')[2]}": content for name, content in files.items() if ".previous-" in name}
        if not any(_contains(files, wanted) for wanted in (self.earlier, self.reference.files)) and not _contains(
            aside, self.earlier
        ):
            raise Broken("has destroyed an earlier result")

    def _jump_clock(self) -> None:
        for path in self.folder.rglob("*"):
            when = self.chance.choice([_LONG_AGO, _LATER])
            os.utime(path, (when, when))


def _judge_sentence(ending: Ending, words: str) -> None:
    sentences = [line for line in ending.said.splitlines() if line.startswith("error: ")]
    # A worker process says what happened to it; its parent says besides that the worker has ended.
    if ending.code != 2 or not sentences or words not in sentences[0] or "Traceback" in ending.said:
        raise Broken(f"has no sentence on the disk (code {ending.code}): {ending.said[-3000:]}")


def _contains(files: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(name in files and files[name] == content for name, content in wanted.items())


def _compare(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    if expected.keys() != actual.keys():
        raise Broken(f"leaves other files: {sorted(expected.keys() ^ actual.keys())}")
    if changed := sorted(name for name in expected if expected[name] != actual[name]):
        raise Broken(f"has another result: {changed}")


def _reference(task: Task, place: Path) -> Reference:
    """Run a task undisturbed."""
    folder = place / "reference"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    task.prepare(folder)
    ending = run(task.arguments, folder)
    assert ending.code == 0, f"{task.name}: {ending.said}"
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Reference(result(folder), ending.seconds, ending.operations, ending.calls, max(sizes))


def _import_all() -> None:
    """Import what the verbs import, so that forked processes begin at once."""
    import onnxruntime  # noqa: F401
    import pydantic  # noqa: F401
    import torch._dynamo  # noqa: F401
    from torch.utils.tensorboard import SummaryWriter  # noqa: F401

    import maskpredict.cli
    import maskpredict.distill.by_text.run
    import maskpredict.engines.onnxruntime.engine
    import maskpredict.engines.torch.engine
    import maskpredict.reproduce.run
    import maskpredict.training.average
    import maskpredict.training.loop  # noqa: F401


if __name__ == "__main__":
    main()
