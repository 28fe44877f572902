"""The cost of an installation that only translates: disk, import time, time to the first translation, memory.

    python benchmarks/runtime_footprint.py RESULTS.json ROW [TREE]

Installs TREE, by default this repository, into a new virtual environment with its `deploy/install.sh`, without extras,
and measures there on a CPU. The row is put beside the others in RESULTS.json, or in place of the one of its name.
Each number is the median of `RUNS` new processes with their files in the page cache; a megabyte is 10^6 bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from maskpredict.bench.machine import BackgroundLoad, describe_machine

RUNS = 15
ALLOWED_BUSY_CORES = 0.1
MODEL = "de-en"
SENTENCE = "Die Kinder haben den ganzen Nachmittag am Fluss gespielt und sind jetzt müde."
TARGETS = {
    "installed_mb": 250.0,
    "import_seconds": 0.15,
    "import_translator_seconds": 0.15,
    "first_translation_seconds": 1.0,
    "resident_mb": 250.0,
}
"""The most that each measure may be; `import` is of `maskpredict`, and of the `Translator` with all that it needs."""

_IMPORT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
_RESIDENT = f"""
from maskpredict import Translator
translator = Translator({MODEL!r}, device="cpu")
assert translator.translate([{SENTENCE!r}])[0].text
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmRSS"].split()[0]) * 1024 / 1e6)
"""
_INSTALLED = """
import json
from importlib.metadata import distributions
tools = {"pip", "setuptools"}
sizes, versions = {}, {}
for found in distributions():
    name = found.metadata["Name"]
    if name in tools:
        continue
    files = [file for file in found.files or () if file.parts[:2] != ("maskpredict", "models")]
    paths = [file.locate() for file in files]
    sizes[name] = round(sum(path.stat().st_size for path in paths if path.is_file()) / 1e6, 2)
    versions[name] = found.version
print(json.dumps({"sizes": sizes, "versions": versions}))
"""


def main(results: Path, row: str, tree: Path) -> None:
    """Measure one tree and write its row."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "environment"
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        command = [tree / "deploy" / "install.sh", folder]
        subprocess.run(command, env={**clean, "PYTHON": sys.executable}, check=True)
        measured = measure(folder / "bin" / "python", Path(scratch), clean)
    document = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"rows": {}}
    rows = {**document["rows"], row: {"commit": _commit(tree), **measured}}
    text = json.dumps({"targets": TARGETS, "rows": rows}, indent=1, ensure_ascii=False)
    results.write_text(text + "\n", encoding="utf-8")
    for name, most in TARGETS.items():
        print(f"{name:28} {measured[name]:8.3f}   at most {most:g}")
    busy = measured["cores_busy_with_other_programs"]
    if busy > ALLOWED_BUSY_CORES:
        print(f"Other programs kept {busy:.1f} cores busy: the times are too long; measure again on a quiet machine.")


def measure(python: Path, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """All measures of the installation that `python` belongs to, and the machine they were taken on."""

    def run(code: str) -> str:
        done = subprocess.run([python, "-c", code], cwd=folder, env=environment, check=True, capture_output=True)
        return done.stdout.decode()

    def imported(statement: str) -> float:
        return float(run(_IMPORT.format(statement)))

    def first_translation() -> float:
        """Seconds from the start of a process to its first line of output."""
        command = [str(python), "-m", "maskpredict.cli", "translate", "-m", MODEL, "--device", "cpu"]
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(SENTENCE.encode() + b"\n")
            process.stdin.close()
            assert process.stdout.readline().strip()
            return time.perf_counter() - start

    installed = json.loads(run(_INSTALLED))
    others = BackgroundLoad()
    runs = {
        "import_seconds": _repeated(lambda: imported("import maskpredict")),
        "import_translator_seconds": _repeated(
            lambda: float(run(_IMPORT.format("from maskpredict import Translator")))
        ),
        "first_translation_seconds": _repeated(first_translation),
        "resident_mb": _repeated(lambda: float(run(_RESIDENT))),
    }
    threads = len(os.sched_getaffinity(0))
    return {
        "installed_mb": round(sum(installed["sizes"].values()), 1),
        **{name: round(median(values), 4) for name, values in runs.items()},
        "model": MODEL,
        "runs": {name: [round(value, 4) for value in values] for name, values in runs.items()},
        "cores_busy_with_other_programs": round(others.cores() or 0.0, 2),
        "installed_mb_by_package": dict(sorted(installed["sizes"].items(), key=lambda item: -item[1])),
        "machine": asdict(replace(describe_machine("cpu", threads), versions=installed["versions"])),
    }


def _repeated(take: Callable[[], float]) -> list[float]:
    take()  # leaves what it reads in the page cache
    return [take() for _ in range(RUNS)]


def _commit(tree: Path) -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=tree, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3] if len(sys.argv) > 3 else Path(__file__).parents[1]))
