"""Writing a split: pairs are read in blocks, cleaned, encoded and written.

A block is large enough to keep the threads of SentencePiece busy, and small enough for memory.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from maskpredict.corpus.cleaning import Cleaner, DropReason
from maskpredict.corpus.dataset import CorpusPart, SplitDescription, text_path
from maskpredict.corpus.ids import IdsWriter
from maskpredict.corpus.reading import Pair
from maskpredict.corpus.report import CorpusReport
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.progress import Task
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers

BLOCK_PAIRS = 20_000


@dataclass(frozen=True)
class EncodedBlock:
    """The ids of many sentences end to end, and the length of each."""

    flat: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]

    def select(self, keep: npt.NDArray[np.bool_]) -> EncodedBlock:
        """The sentences for which `keep` is True."""
        return EncodedBlock(self.flat[np.repeat(keep, self.lengths)], self.lengths[keep])


def encode_block(tokenizer: Tokenizer, texts: list[str]) -> EncodedBlock:
    """Encode many lines, on all cores if the tokenizer supports it."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        encoded = tokenizer.encode_many(texts, threads=os.cpu_count() or 1)
    else:
        encoded = [tokenizer.encode(text) for text in texts]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    flat = np.fromiter(itertools.chain.from_iterable(encoded), dtype=np.int32, count=int(lengths.sum()))
    return EncodedBlock(flat, lengths)


class SplitWriter:
    """Writes the ids of one split, corpus after corpus; and its text, unless it is cleaned (train)."""

    def __init__(
        self, folder: Path, split: str, languages: Languages, tokenizers: Tokenizers, cleaner: Cleaner | None
    ) -> None:
        self._split = split
        self._tokenizers = tokenizers
        self._cleaner = cleaner
        self._parts: list[CorpusPart] = []
        stems = [folder / f"{split}.{language}" for language in (languages.source, languages.target)]
        with ExitStack() as files:
            self._source, self._target = (
                files.enter_context(IdsWriter(stem, tokenizer.vocab_size))
                for stem, tokenizer in zip(stems, (tokenizers.source, tokenizers.target), strict=True)
            )
            texts = [] if cleaner else [files.enter_context(text_path(stem).open("wb")) for stem in stems]
            self._texts = texts
            self._files = files.pop_all()

    def __enter__(self) -> SplitWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    @property
    def description(self) -> SplitDescription:
        """The split as written so far."""
        return SplitDescription(self._source.pairs, tuple(self._parts))

    def write(self, name: str, weight: float, pairs: Iterable[Pair], task: Task) -> CorpusReport:
        """Clean, encode and write one corpus; returns its pair and token counts."""
        first, tokens = self._source.pairs, (self._source.tokens, self._target.tokens)
        dropped_before = Counter(self._cleaner.dropped) if self._cleaner else Counter[DropReason]()
        read = 0
        words = np.zeros(2, dtype=np.int64)
        for block in blocks(pairs, BLOCK_PAIRS):
            words += self._write_block(block)
            read += len(block)
            task.advance(len(block))
        kept = self._source.pairs - first
        self._parts.append(CorpusPart(name, first, kept, weight))
        dropped = self._cleaner.dropped - dropped_before if self._cleaner else Counter[DropReason]()
        if kept == 0:
            raise UserError(_nothing_left(self._split, name, dropped))
        return CorpusReport(
            split=self._split,
            name=name,
            read=read,
            kept=kept,
            dropped={reason.value: dropped[reason] for reason in DropReason if dropped[reason]},
            source_tokens=self._source.tokens - tokens[0],
            target_tokens=self._target.tokens - tokens[1],
            source_words=int(words[0]),
            target_words=int(words[1]),
        )

    def _write_block(self, pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
        """Write the pairs of a block that pass the filters; returns their source and target words."""
        if self._cleaner:
            pairs = self._cleaner.clean_text(pairs)
        sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
        source = encode_block(self._tokenizers.source, sides[0])
        target = encode_block(self._tokenizers.target, sides[1])
        keep = np.ones(len(pairs), dtype=np.bool_)
        if self._cleaner:
            keep = self._cleaner.keep_lengths(source.lengths, target.lengths)
            source, target = source.select(keep), target.select(keep)
        self._source.extend(source.flat, source.lengths)
        self._target.extend(target.flat, target.lengths)
        for file, side in zip(self._texts, sides, strict=False):
            file.write("".join(f"{line}\n" for line in side).encode())
        return np.array([sum(len(line.split()) for line in itertools.compress(side, keep)) for side in sides])


def blocks(items: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    """Consecutive lists of up to `size` items."""
    iterator = iter(items)
    while block := list(itertools.islice(iterator, size)):
        yield block


def _nothing_left(split: str, corpus: str, dropped: Counter[DropReason]) -> str:
    if not dropped:
        return f"The {split} corpus {corpus} is empty; give it some text or leave it out."
    reasons = ", ".join(f"{reason.value} {count:,}" for reason, count in dropped.most_common())
    return f"Cleaning dropped every pair of the {split} corpus {corpus} ({reasons}); loosen `cleaning`."
