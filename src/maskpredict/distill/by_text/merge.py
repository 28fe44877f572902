"""Merge finished shards: into aligned compressed files, or into a data folder with the vocabulary of another one.

OUT/NAME.SOURCE_LANGUAGE.zst, OUT/NAME.TARGET_LANGUAGE.zst   the pairs of each text, for `prepare`
OUT/report.json                                              provenance and counts
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from maskpredict.corpus.compressed import compress, open_compressed
from maskpredict.corpus.dataset import DESCRIPTION_FILE, CorpusPart, Dataset, DatasetDescription, SplitDescription
from maskpredict.corpus.encoding import encode_block
from maskpredict.corpus.ids import IdsWriter
from maskpredict.corpus.rearrange import copy_all_but_train
from maskpredict.distill.by_text.config import TextDistillConfig
from maskpredict.distill.by_text.report import REPORT_FILE, TextDistillReport, count_corpora, report_of
from maskpredict.distill.by_text.shard_files import SOURCE, TARGET
from maskpredict.distill.by_text.shards import SplitCorpus, TextShards
from maskpredict.distill.merge import REPORT_KEY
from maskpredict.distill.provenance import difference
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.new_folder import new_folder


def finished_report(out: Path, provenance: dict[str, Any]) -> TextDistillReport | None:
    """The report of a finished folder with this provenance; None if there is no folder yet."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    content = _stored_report(out)
    if content is None:
        raise UserError(f"{out} is not empty and holds no distilled text; choose another place for `out`.")
    if changed := difference(content.get("provenance", {}), provenance):
        raise UserError(f"{out} holds text distilled with {changed}; choose another place for `out`.")
    return report_of(out, content)


def _stored_report(out: Path) -> dict[str, Any] | None:
    if (out / DESCRIPTION_FILE).exists():
        return DatasetDescription.read(out).report.get(REPORT_KEY)
    try:
        content: dict[str, Any] = read_json(out / REPORT_FILE)
        return content
    except (OSError, ValueError):
        return None


def merge(config: TextDistillConfig, shards: TextShards) -> None:
    """Write the folder `config.out`, whole or not at all."""
    corpora = count_corpora(shards)
    if not any(corpus.pairs for corpus in corpora):
        reasons = ", ".join(f"{reason} {count:,}" for corpus in corpora for reason, count in corpus.dropped.items())
        raise UserError(f"no translation of the teacher was kept ({reasons}); loosen `filters`, or look at its output.")
    content = {
        "teacher": config.teacher,
        "provenance": shards.provenance,
        "shards": len(shards),
        "corpora": [asdict(corpus) for corpus in corpora],
    }
    if config.data is not None:
        _merge_data(Dataset(config.data), shards, config.out, content)
        return
    with new_folder(config.out, overwrite=False, marker=REPORT_FILE) as folder:
        for corpus in shards.corpora:
            for side, language in ((SOURCE, config.source_language), (TARGET, config.target_language)):
                _concatenate(shards, corpus, side, folder / f"{corpus.name}.{language}.{config.compression}")
        (folder / REPORT_FILE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _concatenate(shards: TextShards, corpus: SplitCorpus, side: str, path: Path) -> None:
    """Write the files of a corpus one after another; compressed files may be concatenated."""
    with path.open("wb") as out:
        if not corpus.shards:
            out.write(compress(b"", path.suffix))
        for shard in _shards_of(shards, corpus):
            with shards.path(shard, side).open("rb") as part:
                shutil.copyfileobj(part, out)


def _shards_of(shards: TextShards, corpus: SplitCorpus) -> Iterator[int]:
    return (shard for shard, owner in enumerate(shards.owners) if owner is corpus)


def _merge_data(dataset: Dataset, shards: TextShards, out: Path, content: dict[str, Any]) -> None:
    """Write a data folder with the distilled pairs as its train split."""
    sizes, languages, tokenizers = dataset.description.vocab_size, dataset.languages, dataset.tokenizers
    parts: list[CorpusPart] = []
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_all_but_train(dataset, folder)
        with (
            IdsWriter(folder / f"train.{languages.source}", sizes.source) as sources,
            IdsWriter(folder / f"train.{languages.target}", sizes.target) as targets,
        ):
            for corpus in shards.corpora:
                first = sources.pairs
                for shard in _shards_of(shards, corpus):
                    for side, writer, tokenizer in (
                        (SOURCE, sources, tokenizers.source),
                        (TARGET, targets, tokenizers.target),
                    ):
                        block = encode_block(tokenizer, _lines(shards.path(shard, side)))
                        writer.extend(block.flat, block.lengths)
                parts.append(CorpusPart(corpus.name, first, sources.pairs - first, corpus.weight))
        train = SplitDescription(sources.pairs, tuple(parts))
        description = dataset.description
        replace(
            description,
            splits={**description.splits, "train": train},
            report={**description.report, REPORT_KEY: content},
        ).write(folder)


def _lines(path: Path) -> list[str]:
    with open_compressed(path) as stream:
        return stream.read().decode("utf-8").split("\n")[:-1]
