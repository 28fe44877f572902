"""Tries damaged input on every reader and reports what went wrong as JSON.

    python -m tests.fuzz.fuzz_readers INPUTS --out FILE

INPUTS is their number in all. A few of them are guided by what code they reach: atheris, a libFuzzer for Python,
changes the seeds and keeps what reaches new lines of this package. That costs ten times what reading costs, so the
others are random changes of what it has kept. Those are divided among the readers in part evenly, in part so that each
reader gets the same time. Each reader has processes of its own. An input that crashes the process, takes long, needs
much memory, or leaves the reader with anything but one sentence is kept in the folder that --findings names. Ends with
status 1 if there was one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

GUIDED, EVEN = 1 / 32, 1 / 4
"""Shares of the inputs that are guided, and that are divided evenly."""
MOST_FINDINGS = 5
"""Findings after which a reader is given up."""


@dataclass(frozen=True)
class Report:
    """What came of one reader."""

    reader: str
    inputs: int
    guided: int
    """How many of them were guided."""
    features: int
    """Edges of the control flow that the guided inputs reached, with how often, as libFuzzer counts them."""
    seconds: float
    """Time of its processes, their start included."""
    findings: tuple[str, ...]
    """Files with the inputs that went wrong."""


def main() -> None:
    """Fuzz all readers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", type=int)
    parser.add_argument("--readers", nargs="+", help="names; default all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    arguments = parser.parse_args()
    from tests.fuzz.readers import NAMES

    arguments.findings.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="fuzz-corpus-") as place:
        all_fuzzing = [
            _Fuzzing(name, arguments.seed, Path(place, name), arguments.findings) for name in arguments.readers or NAMES
        ]
        fuzz(all_fuzzing, arguments.inputs, arguments.out)
    reports = [fuzzing.report() for fuzzing in all_fuzzing]
    print(_as_json(reports))
    sys.exit(any(report.findings for report in reports))


def fuzz(readers: list[_Fuzzing], inputs: int, out: Path | None) -> None:
    """Try so many inputs in all; what came of them is written to a file meanwhile, since it takes hours."""
    for reader in readers:
        reader.repeat("guided", round(inputs * GUIDED / len(readers)))
        reader.repeat("plain", round(inputs * EVEN / len(readers)))
        _write(readers, out)
    left = inputs - sum(reader.done["guided"] + reader.done["plain"] for reader in readers)
    speeds = [reader.speed for reader in readers]
    for reader, speed in zip(readers, speeds, strict=True):
        reader.repeat("plain", round(left * speed / sum(speeds)))
        _write(readers, out)


def _write(readers: list[_Fuzzing], out: Path | None) -> None:
    if out is not None:
        out.write_text(_as_json([reader.report() for reader in readers]), encoding="utf-8")


def _as_json(reports: list[Report]) -> str:
    result = {
        "command": " ".join(["python -m tests.fuzz.fuzz_readers", *sys.argv[1:]]),
        "inputs": sum(report.inputs for report in reports),
        "guided": sum(report.guided for report in reports),
        "readers_tried": len(reports),
        "findings": sum(len(report.findings) for report in reports),
    }
    return json.dumps({**result, "readers": [asdict(report) for report in reports]}, indent=1) + "\n"


class _Fuzzing:
    """The processes that fuzz one reader, one after another, each with another seed."""

    def __init__(self, name: str, seed: int, corpus: Path, findings: Path) -> None:
        self.name, self.seed, self.corpus, self.findings = name, seed, corpus, findings
        self.kept: list[str] = []
        self.done = {"guided": 0, "plain": 0}
        self.seconds, self.plain_seconds, self.features = 0.0, 0.0, 0
        corpus.mkdir()

    @property
    def speed(self) -> float:
        """Plain inputs a second; 0 for a reader that is given up."""
        return 0.0 if len(self.kept) >= MOST_FINDINGS else self.done["plain"] / self.plain_seconds

    def repeat(self, kind: Literal["guided", "plain"], inputs: int) -> None:
        """Try so many more inputs, also after a finding."""
        done = 0
        while done < inputs and len(self.kept) < MOST_FINDINGS:
            done += self._start(kind, inputs - done)
        self.done[kind] += done
        print(f"{self.name}: {done} {kind} inputs, {len(self.kept)} findings", file=sys.stderr)

    def report(self) -> Report:
        """What came of it so far."""
        inputs, guided = sum(self.done.values()), self.done["guided"]
        return Report(self.name, inputs, guided, self.features, round(self.seconds, 1), tuple(self.kept))

    def _start(self, kind: str, inputs: int) -> int:
        """Start a process that tries inputs, and return how many it tried until its end."""
        begin, before = time.monotonic(), set(self.findings.iterdir())
        self.seed += 1
        command = [sys.executable, "-m", f"tests.fuzz.{kind}", self.name, str(inputs), str(self.seed)]
        command += [str(self.corpus), str(self.findings)]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        self.seconds += time.monotonic() - begin
        counts = [int(count) for count in re.findall(r"^#(\d+)\s", run.stderr, re.MULTILINE)]
        self.features = max([self.features, *(int(count) for count in re.findall(r" ft: (\d+)", run.stderr))])
        self.plain_seconds += sum(float(seconds) for seconds in re.findall(r" tried in (\S+) s", run.stderr))
        new = sorted(set(self.findings.iterdir()) - before)
        self.kept += [path.name for path in new]
        if run.returncode and not new:
            self.kept.append(f"{self.name}: exit code {run.returncode}")
        if run.returncode:
            print(f"{self.name}\n{run.stderr[-6_000:]}", file=sys.stderr)
        return max([1, *counts])


if __name__ == "__main__":
    main()
