"""Tokenizers: the protocol, and the SentencePiece tokenizer that `prepare` trains.

`encode` adds neither BOS nor EOS; the code that builds batches does. Data and model folders carry their tokenizers as
files, see `Tokenizers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

import sentencepiece

from maskpredict.dictionary import DictionaryTokenizer
from maskpredict.errors import UserError
from maskpredict.special_ids import SpecialIds

__all__ = ["SentencePieceTokenizer", "SpecialIds", "Tokenizer", "Tokenizers"]

WORD_START = "▁"
"""SentencePiece's mark of a subword that begins a word."""
JOINT_FILE, SOURCE_FILE, TARGET_FILE = "tokenizer.model", "source.model", "target.model"
_DICTIONARY_SUFFIX = ".dict.json"
"""Replaces `.model` in these names for the dictionary of an imported model."""


class Tokenizer(Protocol):
    """Interface of tokenizers of any file format."""

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""

    @property
    def special(self) -> SpecialIds:
        """The ids that stand for no text."""

    def encode(self, text: str) -> list[int]:
        """The ids of one line of raw text, without BOS or EOS."""

    def encode_many(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """`encode` for a block of lines, spread over threads where that helps."""

    def decode(self, ids: Sequence[int]) -> str:
        """Raw text; PAD, BOS, EOS and MASK are dropped, UNK becomes a visible `⁇`."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The subword behind each id, special ones included."""

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The id of each subword; UNK for one that is not in the vocabulary."""

    def save(self, path: Path) -> None:
        """Write the tokenizer's own file, from which it can be loaded again."""


class SentencePieceTokenizer:
    """A SentencePiece model: raw text in, raw text out, no language-specific rules."""

    def __init__(self, model: bytes) -> None:
        """`model` is the content of a SentencePiece file that has the five special symbols."""
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.load_from_serialized_proto(model)
        self._special = _special_ids(self._processor)
        self._silent = {self._special.pad, self._special.bos, self._special.eos, self._special.mask}

    @classmethod
    def load(cls, path: Path) -> SentencePieceTokenizer:
        """Read a tokenizer file."""
        try:
            tokenizer = cls(path.read_bytes())
            _ = tokenizer._pieces  # refuses what is not UTF-8, which SentencePiece itself does not
            return tokenizer
        except OSError as error:
            raise UserError(f"The tokenizer {path} cannot be read ({error.strerror}).") from error
        except RuntimeError as error:
            raise UserError(f"{path} is not a SentencePiece model; prepare the data again.") from error
        except ValueError as error:
            raise UserError(f"The tokenizer {path} cannot be used: {error}.") from error

    def __reduce__(self) -> tuple[type[SentencePieceTokenizer], tuple[bytes]]:
        """Pickle by content, for data-loading processes."""
        return SentencePieceTokenizer, (self._model,)

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""
        return int(self._processor.vocab_size())

    @property
    def special(self) -> SpecialIds:
        """The ids that stand for no text."""
        return self._special

    def encode(self, text: str) -> list[int]:
        """The ids of one line of raw text, without BOS or EOS."""
        return list(self._processor.encode(text))

    def encode_many(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """`encode` for a block of lines, spread over threads."""
        if threads == 1:  # saves the time to start a thread: as long as four lines take
            return [self.encode(text) for text in texts]
        encoded: list[list[int]] = self._processor.encode(texts, num_threads=threads)
        return encoded

    def decode(self, ids: Sequence[int]) -> str:
        """Raw text; PAD, BOS, EOS and MASK are dropped, UNK becomes a visible `⁇`."""
        return str(self._processor.decode([i for i in map(int, ids) if i not in self._silent]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The subword behind each id, special ones included."""
        return [self._pieces[i] for i in ids]

    @cached_property
    def _pieces(self) -> list[str]:
        """Subwords of all ids; a list is ten times as fast as asking SentencePiece for each."""
        return [str(piece) for piece in self._processor.id_to_piece(list(range(self.vocab_size)))]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The id of each subword; UNK for one that is not in the vocabulary."""
        return [int(self._processor.piece_to_id(piece)) for piece in pieces]

    def save(self, path: Path) -> None:
        """Write the SentencePiece file, byte for byte as it was learned or loaded."""
        path.write_bytes(self._model)


def _special_ids(processor: sentencepiece.SentencePieceProcessor) -> SpecialIds:
    special = SpecialIds(
        pad=processor.pad_id(),
        bos=processor.bos_id(),
        eos=processor.eos_id(),
        unk=processor.unk_id(),
        mask=processor.piece_to_id("<mask>"),
    )
    # A piece that is not there has id -1 for the built-in four, and the id of UNK when looked up by name.
    if min(special.pad, special.bos, special.eos) < 0 or special.mask == special.unk:
        raise ValueError("it lacks one of <pad>, <s>, </s> and <mask>, so `prepare` did not make it")
    return special


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of the two sides; with a joint vocabulary they are one and the same object."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """True if both sides share one vocabulary, hence one embedding table."""
        return self.source is self.target

    @classmethod
    def load(cls, folder: Path) -> Tokenizers:
        """Read the tokenizer files of a data or model folder."""
        if joint := _load(folder / JOINT_FILE):
            return cls(joint, joint)
        source, target = _load(folder / SOURCE_FILE), _load(folder / TARGET_FILE)
        if source is None or target is None:
            raise UserError(f"{folder} has no tokenizer: no {JOINT_FILE}, and no {SOURCE_FILE} and {TARGET_FILE}.")
        return cls(source, target)

    def save(self, folder: Path) -> list[Path]:
        """Write the tokenizer files into an existing folder; returns their paths."""
        paths = []
        for name, tokenizer in self._named():
            is_dictionary = isinstance(tokenizer, DictionaryTokenizer)
            paths.append((folder / name).with_suffix(_DICTIONARY_SUFFIX) if is_dictionary else folder / name)
            tokenizer.save(paths[-1])
        return paths

    def _named(self) -> Iterable[tuple[str, Tokenizer]]:
        if self.joint:
            return ((JOINT_FILE, self.source),)
        return (SOURCE_FILE, self.source), (TARGET_FILE, self.target)


_continuations: WeakKeyDictionary[Tokenizer, frozenset[int]] = WeakKeyDictionary()


def word_continuations(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of subwords that continue a word, in a vocabulary that marks the start of words; remembered."""
    continuations = _continuations.get(tokenizer)
    if continuations is None:
        pieces = tokenizer.pieces(range(tokenizer.vocab_size))
        is_marked = any(piece.startswith(WORD_START) for piece in pieces)
        continuations = frozenset(token for token, piece in enumerate(pieces) if is_marked and piece[:1].isalpha())
        _continuations[tokenizer] = continuations
    return continuations


def _load(path: Path) -> Tokenizer | None:
    """Load a tokenizer file of either kind; None if there is none."""
    if path.exists():
        return SentencePieceTokenizer.load(path)
    dictionary = path.with_suffix(_DICTIONARY_SUFFIX)
    return DictionaryTokenizer.load(dictionary) if dictionary.exists() else None
