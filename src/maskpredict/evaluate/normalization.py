"""Normalization of spelling before scoring, where a corpus and its references differ.

Romanian is written with a comma below s and t. Much text, the WMT 2016 references among it, has the cedilla of older
character sets instead, or no marks at all. Scores of normalized text have it in their signature.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from maskpredict.errors import UserError

_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")
_NO_MARKS = str.maketrans("ȘșȚțĂăÂâÎî", "SsTtAaAaIi")


def _romanian(text: str) -> str:
    """s and t with a comma below, whether they had it, a cedilla, or either as a character of its own."""
    return unicodedata.normalize("NFC", text).translate(_COMMA_BELOW)


def _romanian_without_diacritics(text: str) -> str:
    """The same without any of the five Romanian marks."""
    return _romanian(text).translate(_NO_MARKS)


NORMALIZATIONS: dict[str, Callable[[str], str]] = {
    "ro": _romanian,
    "ro-no-diacritics": _romanian_without_diacritics,
}
"""Normalizations of hypotheses and references, by the value of `--normalize`."""


def normalize(texts: Sequence[str], name: str) -> list[str]:
    """The normalized texts; an empty name changes nothing."""
    if not name:
        return list(texts)
    if name not in NORMALIZATIONS:
        raise UserError(f"there is no normalization {name!r}; choose {' or '.join(NORMALIZATIONS)}.")
    return [NORMALIZATIONS[name](text) for text in texts]
