"""Recorded translation on a GPU against the plain path: the same text, and how much faster for one sentence.

    python benchmarks/gpu_decoding.py CMLM TEACHER DATA SPLIT results.json

Translates sentences of the split one by one, plainly and as CUDA graphs, and in float32 and float16.
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

from maskpredict.corpus.dataset import Dataset
from maskpredict.runtime.translator import Translator

SENTENCES = 400
CMLM_SETTINGS: list[dict[str, Any]] = [
    {"iterations": 4, "length_candidates": 1},
    {"iterations": 10, "length_candidates": 5},
]
BEAM_SETTINGS: list[dict[str, Any]] = [{"beam_size": 1}, {"beam_size": 5}]


@dataclass(frozen=True)
class Measurement:
    """One model under one setting."""

    settings: dict[str, Any]
    compute_type: str
    same_text: float
    """Share of the sentences that come out the same, recorded or not."""
    plain_milliseconds: float
    """Median over the sentences, text in and text out."""
    recorded_milliseconds: float
    sentences: int


def main(cmlm: str, teacher: str, data: str, split: str, results: str) -> None:
    """Measure both models; write and print the results."""
    texts = Dataset(Path(data)).split(split).texts
    assert texts is not None
    measured = []
    for model, every in ((cmlm, CMLM_SETTINGS), (teacher, BEAM_SETTINGS)):
        for compute_type in ("float16", "float32"):
            translator = Translator(model, device="cuda", compute_type=compute_type)
            for settings in every:
                measured.append(measure(translator, texts.source[:SENTENCES], compute_type, settings))
                print(measured[-1], flush=True)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "data": f"{data} {split}"}
    Path(results).write_text(json.dumps({**machine, "measured": [asdict(one) for one in measured]}, indent=1))


def measure(
    translator: Translator, sentences: Sequence[str], compute_type: str, settings: dict[str, Any]
) -> Measurement:
    """Each sentence plainly, then recorded; all of them twice, so that the second time every recording is there."""
    texts, times = {}, {}
    for recorded in (False, True):
        translator.system.recording = recorded
        for _ in range(3 if recorded else 2):
            seconds, own = [], []
            for sentence in sentences:
                started = time.perf_counter()
                own.append(translator.translate([sentence], **settings)[0].text)
                seconds.append(time.perf_counter() - started)
        texts[recorded], times[recorded] = own, 1000 * median(seconds)
    same = sum(one == other for one, other in zip(texts[False], texts[True], strict=True)) / len(sentences)
    return Measurement(settings, compute_type, same, round(times[False], 3), round(times[True], 3), len(sentences))


if __name__ == "__main__":
    main(*sys.argv[1:])
