"""Cost of distilling by text instead of by ids, for a teacher of ours.

    python benchmarks/distill_by_text.py de-en-ar sources.de.xz results.json --lines 400 --rounds 5

Both translate the same sentences with the same beam search, in turns. By ids, the sources were split into subwords
before, by `prepare`; by text, reading, subwords, filters, detokenizing and compression are part of the time. CPU
seconds are those of all threads of the process, and hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from maskpredict.bench.machine import describe_machine
from maskpredict.corpus.cleaning import CleaningConfig
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig, read_lines
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.distill import DistillConfig, distill
from maskpredict.distill.by_text import TextConfig, TextDistillConfig, distill_text
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.find_model import find_model

SHARD = 20_000


def timed(call: Callable[[], object]) -> dict[str, float]:
    """Wall-clock and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def main() -> None:
    """Run both in turns and write the times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher")
    parser.add_argument("sources", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = find_model(arguments.teacher)
    languages = ModelFolder.read(model).languages
    lines = list(itertools.islice(dict.fromkeys(filter(str.strip, read_lines(arguments.sources))), arguments.lines))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "text.tsv").write_text("".join(f"{line}\treference\n" for line in lines), encoding="utf-8")
        (scratch / "text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        prepare(
            PrepareConfig(
                *(languages.source, languages.target, scratch / "data"),
                train=(CorpusConfig(tsv=scratch / "text.tsv"),),
                cleaning=CleaningConfig(max_ratio=1000.0),
                vocabulary=VocabularyConfig(reuse=model),
            )
        )
        search = {"beam_size": arguments.beam_size, "device": arguments.device, "threads": 1}
        rounds = []
        for number in range(arguments.rounds):
            by_ids = DistillConfig(
                scratch / "data", model, scratch / f"ids-{number}", shard_pairs=SHARD, processes=1, **search
            )
            by_text = TextDistillConfig(
                teacher=str(model),
                source_language=languages.source,
                target_language=languages.target,
                text=(TextConfig(source=scratch / "text.txt"),),
                out=scratch / f"text-{number}",
                shard_lines=SHARD,
                processes=1,
                **search,
            )
            calls = {
                "by_ids": lambda config=by_ids: distill(config, quiet=True),
                "by_text": lambda config=by_text: distill_text(config, quiet=True),
            }
            # Each goes first in every other round.
            order = list(calls) if number % 2 else list(reversed(calls))
            rounds.append({name: timed(calls[name]) for name in order})
            print(rounds[-1], flush=True)
    ratios = {
        kind: statistics.median(own["by_text"][kind] / own["by_ids"][kind] for own in rounds)
        for kind in ("seconds", "cpu_seconds")
    }
    result = {
        "machine": asdict(describe_machine(arguments.device, 1)),
        "teacher": arguments.teacher,
        "lines": len(lines),
        "beam_size": arguments.beam_size,
        "median_ratio": ratios,
        "overhead": {kind: ratio - 1 for kind, ratio in ratios.items()},
        "rounds": rounds,
    }
    arguments.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
