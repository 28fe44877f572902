"""Dictionary files `dict.LANG.txt` of fairseq: lines of "symbol count", with ids in the order of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maskpredict.bpe import BytePairs
from maskpredict.dictionary import DictionaryTokenizer
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.special_ids import SpecialIds
from maskpredict.tokenizer import Tokenizers

_PADDED_TO = 8
"""fairseq pads vocabularies to a multiple of this with made-up words."""


def read_tokenizers(
    folder: Path,
    languages: Languages,
    first: Sequence[str],
    special: SpecialIds,
    rows: tuple[int, int],
    merges: BytePairs | None,
) -> Tokenizers:
    """Tokenizers of both sides.

    `first` are the symbols before those of the files, `rows` the sizes of the embedding tables of both sides.
    """
    sides = [
        _symbols(folder / f"dict.{language}.txt", first, size)
        for language, size in zip((languages.source, languages.target), rows, strict=True)
    ]
    source = DictionaryTokenizer(sides[0], special, merges)
    return Tokenizers(source, source if sides[0] == sides[1] else DictionaryTokenizer(sides[1], special, merges))


def _symbols(path: Path, first: Sequence[str], size: int) -> list[str]:
    symbols = [*first, *_read(path)]
    if size != len(symbols) and size != -(-len(symbols) // _PADDED_TO) * _PADDED_TO:
        raise UserError(
            f"{path} makes a vocabulary of {len(symbols)} symbols, but the checkpoint has {size}; "
            "use the dictionary the model was trained with."
        )
    return symbols + [f"madeupword{number:04d}" for number in range(size - len(symbols))]


def _read(path: Path) -> list[str]:
    try:
        # Not splitlines(): a symbol may be a character that Python regards as a line break.
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; put the model's dictionary there.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as text ({error}).") from error
    pairs = [line.removesuffix("\r").rpartition(" ") for line in lines]
    for number, (symbol, _, count) in enumerate(pairs, 1):
        if not symbol or not count.isdecimal():
            raise UserError(f'line {number} of {path} is not "symbol count"; copy the dictionary again.')
    return [symbol for symbol, _, _ in pairs]
