"""Many sentences on a GPU: whether recordings give the text of the plain path, and how many positions they should have.

    python benchmarks/gpu_batches.py MODEL test.de test.en RESULTS.json

The text is compared one by one and in batches, and with that of float32. Throughput is that of all sentences given at
once, in batches of several sizes, with the host at work on one batch while the GPU is on the next, and with the two in
turns.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from maskpredict import Translator
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.masked import MaskedDecoder
from maskpredict.engines.cuda import capture_shape
from maskpredict.engines.cuda.captures import CMLMCaptures
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.systems.cmlm import CMLM

SENTENCES = 2_000
ALL_LENGTHS = {"length_threshold": None, "length_weight": 0.0}
SETTINGS: list[dict[str, Any]] = [
    {"iterations": 4, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 5, **ALL_LENGTHS},
]
BATCHES = (1, 10, 32, 256)
POSITIONS = (4_096, 6_144, 8_192, 12_288, 16_384, 24_576)
REPETITIONS = 2


def main(model: str, source: str, reference: str, output: str) -> None:
    """Measure, and write what was found so far after each step."""
    sources, references = (Path(path).read_text("utf-8").split("\n")[:SENTENCES] for path in (source, reference))
    translator = Translator(model, device="cuda", compute_type="float16")
    exact = Translator(model, device="cuda", compute_type="float32")
    engine_of(exact).capturing = False
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    found: dict[str, Any] = {**machine, "same": [], "throughput": []}

    def note(kind: str, row: dict[str, Any]) -> None:
        found[kind].append(row)
        print(kind, row, flush=True)
        Path(output).write_text(json.dumps(found, indent=1) + "\n")

    for settings in SETTINGS:
        note("same", same_text(translator, exact, sources, references, settings))
    for settings in (SETTINGS[0], SETTINGS[2]):
        for positions in POSITIONS:
            note("throughput", throughput(translator, sources, settings, positions))


def engine_of(translator: Translator) -> CudaEngine:
    """The engine, which captures."""
    assert isinstance(translator.engine, CudaEngine)
    return translator.engine


def same_text(
    translator: Translator,
    exact: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Shares of equal texts, and BLEU, for each size of a batch."""

    def bleu(texts: Sequence[str]) -> float:
        return float(sacrebleu.corpus_bleu(texts, [references]).score)

    engine_of(translator).capturing = False
    plain, precise = (in_batches(one, sources, settings, None) for one in (translator, exact))
    engine_of(translator).capturing = True
    row: dict[str, Any] = {"settings": settings, "sentences": len(sources), "plain_is_float32": share(plain, precise)}
    row |= {"bleu_plain": bleu(plain), "bleu_float32": bleu(precise)}
    for size in BATCHES:
        texts = in_batches(translator, sources, settings, size)
        row[f"same_{size}"], row[f"is_float32_{size}"] = share(texts, plain), share(texts, precise)
        row[f"bleu_{size}"] = bleu(texts)
    return row


def in_batches(translator: Translator, sources: Sequence[str], settings: dict[str, Any], size: int | None) -> list[str]:
    """Translations of all, so many at a time, sorted by length; without a size, all at once."""
    order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
    texts = [""] * len(sources)
    for first in range(0, len(order), size or len(order)):
        batch = order[first : first + (size or len(order))]
        # Large shapes are recorded when they come a second time.
        for _ in range(1 if size is None or size < max(BATCHES) else 2):
            translations = translator.translate([sources[number] for number in batch], **settings)
        for number, translation in zip(batch, translations, strict=True):
            texts[number] = translation.text
    return texts


def share(texts: Sequence[str], others: Sequence[str]) -> float:
    """Of equal ones."""
    return sum(one == other for one, other in zip(texts, others, strict=True)) / len(texts)


def throughput(
    translator: Translator, sources: Sequence[str], settings: dict[str, Any], positions: int
) -> dict[str, Any]:
    """Sentences a second with so many positions in a recording, the best of several times."""
    engine, decoder = engine_of(translator), translator.decoder
    assert isinstance(engine.system, CMLM)
    capture_shape.BEST_POSITIONS, capture_shape.MAX_POSITIONS = positions, 2 * positions + 16_384
    engine.captures = CMLMCaptures(engine.system)
    for _ in range(3):  # seen, recorded, and once more
        translator.translate(sources, **settings)

    def at_once(requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        results = MaskedDecoder.start(decoder, requests, settings)()  # type: ignore[arg-type]
        return lambda: results

    row: dict[str, Any] = {"settings": settings, "positions": positions}
    for _ in range(REPETITIONS):
        for way in ("overlapped", "in_turns"):
            if way == "in_turns":
                decoder.start = at_once  # type: ignore[method-assign]
            started = time.perf_counter()
            translator.translate(sources, **settings)
            speed = round(len(sources) / (time.perf_counter() - started))
            vars(decoder).pop("start", None)
            row[way] = max(row.get(way, 0), speed)
    row["gigabytes"] = round(torch.cuda.memory_reserved() / 2**30, 1)
    return row


if __name__ == "__main__":
    main(*sys.argv[1:])
