"""BLEU over words separated by spaces, for comparison with old papers only.

It depends on how the text was tokenized, which its signature (`tok:none`) cannot tell: between two papers it may differ
by more than the systems do. Give hypotheses and references that were tokenized the same way.
"""

from __future__ import annotations

from sacrebleu.metrics.bleu import BLEU

from maskpredict.evaluate.metrics.base import CorpusMetric


def _build(target_language: str) -> BLEU:
    # `force` disables the warning that the text looks tokenized.
    return BLEU(tokenize="none", force=True)


METRIC = CorpusMetric("tokenized_bleu", "tokenized BLEU", _build)
