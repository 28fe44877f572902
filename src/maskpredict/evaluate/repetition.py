"""Share of repeated tokens, a sign of words that were predicted independently.

The paper's Table 3 reports this share over subwords, before any repeat is collapsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise


def token_repetition(sentences: Iterable[Sequence[str | int]]) -> float:
    """Share of tokens, 0 to 1, that equal their left neighbour; pass subwords without end marks and padding."""
    tokens = repeated = 0
    for sentence in sentences:
        tokens += len(sentence)
        repeated += sum(left == right for left, right in pairwise(sentence))
    return repeated / tokens if tokens else 0.0


def word_repetition(texts: Iterable[str]) -> float:
    """The same share over words, which are separated by spaces."""
    return token_repetition(text.split() for text in texts)
