"""A lexicon from parallel text: single words and their translations, for input that is no sentence.

Corpora are cleaned of lines of one word, so a model trained on them has hardly seen any. Two words that mostly occur in
the same short pairs are taken for translations of each other (Dice coefficient).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product

from maskpredict.corpus.reading import Pair

MOST_WORDS = 8
"""Longest side of the pairs that are counted, in words: in short pairs few words occur together by chance."""
LEAST_PAIRS = 4
"""Fewest pairs in which both words must occur."""
LEAST_DICE = 0.5
"""Lowest Dice coefficient of a translation."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def lexicon(pairs: Iterable[Pair], size: int) -> list[Pair]:
    """The `size` words and translations seen most often, in the spelling that they have inside sentences."""
    source_counts: Counter[str] = Counter()
    target_counts: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        if any(side.count(" ") >= MOST_WORDS for side in pair):
            continue
        # The first word of a sentence is capitalised, whatever it is elsewhere.
        source, target = (set(_WORD.findall(side)[1:]) for side in pair)
        source_counts.update(source)
        target_counts.update(target)
        together.update(product(source, target))
    dice = {
        (source, target): 2 * count / (source_counts[source] + target_counts[target])
        for (source, target), count in together.items()
        if count >= LEAST_PAIRS
    }
    chosen = _mutual_best({words: value for words, value in dice.items() if value >= LEAST_DICE})
    return [Pair(*words) for words in sorted(chosen, key=lambda words: (-together[words], words))[:size]]


def _mutual_best(scores: dict[tuple[str, str], float]) -> list[tuple[str, str]]:
    """The pairs that are each other's best; of equals, the first in the alphabet."""
    best: list[dict[str, tuple[float, tuple[str, str]]]] = [{}, {}]
    for words in sorted(scores):
        for side, word in enumerate(words):
            if word not in best[side] or scores[words] > best[side][word][0]:
                best[side][word] = (scores[words], words)
    return [words for _, words in best[0].values() if best[1][words[1]][1] == words]
