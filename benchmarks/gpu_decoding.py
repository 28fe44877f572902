"""Translation of single sentences on a GPU three ways: plainly, as recorded graphs, and as graphs of fused kernels.

    python benchmarks/gpu_decoding.py CMLM TEACHER DATA SPLIT results.json [SENTENCES] [COMPUTE_TYPE]

For both models and several settings, in float16 if not said otherwise, text in and text out: how many sentences come
out the same as plainly, as plainly in float32, once more, and beside others; how long one takes (median), and how long
one of 27 subwords takes, how much of it to launch its graph. Beside the results, `results.kernels.txt` lists the GPU
kernels of a translation in 4 passes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from maskpredict.corpus.dataset import Dataset
from maskpredict.engines.cuda.captured_search import SearchCaptures
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator

SENTENCES = 100
LENGTH = 27
"""Subwords of the sentence that is measured by itself."""
REPETITIONS = 50
"""How often it is translated."""
TOGETHER = 16
"""Sentences of a batch."""
COMPUTE_TYPE = "float16"
CMLM_SETTINGS: list[dict[str, Any]] = [
    {"iterations": 4, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 5},
    {"speed": "fast"},
    {"speed": "balanced"},
    {"speed": "best"},
]
BEAM_SETTINGS: list[dict[str, Any]] = [{"beam_size": 1}, {"beam_size": 5}]
WAYS = ("plain", "recorded", "fused")


@dataclass(frozen=True)
class Way:
    """One model under one setting, computed one way."""

    name: str
    fused: bool
    """Whether fused kernels were really used: they are given up where they fail."""
    same_text: float
    """Share of the sentences that come out as they do plainly."""
    same_as_float32: float
    """Share of those that come out as they do plainly in float32."""
    same_again: float
    """Share of those that come out the same every time."""
    milliseconds: float
    """Median over the sentences."""
    milliseconds_of_27: float
    """Median over repetitions of one sentence of 27 subwords."""
    milliseconds_to_launch: float | None
    """Median until the graph of that sentence is launched; None where there is no such graph."""
    milliseconds_of_graph: float | None
    """Median until it has run."""
    milliseconds_of_batch: float
    """Median over batches of 16, for the whole batch."""
    same_in_batch: float
    """Share of the sentences with the same text in such a batch as alone."""
    furthest_in_batch: float
    """Largest difference of a score in such a batch to the one alone, of those with the same text."""


@dataclass(frozen=True)
class Measurement:
    """One model under one setting."""

    settings: dict[str, Any]
    sentences: int
    ways: list[Way]


def main(
    cmlm: str,
    teacher: str,
    data: str,
    split: str,
    results: str,
    sentences: str = str(SENTENCES),
    compute_type: str = COMPUTE_TYPE,
) -> None:
    """Measure both models; write and print the results."""
    texts = Dataset(Path(data)).split(split).texts
    assert texts is not None
    measured = []
    for model, every in ((cmlm, CMLM_SETTINGS), (teacher, BEAM_SETTINGS)):
        translator = Translator(model, device="cuda", compute_type=compute_type)
        exact = Translator(model, device="cuda", compute_type="float32")
        go(exact, "plain")
        chosen, typical = texts.source[: int(sentences)], of_length(translator, texts.source, LENGTH)
        if model == cmlm:
            table = kernels_of(translator, typical, CMLM_SETTINGS[0])
            Path(results).with_suffix(".kernels.txt").write_text(table)
        for settings in every:
            wanted = [one.text for one in exact.translate(chosen, **settings)]
            measured.append(measure(translator, chosen, typical, settings, wanted))
            print(measured[-1].settings, *measured[-1].ways, sep="\n  ", flush=True)
            write(Path(results), measured, f"{data} {split}", compute_type)


def of_length(translator: Translator, sentences: Sequence[str], length: int) -> str:
    """The first sentence whose number of subwords, with the end mark, is nearest to `length`."""
    encode = translator.tokenizers.source.encode
    return min(sentences[:2000], key=lambda sentence: abs(len(encode(sentence)) + 1 - length))


def measure(
    translator: Translator, sentences: Sequence[str], typical: str, settings: dict[str, Any], exact: Sequence[str]
) -> Measurement:
    """Every way, each often enough that everything is recorded before it is timed; `exact` are texts in float32."""
    plain: list[str] = []
    ways = []
    for name in WAYS:
        go(translator, name)
        to_launch, of_graph = replayed(translator, typical, settings)
        rounds = []
        for _ in range(2 if name == "plain" else 3):
            timings = [timed(translator, [sentence], settings) for sentence in sentences]
            alone = [found[0] for _, found in timings]
            rounds.append([one.text for one in alone])
        plain = plain or rounds[-1]
        of_typical = [timed(translator, [typical], settings)[0] for _ in range(REPETITIONS)]
        of_batch, same, furthest = in_batches(translator, sentences, alone, settings)
        ways.append(
            Way(
                name,
                is_fused(translator),
                share(rounds[-1], plain),
                share(rounds[-1], exact),
                min(share(earlier, rounds[-1]) for earlier in rounds[:-1]),
                1000 * median(took for took, _ in timings),
                1000 * median(of_typical),
                to_launch,
                of_graph,
                of_batch,
                same,
                furthest,
            )
        )
    return Measurement(settings, len(sentences), ways)


def go(translator: Translator, way: str) -> None:
    """Compute this way from now on."""
    engine = translator.engine
    assert isinstance(engine, CudaEngine)
    engine.capturing = way != "plain"
    engine.searches = SearchCaptures(fusing=way == "fused")
    if engine.captures is not None:
        engine.captures = type(engine.captures)(engine.system, fusing=way == "fused")


def is_fused(translator: Translator) -> bool:
    """True when fused kernels have proved themselves and are in use."""
    engine = translator.engine
    assert isinstance(engine, CudaEngine)
    return engine.searches.fused is not None or (engine.captures is not None and engine.captures.fused is not None)


def replayed(
    translator: Translator, sentence: str, settings: dict[str, Any]
) -> tuple[float, float] | tuple[None, None]:
    """Milliseconds until the graph of a CMLM's translation is launched, and until it has run."""
    translator.translate([sentence], **settings)
    engine = translator.engine
    assert isinstance(engine, CudaEngine)
    if engine.captures is None or not engine.captures.made:
        return None, None
    capture = list(engine.captures.made.values())[-1]  # the widest, if the first one was too narrow
    assert capture is not None
    assert capture.graph is not None
    graph = capture.graph
    launched, finished = [], []
    for _ in range(REPETITIONS):
        torch.cuda.synchronize()
        started = time.perf_counter()
        graph.replay()
        launched.append(time.perf_counter() - started)
        torch.cuda.synchronize()
        finished.append(time.perf_counter() - started)
    return 1000 * median(launched), 1000 * median(finished)


def timed(
    translator: Translator, sentences: Sequence[str], settings: dict[str, Any]
) -> tuple[float, list[Translation]]:
    """Seconds, and the translations."""
    started = time.perf_counter()
    found = translator.translate(sentences, **settings)
    return time.perf_counter() - started, found


def in_batches(
    translator: Translator, sentences: Sequence[str], alone: Sequence[Translation], settings: dict[str, Any]
) -> tuple[float, float, float]:
    """Milliseconds of a batch, the share of equal texts, and the largest difference of scores."""
    numbers = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    seconds, same, furthest = [], 0, 0.0
    for first in range(0, len(numbers), TOGETHER):
        batch = numbers[first : first + TOGETHER]
        for _ in range(3):
            took, together = timed(translator, [sentences[number] for number in batch], settings)
        seconds.append(took)
        for number, found in zip(batch, together, strict=True):
            if found.text == alone[number].text:
                same += 1
                furthest = max(furthest, abs(found.score - alone[number].score))
    return 1000 * median(seconds), same / len(sentences), furthest


def kernels_of(translator: Translator, sentence: str, settings: dict[str, Any]) -> str:
    """A table of the kernels of one translation with fused kernels."""
    go(translator, "fused")
    for _ in range(3):
        translator.translate([sentence], **settings)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        translator.translate([sentence], **settings)
        torch.cuda.synchronize()
    return str(seen.key_averages().table(sort_by="self_cuda_time_total", row_limit=60, max_name_column_width=60))


def share(texts: Sequence[str], others: Sequence[str]) -> float:
    """Share of the texts that are the same."""
    return sum(one == other for one, other in zip(texts, others, strict=True)) / len(texts)


def write(results: Path, measured: Sequence[Measurement], data: str, compute_type: str) -> None:
    """Everything so far."""
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "data": data}
    content = {**machine, "compute_type": compute_type, "measured": [asdict(one) for one in measured]}
    results.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
