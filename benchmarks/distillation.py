"""The distillation engine: is what it writes what a plain beam search writes, and how fast is it?

    python benchmarks/distillation.py TEACHER DATA SPLIT results.json [SENTENCES] [SECONDS]

The first SENTENCES (500) of the split are translated with beam 5: one by one in float32, as the reference, and as
`distill` does, in large batches, in float32 and, on a GPU, in float16. For each the share of translations that are the
reference's, and BLEU. Then `distill` itself runs on the training text for SECONDS (60) in its own processes.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from maskpredict.corpus.dataset import Dataset
from maskpredict.decoding.hypothesis import Request
from maskpredict.distill import DistillConfig, distill
from maskpredict.distill.run import GPU_BATCH_TOKENS
from maskpredict.distill.teacher import Teacher, load_teacher
from maskpredict.evaluate.scores import score_corpus
from maskpredict.runtime.batching import CPU_BATCH_TOKENS, batches

BEAMS = 5


@dataclass(frozen=True)
class Way:
    """One way to translate the split."""

    name: str
    compute_type: str
    same_text: float
    """Share of the sentences that come out as in the reference."""
    bleu: float
    seconds: float


def main(teacher: str, data: str, split: str, results: str, sentences: str = "500", seconds: str = "60") -> None:
    """Compare and measure; write and print the results."""
    on_gpu = torch.cuda.is_available()
    ways: list[Way] = []
    reference: list[str] = []
    for name, compute_type in (("one by one", "float32"), ("batches", "float32"), ("batches", "float16")):
        if compute_type == "float16" and not on_gpu:
            continue
        config = DistillConfig(Path(data), Path(teacher), Path("unused"), beam_size=BEAMS, compute_type=compute_type)  # type: ignore[arg-type]
        dataset = Dataset(config.data)
        started = time.perf_counter()
        found = translated(load_teacher(config, dataset), dataset, split, int(sentences), alone=name == "one by one")
        took = time.perf_counter() - started
        reference = reference or found
        ways.append(Way(name, compute_type, share(found, reference), bleu(found, dataset, split), round(took, 2)))
        print(ways[-1], flush=True)
    speed = sentences_a_second(Path(teacher), Path(data), float(seconds), on_gpu)
    print(f"distill: {speed:,.0f} sentences a second")
    machine = torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine()
    content = {"machine": machine, "torch": torch.__version__, "split": split, "beam_size": BEAMS}
    content |= {"ways": [asdict(way) for way in ways], "sentences_a_second": round(speed)}
    Path(results).write_text(json.dumps(content, indent=1) + "\n")


def translated(teacher: Teacher, dataset: Dataset, split: str, sentences: int, *, alone: bool) -> list[str]:
    """The first sentences of the split, in the batches of `distill` or each by itself."""
    system, sources = teacher.system, dataset.split(split).source
    system.recording = False
    requests = [Request((*sources[row].tolist(), system.special.eos)) for row in range(min(sentences, len(sources)))]
    budget = GPU_BATCH_TOKENS if system.device.type == "cuda" else CPU_BATCH_TOKENS
    together = batches(requests, teacher.settings, budget, "tokens", slot=system.reserves_slot, sharing="same width")
    texts = [""] * len(requests)
    for batch in [[row] for row in range(len(requests))] if alone else together:
        for row, own in zip(batch, teacher.start([requests[row] for row in batch])(), strict=True):
            texts[row] = dataset.tokenizers.target.decode(own[0])
    return texts


def bleu(texts: Sequence[str], dataset: Dataset, split: str) -> float:
    """sacreBLEU."""
    known = dataset.split(split).texts
    assert known is not None
    (said,) = score_corpus(
        texts, [known.target[: len(texts)]], metrics=["bleu"], target_language=dataset.languages.target
    ).scores
    return round(said.score, 2)


def sentences_a_second(teacher: Path, data: Path, seconds: float, on_gpu: bool) -> float:
    """Of the shards that `distill` finishes in this time, start-up counted."""
    shard = 50_000 if on_gpu else 20
    with tempfile.TemporaryDirectory() as folder:
        config = DistillConfig(data, teacher, Path(folder) / "out", beam_size=BEAMS, shard_pairs=shard, seconds=seconds)
        if on_gpu:
            config = DistillConfig(**{**vars(config), "compute_type": "float16"})
        started = time.perf_counter()
        report = distill(config, quiet=True)
        return report.shards_done * shard / (time.perf_counter() - started)


def share(texts: Sequence[str], others: Sequence[str]) -> float:
    """Share of the texts that are the same."""
    return sum(one == other for one, other in zip(texts, others, strict=True)) / len(texts)


if __name__ == "__main__":
    main(*sys.argv[1:])
