"""Monolingual text as a data folder with empty targets, for distillation or back-translation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from maskpredict.corpus.dataset import DESCRIPTION_FILE, CorpusPart, Dataset, SplitDescription
from maskpredict.corpus.encoding import encode_block
from maskpredict.corpus.ids import IdsWriter
from maskpredict.corpus.reading import printable, read_lines
from maskpredict.corpus.rearrange import copy_all_but_train
from maskpredict.errors import UserError
from maskpredict.new_folder import new_folder

Ids = npt.NDArray[np.integer[Any]]


def write_monolingual(like: Path, texts: Mapping[str, Path], longest: int, out: Path) -> None:
    """Write a data folder with these texts, by name, as training sources; the other splits are those of `like`.

    Dropped are sentences of more than `longest` subwords, duplicates, training sentences of `like`, and sentences that
    equal one of its other splits up to case and punctuation.
    """
    dataset, new = Dataset(like), _NewSentences(Dataset(like), longest)
    sizes, languages, parts = dataset.description.vocab_size, dataset.languages, list[CorpusPart]()
    with new_folder(out, overwrite=False, marker=DESCRIPTION_FILE) as folder:
        copy_all_but_train(dataset, folder)
        with (
            IdsWriter(folder / f"train.{languages.source}", sizes.source) as sources,
            IdsWriter(folder / f"train.{languages.target}", sizes.target) as targets,
        ):
            for name, path in texts.items():
                first = sources.pairs
                for ids in new.read(path):
                    sources.append(ids)
                    targets.append([])
                if sources.pairs == first:
                    raise UserError(f"{path} has no sentence that {like} does not have; leave it out.")
                parts.append(CorpusPart(name, first, sources.pairs - first))
        train = SplitDescription(sources.pairs, tuple(parts))
        replace(dataset.description, splits={**dataset.description.splits, "train": train}).write(folder)


class _NewSentences:
    """Finds sentences that neither the source side of a data folder nor an earlier text has."""

    def __init__(self, dataset: Dataset, longest: int) -> None:
        self.tokenizer, self.longest = dataset.tokenizers.source, longest
        train = dataset.split("train").source
        self.seen = {_key(train[pair]) for pair in range(len(train))}
        texts = [dataset.split(split).texts for split in dataset.splits]
        self.held_out = {_words(line) for text in texts if text for line in text.source}

    def read(self, path: Path) -> Iterator[list[int]]:
        """Ids of the new sentences of a file."""
        lines = [line for line in map(printable, read_lines(path)) if _words(line) not in self.held_out]
        encoded = encode_block(self.tokenizer, lines)
        for ids in np.split(encoded.flat, np.cumsum(encoded.lengths)[:-1]):
            if 0 < len(ids) <= self.longest and _key(ids) not in self.seen:
                self.seen.add(_key(ids))
                yield ids.tolist()


def _key(ids: Ids) -> bytes:
    return ids.astype(np.int32).tobytes()


def _words(line: str) -> str:
    """The line without case and punctuation."""
    return " ".join(re.findall(r"\w+", line.casefold()))
