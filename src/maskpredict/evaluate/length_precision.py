"""Share of sentences whose reference length is among the length candidates."""

from __future__ import annotations

from collections.abc import Sequence

from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation


def length_precision(translations: Sequence[Translation], references: Sequence[Sequence[int]]) -> float:
    """Share of sentences, 0 to 1, whose reference length is among the lengths that were tried.

    `references` are the subword ids of the references without end marks, as a data folder holds them. A sentence for
    which no lengths were tried as a whole, because it is empty or was cut into pieces, counts as missed.
    """
    if len(translations) != len(references):
        raise UserError(
            f"there are {len(translations):,} translations and {len(references):,} references; give one for each."
        )
    if not any(translation.lengths for translation in translations):
        raise UserError("no translation has length candidates; only models that predict lengths have them.")
    hits = sum(
        len(reference) + 1 in translation.lengths  # candidates count the end mark
        for translation, reference in zip(translations, references, strict=True)
    )
    return hits / len(translations)
