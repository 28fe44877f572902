"""Input files for compare-mt, to analyse the same length buckets with another tool.

compare-mt splits lines at spaces, so the lines are tokenized as for BLEU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from maskpredict.evaluate.length_buckets import BOUNDS
from maskpredict.evaluate.metrics.bleu import build_bleu


def write_compare_mt(
    folder: Path, references: Sequence[str], systems: Mapping[str, Sequence[str]], target_language: str
) -> None:
    """Write reference.txt, one file per system, and run.sh with the command."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenize = build_bleu(target_language).tokenizer
    for name, texts in {"reference": references, **systems}.items():
        lines = "".join(f"{tokenize(text)}\n" for text in texts)
        (folder / f"{name}.txt").write_text(lines, encoding="utf-8")
    cutoffs = ":".join(map(str, BOUNDS[1:]))
    files = " ".join(f"{name}.txt" for name in systems)
    command = (
        f"compare-mt reference.txt {files} --sys_names {' '.join(systems)} --compare_sentence_buckets "
        f"bucket_type=length,bucket_cutoffs={cutoffs},statistic_type=score,score_measure=bleu\n"
    )
    (folder / "run.sh").write_text(command, encoding="utf-8")
