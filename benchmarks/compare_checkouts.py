"""Translation speed of two checkouts of this repository, in turns, each in processes of its own.

    python benchmarks/compare_checkouts.py OLD NEW SENTENCES results.json [MODEL] [THREADS]

OLD and NEW are checkouts. SENTENCES is a text file, compressed or not, whose first 96 lines are translated one by one
and in batches of 32, lines of similar length together. Both run in this Python environment. A ratio above 1 says that
NEW is faster; it is the median over rounds in which both ran one after the other.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from maskpredict.bench.machine import describe_machine
from maskpredict.corpus.reading import read_lines

SENTENCES, ROUNDS, REPETITIONS = 96, 5, 3
BATCH_SIZES = (1, 32)
SETTINGS: list[dict[str, Any]] = [
    {"iterations": 4, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 5, "length_threshold": None},
]
PROGRAM = """
import json, sys, time
from maskpredict import Translator
model, threads, repetitions, sizes, settings, texts = json.load(sys.stdin)
translator = Translator(model, device="cpu", compute_type="int8", intra_threads=threads)
encode = translator.tokenizers.source.encode
texts.sort(key=lambda text: len(encode(text)))
rows = []
for setting in settings:
    for size in sizes:
        seconds = []
        for number in range(repetitions + 1):
            begin = time.perf_counter()
            for first in range(0, len(texts), size):
                translator.translate(texts[first : first + size], **setting)
            seconds.append(time.perf_counter() - begin)
        rows.append(min(seconds[1:]) / len(texts))
json.dump(rows, sys.stdout)
"""


def main(old: str, new: str, sentences: str, results: str, model: str = "de-en-shallow", threads: str = "2") -> None:
    """Measure; print and write the results."""
    texts = list(islice(read_lines(Path(sentences)), SENTENCES))
    question = json.dumps([model, int(threads), REPETITIONS, BATCH_SIZES, SETTINGS, texts])
    rounds = [[run(checkout, question) for checkout in (old, new)] for _ in range(ROUNDS)]
    rows = []
    cases = [(settings, size) for settings in SETTINGS for size in BATCH_SIZES]
    for number, (settings, size) in enumerate(cases):
        pairs = [(before[number], after[number]) for before, after in rounds]
        rows.append(
            {
                "settings": settings,
                "batch_size": size,
                "old_milliseconds": round(1e3 * statistics.median(before for before, _ in pairs), 3),
                "new_milliseconds": round(1e3 * statistics.median(after for _, after in pairs), 3),
                "ratio": round(statistics.median(before / after for before, after in pairs), 3),
            }
        )
        print(rows[-1], flush=True)
    commits = {name: commit_of(checkout) for name, checkout in (("old", old), ("new", new))}
    content = {
        "model": model,
        "rows": rows,
        "commits": commits,
        "machine": asdict(describe_machine("cpu", int(threads))),
    }
    Path(results).write_text(json.dumps(content, indent=1) + "\n")


def run(checkout: str, question: str) -> list[float]:
    """Seconds a sentence in one process, for every setting and batch size."""
    environment = {**os.environ, "PYTHONPATH": str(Path(checkout).resolve() / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=question, env=environment, capture_output=True, text=True, check=True
    )
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def commit_of(checkout: str) -> str:
    """The commit that is checked out."""
    done = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
