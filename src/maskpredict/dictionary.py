"""The tokenizer of imported models: a list of symbols, and where they are known the BPE merges that lead to them.

Subwords that do not end a word carry the mark `@@`. Text is expected as the model's authors prepared it, words between
spaces; without merges only ready-made subwords can be taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from maskpredict.bpe import BytePairs
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.special_ids import SpecialIds

_CONTINUES = "@@"
_UNKNOWN = "⁇"


class DictionaryTokenizer:
    """Symbols by their place in a list; satisfies `tokenizer.Tokenizer`."""

    def __init__(self, symbols: Sequence[str], special: SpecialIds, merges: BytePairs | None = None) -> None:
        """`symbols` are all of them, special ones included."""
        self._symbols, self._special, self._merges = tuple(symbols), special, merges
        self._ids = {symbol: number for number, symbol in enumerate(self._symbols)}
        reserved = set(asdict(special).values())
        self._words = {symbol: number for symbol, number in self._ids.items() if number not in reserved}
        self._silent = {special.pad, special.bos, special.eos, special.mask} - {special.unk}

    @classmethod
    def load(cls, path: Path) -> DictionaryTokenizer:
        """Read a tokenizer file."""
        try:
            content = read_json(path)
            merges = content["bpe"] and BytePairs(
                [(first, second) for first, second in content["bpe"]["merges"]],
                end_attached=bool(content["bpe"]["end_attached"]),
            )
            symbols, special = [str(symbol) for symbol in content["symbols"]], SpecialIds(**content["special"])
            "".join(symbols).encode()  # half a surrogate pair could not be written out later
            if not all(type(number) is int and 0 <= number < len(symbols) for number in asdict(special).values()):
                raise ValueError("a special symbol is not one of the symbols")
            return cls(symbols, special, merges or None)
        except OSError as error:
            raise UserError(f"The tokenizer {path} cannot be read ({error.strerror}).") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"The tokenizer {path} is damaged ({error}); import the model again.") from error

    def __reduce__(self) -> tuple[type[DictionaryTokenizer], tuple[object, ...]]:
        """Pickle by content, so that data-loading processes can be handed a tokenizer."""
        return DictionaryTokenizer, (self._symbols, self._special, self._merges)

    @property
    def vocab_size(self) -> int:
        """Number of ids, special ones included."""
        return len(self._symbols)

    @property
    def special(self) -> SpecialIds:
        """The ids that stand for no text."""
        return self._special

    def encode(self, text: str) -> list[int]:
        """The ids of one line of text, without BOS or EOS."""
        if self._merges is None:
            raise UserError(
                "the model was imported without its BPE codes, so it cannot cut text into subwords; "
                "give ready-made ones (pretokenized), or import it again with --bpe-codes."
            )
        return [self._words.get(piece, self._special.unk) for word in text.split() for piece in self._cut(word)]

    def encode_many(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """`encode` for a block of lines; threads would not make it faster."""
        return [self.encode(text) for text in texts]

    def _cut(self, word: str) -> list[str]:
        assert self._merges is not None
        *front, last = self._merges.cut(word)
        return [*(part + _CONTINUES for part in front), last]

    def decode(self, ids: Sequence[int]) -> str:
        """Words between spaces; PAD, BOS, EOS and MASK are dropped, UNK becomes a visible `⁇`."""
        pieces = (_UNKNOWN if i == self._special.unk else self._symbols[i] for i in ids if i not in self._silent)
        return " ".join(pieces).replace(f"{_CONTINUES} ", "").removesuffix(_CONTINUES)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The subword behind each id, special ones included."""
        return [self._symbols[i] for i in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The id of each subword; UNK for one that is not in the vocabulary."""
        return [self._ids.get(piece, self._special.unk) for piece in pieces]

    def save(self, path: Path) -> None:
        """Write the tokenizer as JSON."""
        merges = self._merges
        content = {
            "special": asdict(self._special),
            "symbols": self._symbols,
            "bpe": merges and {"end_attached": merges.end_attached, "merges": merges.merges},
        }
        path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
