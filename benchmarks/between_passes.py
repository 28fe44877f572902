"""How much of a translation onnxruntime's graphs take, and how much the NumPy between two passes.

    python benchmarks/between_passes.py --out benchmarks/results/between-passes.json

One sentence after the other on one thread and on all, with a shipped model in int8. Times are medians over rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from maskpredict import Translator
from maskpredict.bench.machine import describe_machine
from maskpredict.config import to_dict
from maskpredict.engines.onnxruntime.engine import OnnxruntimeEngine
from maskpredict.engines.onnxruntime.program import Program

SENTENCES = [
    "Der Ausschuss wird morgen über diesen Bericht abstimmen, bevor das Parlament darüber entscheidet.",
    "Wir haben gestern im Park einen kleinen Hund gesehen, der mit einem roten Ball spielte.",
    "Die Regierung hat beschlossen, die Steuern im kommenden Jahr nicht zu erhöhen.",
    "Ich weiß nicht, ob er heute kommt, aber ich hoffe es sehr, denn wir haben viel zu besprechen.",
]
SETTINGS: list[dict[str, Any]] = [
    {"iterations": 4, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 5, "length_threshold": None},
]


class Stopwatch:
    """Counts the seconds that a program spends in onnxruntime, and its runs."""

    def __init__(self, program: Program) -> None:
        self.seconds, self.runs, self._run = 0.0, 0, program.run
        program.run = self.run  # type: ignore[method-assign]

    def run(self, inputs: Any, outputs: list[str]) -> Any:
        """Run the graph."""
        begin = time.perf_counter()
        results = self._run(inputs, outputs)
        self.seconds += time.perf_counter() - begin
        self.runs += 1
        return results


def measure(translator: Translator, settings: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return milliseconds a sentence in total and inside onnxruntime, and microseconds between two passes."""
    engine = translator.engine
    assert isinstance(engine, OnnxruntimeEngine)
    encoder, decoder = Stopwatch(engine.source_program), Stopwatch(engine.decoder_program)
    rows = []
    for number in range(rounds + 2):
        for stopwatch in (encoder, decoder):
            stopwatch.seconds, stopwatch.runs = 0.0, 0
        begin = time.perf_counter()
        for sentence in SENTENCES:
            translator.translate([sentence], **settings)
        total = time.perf_counter() - begin
        if number > 1:
            outside = total - encoder.seconds - decoder.seconds
            rows.append((total / len(SENTENCES), decoder.seconds / decoder.runs, outside / decoder.runs))
    total, in_pass, outside = (statistics.median(column) for column in zip(*rows, strict=True))
    return {
        "settings": settings,
        "milliseconds_per_sentence": round(1e3 * total, 3),
        "microseconds_per_pass_in_onnxruntime": round(1e6 * in_pass, 1),
        "microseconds_per_pass_outside": round(1e6 * outside, 1),
        "share_outside": round(outside / (in_pass + outside), 4),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="de-en-shallow")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = []
    for settings in SETTINGS:
        translator = Translator(given.model, device="cpu", compute_type="int8", engine="onnxruntime", intra_threads=1)
        rows.append(measure(translator, settings, given.rounds))
        print(rows[-1], flush=True)
    machine = to_dict(describe_machine("cpu", 1))
    given.out.write_text(json.dumps({"model": given.model, "rows": rows, "machine": machine}, indent=1) + "\n")


if __name__ == "__main__":
    main()
