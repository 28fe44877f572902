"""BLEU by reference length, which shows whether a model that predicts lengths suffers on long sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from maskpredict.errors import UserError
from maskpredict.evaluate.metrics.bleu import build_bleu
from maskpredict.evaluate.scores import check_aligned

BOUNDS = (1, 10, 20, 30, 40)
"""Words of the shortest sentences of each bucket."""


@dataclass(frozen=True)
class LengthBucket:
    """Sentences whose references have from `shortest` words to just below `below`."""

    shortest: int
    below: int | None
    """None for the bucket of the longest sentences."""
    sentences: int
    bleu: float | None
    """None where there are no sentences."""


def bleu_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    target_language: str = "",
    bounds: Sequence[int] = BOUNDS,
) -> list[LengthBucket]:
    """BLEU for each range of reference lengths.

    Words are those that BLEU itself counts, punctuation marks included. A reference shorter than the first bound,
    such as an empty one, is in no bucket.
    """
    check_aligned(hypotheses, [references])
    if not bounds or any(low >= high for low, high in pairwise(bounds)):
        raise UserError(f"the bounds of the length buckets are {list(bounds)}; give increasing numbers.")
    metric = build_bleu(target_language)
    lengths = [len(metric.tokenizer(reference).split()) for reference in references]
    buckets = []
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        rows = [row for row, length in enumerate(lengths) if length >= low and (high is None or length < high)]
        outputs, expected = [hypotheses[row] for row in rows], [references[row] for row in rows]
        bleu = float(metric.corpus_score(outputs, [expected]).score) if rows else None
        buckets.append(LengthBucket(low, high, len(rows), bleu))
    return buckets
