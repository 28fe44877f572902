"""Tries damaged input on every reader, guided by what code it reaches, and reports what went wrong as JSON.

    python -m tests.fuzz.fuzz_readers INPUTS --out FILE

INPUTS is their number in all, divided evenly among the readers. Each reader has a process of its own, in which
atheris, a libFuzzer for Python, changes the seeds and keeps what reaches new lines of this package. An input that
crashes the process, takes long, needs much memory, or leaves the reader with anything but one sentence is kept in the
folder that --findings names. Ends with status 1 if there was one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.damage import PAYLOADS
from tests.fuzz.mutation import mutate

HANG_SECONDS, MEMORY_MB = 20, 2_000
"""Limits of an input: time on a busy machine, and memory that the process may take beyond what it starts with."""
MAX_BYTES = 65_536
"""Longest input; a small Word file has 36,000."""


@dataclass(frozen=True)
class Report:
    """What came of one reader."""

    reader: str
    inputs: int
    features: int
    """Edges of the control flow that were reached, with how often, as libFuzzer counts them."""
    seconds: float
    findings: tuple[str, ...]
    """Files with the inputs that went wrong."""


def main() -> None:
    """Fuzz all readers, or as a child process one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", type=int)
    parser.add_argument("--readers", nargs="+", help="names; default all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _run_child(arguments.child, arguments.inputs, arguments.seed, arguments.findings)
        return
    from tests.fuzz.readers import NAMES

    names = arguments.readers or NAMES
    reports = [_fuzz(name, arguments.inputs // len(names), arguments.seed, arguments.findings) for name in names]
    result = {
        "inputs": sum(report.inputs for report in reports),
        "readers_tried": len(reports),
        "findings": sum(len(report.findings) for report in reports),
    }
    text = json.dumps({**result, "readers": [asdict(report) for report in reports]}, indent=1) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    sys.exit(1 if result["findings"] else 0)


def _fuzz(name: str, inputs: int, seed: int, findings: Path) -> Report:
    """Fuzz one reader in a process of its own; after a finding it goes on with another seed."""
    findings.mkdir(parents=True, exist_ok=True)
    begin, done, features, kept = time.monotonic(), 0, 0, list[str]()
    while done < inputs and len(kept) < 5:
        before = set(findings.iterdir())
        command = [sys.executable, "-m", "tests.fuzz.fuzz_readers", str(inputs - done), "--child", name]
        command += ["--seed", str(seed + len(kept)), "--findings", str(findings)]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        counts = [int(count) for count in re.findall(r"^#(\d+)\s", run.stderr, re.MULTILINE)]
        done += max([1, *counts])
        features = max([features, *(int(count) for count in re.findall(r" ft: (\d+)", run.stderr))])
        new = sorted(set(findings.iterdir()) - before)
        kept += [path.name for path in new]
        if run.returncode and not new:
            kept.append(f"{name}: exit code {run.returncode}")
        if run.returncode:
            print(f"{name}\n{run.stderr[-6_000:]}", file=sys.stderr)
    seconds = round(time.monotonic() - begin, 1)
    print(f"{name}: {done} inputs in {seconds} s, {features} features, {len(kept)} findings", file=sys.stderr)
    return Report(name, done, features, seconds, tuple(kept))


def _run_child(name: str, inputs: int, seed: int, findings: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["maskpredict"]):
        from tests.fuzz.guard import check
        from tests.fuzz.readers import make_readers

    with TemporaryDirectory(prefix="fuzz-") as home:
        folder = Path(home)
        (reader,) = (one for one in make_readers(folder) if one.name == name)
        corpus, words = folder / "corpus", folder / "words"
        corpus.mkdir()
        for number, content in enumerate(reader.seeds):
            (corpus / str(number)).write_bytes(content)
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in PAYLOADS))

        def test(content: bytes) -> None:
            sentence = check(reader.read, content, folder)
            if sentence is not None and (not sentence or "\n" in sentence):
                raise ValueError(f"not one sentence: {sentence!r}")

        _limit_memory()
        options = [
            f"-runs={inputs}",
            f"-seed={seed}",
            f"-timeout={HANG_SECONDS}",
            f"-dict={words}",
            "-print_final_stats=1",
        ]
        options += [
            f"-max_len={MAX_BYTES}",
            "-len_control=0",
            "-rss_limit_mb=0",
            f"-artifact_prefix={findings.resolve()}/{name}-",
        ]

        def change(content: bytes, max_bytes: int, seed: int) -> bytes:
            return mutate(content, max_bytes, seed, atheris.Mutate)

        atheris.Setup([sys.argv[0], *options, str(corpus)], test, custom_mutator=change)
        atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _limit_memory() -> None:
    """Let allocations fail that would take much more than the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_MB * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
