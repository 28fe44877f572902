"""Selection of training targets among the translations of a teacher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

Ids = list[int]
Choice = Callable[[list[Ids], Sequence[int]], list[Ids]]
"""(translations, best first; the reference) -> those to keep."""


def best(translations: list[Ids], reference: Sequence[int]) -> list[Ids]:
    """The translation with the best score."""
    return translations[:1]


def n_best(translations: list[Ids], reference: Sequence[int]) -> list[Ids]:
    """All translations."""
    return translations


def closest(translations: list[Ids], reference: Sequence[int]) -> list[Ids]:
    """The translation with the highest sentence BLEU against the reference, over subwords; the best-scored on a tie."""
    expected = _words(reference)
    return sorted(translations, key=lambda ids: -_bleu().sentence_score(_words(ids), [expected]).score)[:1]


def closest_text(translations: list[str], reference: str) -> list[str]:
    """The translation with the highest sentence chrF against the reference; the best-scored on a tie.

    chrF needs no words, which subwords are for `closest` and text of some languages does not have.
    """
    return sorted(translations, key=lambda text: -_chrf().sentence_score(text, [reference]).score)[:1]


CHOICES: dict[str, Choice] = {"best": best, "n_best": n_best, "closest": closest}
"""Functions by the value of `choose`."""


@cache
def _bleu() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none", effective_order=True)  # short sentences have no 4-grams to count


@cache
def _chrf() -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _words(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))
