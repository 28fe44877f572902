"""Where the time of a translation on a CPU in eight bits goes, part by part.

    python benchmarks/cpu_profile.py CMLM SENTENCES results.json [THREADS]

SENTENCES is a text file, compressed or not, whose first 96 lines are translated in 4 passes with one length candidate,
one by one and 32 at a time, lines of similar length together as in `maskpredict bench`. The whole is timed first. Then
it is done again under onnxruntime's own profiler, which says how long each operator of the graphs took, and takes some
time itself. Where several threads are at work, each on a sentence of its own, their times are divided by their number.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import onnxruntime

from maskpredict.bench.machine import describe_machine
from maskpredict.corpus.reading import read_lines
from maskpredict.engines.onnxruntime.sessions import OnnxruntimeTransformer
from maskpredict.runtime.translator import Translator

SENTENCES, ROUNDS = 96, 9
BATCH_SIZES = (1, 32)
SETTINGS: dict[str, Any] = {"iterations": 4, "length_candidates": 1}
LAYERS, VOCABULARY, OTHER = "layers' products", "vocabulary's product", "taking apart and putting together"
BETWEEN, OUTSIDE = "between operators", "outside the graphs: Python, masks, lengths, subwords"
PARTS = {
    "DynamicQuantizeMatMul": LAYERS,
    "MultiHeadAttention": "attention",
    "Gelu": "activation",
    "Relu": "activation",
    "LayerNormalization": "layer norms, sums",
    "Add": "layer norms, sums",
    "LogSoftmax": "best tokens",
    "TopK": "best tokens",
    "GatherElements": "best tokens",
}
"""What an operator belongs to; all others are `OTHER`."""


@dataclass(frozen=True)
class Profile:
    """One batch size; milliseconds are for one sentence."""

    batch_size: int
    milliseconds: float
    """Median over rounds, without the profiler."""
    parts: dict[str, float]
    """Mean over rounds, with the profiler."""
    operations: float
    """Of the matrix products for one sentence, in thousand millions; a multiplication and an addition are two."""


def main(model: str, sentences: str, results: str, threads: str = "2") -> None:
    """Measure; write and print the results."""
    plain = Translator(model, device="cpu", compute_type="int8", intra_threads=int(threads))
    encode = plain.tokenizers.source.encode
    texts = sorted(islice(read_lines(Path(sentences)), SENTENCES), key=lambda text: len(encode(text)))
    totals = [median(seconds_of(plain, texts, size)[1:]) for size in BATCH_SIZES]
    profiles = [
        profile(model, texts, size, int(threads), total) for size, total in zip(BATCH_SIZES, totals, strict=True)
    ]
    print(table(profiles))
    machine = asdict(describe_machine("cpu", int(threads)))
    content = {"machine": machine, "settings": SETTINGS, "profiles": [asdict(one) for one in profiles]}
    Path(results).write_text(json.dumps(content, indent=1) + "\n")


def seconds_of(translator: Translator, texts: Sequence[str], size: int) -> list[float]:
    """How long each round over all texts took; the first one warms up."""
    found = []
    for _ in range(1 + ROUNDS):
        started = time.perf_counter()
        for first in range(0, len(texts), size):
            translator.translate(texts[first : first + size], **SETTINGS)
        found.append(time.perf_counter() - started)
    return found


def profile(model: str, texts: Sequence[str], size: int, threads: int, total: float) -> Profile:
    """Several rounds over all texts under onnxruntime's profiler; `total` is what one takes without it."""
    with tempfile.TemporaryDirectory() as folder:
        plain_options = onnxruntime.SessionOptions

        def options() -> onnxruntime.SessionOptions:
            own = plain_options()
            own.enable_profiling, own.profile_file_prefix = True, f"{folder}/profile"
            return own

        onnxruntime.SessionOptions = options
        translator = Translator(model, device="cpu", compute_type="int8", intra_threads=threads)
        took = sum(seconds_of(translator, texts, size))
        onnxruntime.SessionOptions = plain_options
        events = [event for file in profiles_of(translator) for event in json.loads(Path(file).read_text())]
    vocabulary, rounds = translator.tokenizers.target.vocab_size, 1 + ROUNDS
    at_once = threads if size > 1 else 1
    seconds: dict[str, float] = defaultdict(float)
    operations = 0.0
    for event in events:
        own = event["dur"] / 1e6 / at_once
        if event["name"] == "model_run":
            seconds[BETWEEN] += own
        elif is_operator(event):
            part = PARTS.get(event["args"]["op_name"], OTHER)
            if part == LAYERS:
                operations += products(event["args"])
                part = VOCABULARY if shape_of(event["args"], "output_type_shape")[-1] == vocabulary else LAYERS
            seconds[part] += own
            seconds[BETWEEN] -= own
    seconds[OUTSIDE] = took - sum(seconds.values())
    each = 1000 / rounds / len(texts)
    parts = {part: round(own * each, 3) for part, own in sorted(seconds.items(), key=lambda item: -item[1])}
    return Profile(size, round(1000 * total / len(texts), 3), parts, round(operations / rounds / len(texts) / 1e9, 3))


def is_operator(event: dict[str, Any]) -> bool:
    """True of what an operator took; what a loop took is said again of each operator in it."""
    timed = event["cat"] == "Node" and event["name"].endswith("kernel_time")
    return bool(timed and event["args"]["op_name"] != "Loop")


def profiles_of(translator: Translator) -> list[str]:
    """The files that the profiler wrote."""
    transformer = translator.system.transformer
    assert isinstance(transformer, OnnxruntimeTransformer)
    programs = (transformer.source_program, transformer.decoder_program, transformer.draft_program)
    return [session.end_profiling() for program in programs for session in program.sessions.values()]


def products(of_node: dict[str, Any]) -> float:
    """Operations of a matrix product."""
    inputs, outputs = (shape_of(of_node, name) for name in ("input_type_shape", "output_type_shape"))
    rows = 1
    for size in outputs[:-1]:
        rows *= size
    return 2.0 * rows * inputs[-1] * outputs[-1]


def shape_of(of_node: dict[str, Any], name: str) -> list[int]:
    """The shape of a node's first input or output."""
    (shape,) = of_node[name][0].values()
    return list(shape)


def table(profiles: Sequence[Profile]) -> str:
    """As Markdown: milliseconds of each part and its share."""
    lines = ["| part |" + "".join(f" ms, batches of {one.batch_size} | share |" for one in profiles)]
    lines.append("|---|" + "---:|---:|" * len(profiles))
    for part in profiles[0].parts:
        found = [(one.parts.get(part, 0), one.parts.get(part, 0) / sum(one.parts.values())) for one in profiles]
        lines.append(f"| {part} |" + "".join(f" {took:.1f} | {share:.0%} |" for took, share in found))
    lines.append("| all |" + "".join(f" {sum(one.parts.values()):.1f} | |" for one in profiles))
    lines.append("| without the profiler |" + "".join(f" {one.milliseconds:.1f} | |" for one in profiles))
    for one in profiles:
        rate = one.operations / (one.parts[LAYERS] + one.parts[VOCABULARY])
        lines.append(
            f"\nBatches of {one.batch_size}: products of {one.operations:.1f} thousand million operations a sentence, "
            f"{1000 * rate:.0f} thousand million a second."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
