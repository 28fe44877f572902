"""Price of a sentence, known before it is translated: positions that the model will compute at most.

It is passes times target drafts times the positions of a draft, plus the source. Drafts are length candidates, or ways
to fill several gaps. The number of passes and the target's length are estimates, on the high side for most sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from maskpredict.decoding.drafts import MAX_SPLITS
from maskpredict.decoding.hypothesis import Gap
from maskpredict.runtime.lines import Line, clean
from maskpredict.runtime.templates import parse_template
from maskpredict.runtime.word_alignment import alignment_drafts
from maskpredict.tokenizer import Tokenizer

RUN_POSITIONS = 16
"""Positions that take as long as the fixed cost of one run of the encoder or the decoder."""
ENCODER_RUNS = 2
"""Price of encoding a source, in runs over that many positions: it is computed alone, and batches cost something."""
PIN_POSITIONS = 1
"""Positions that take as long as trying a pinned phrase at one place of a draft."""


@dataclass(frozen=True)
class _Drafts:
    count: int
    length: int
    predicted: int
    """Positions of each that are not given."""
    pin_trials: int = 0
    """Places at which pinned phrases without a place are tried."""


def price(line: Line, tokens: int, decoding: Any, target: Tokenizer, max_positions: int) -> int:
    """Return the price of a line with that many source subwords; `decoding` are the settings of its model's system."""
    drafts = _drafts(line, tokens, decoding.drafts_per_sentence, target, max_positions)
    passes = decoding.most_passes(drafts.predicted)
    encoding = ENCODER_RUNS * (tokens + RUN_POSITIONS)
    aligning = alignment_drafts(tokens) * (drafts.length + RUN_POSITIONS) if line.align else 0
    pinning = drafts.count * drafts.pin_trials * PIN_POSITIONS
    return encoding + aligning + pinning + drafts.count * passes * (drafts.length + RUN_POSITIONS)


def _drafts(line: Line, tokens: int, candidates: int, target: Tokenizer, longest: int) -> _Drafts:
    like_source = tokens + 2  # translations are about as long as their sources
    if isinstance(line.template, tuple):
        return _Drafts(1, len(line.template), line.template.count(None))
    if line.template is not None:
        return _with_gaps(line.template, like_source, candidates, target, longest)
    if not line.pins:
        return _Drafts(candidates, like_source, like_source)  # a line that is too long is cut, which changes little
    phrases = [pin if isinstance(pin, str) else pin[0] for pin in line.pins]
    sizes = [len(target.encode(clean(phrase))) for phrase in phrases]
    ends = [0 if isinstance(pin, str) else pin[1] + size for pin, size in zip(line.pins, sizes, strict=True)]
    length = min(max(like_source, sum(sizes) + 1, max(ends) + 1), longest)
    floating = sum(isinstance(pin, str) for pin in line.pins)
    return _Drafts(candidates, length, length, pin_trials=floating * length)


def _with_gaps(text: str, like_source: int, candidates: int, target: Tokenizer, longest: int) -> _Drafts:
    template = parse_template(clean(text), target)
    gaps = [part for part in template if isinstance(part, Gap)]
    known = sum(len(part) for part in template if not isinstance(part, Gap))
    sized = sum(gap.length or 0 for gap in gaps)
    open_gaps = sum(gap.length is None for gap in gaps)
    if not open_gaps:
        length = min(known + sized + 1, longest)
        return _Drafts(1, length, min(sized, longest))
    length = min(max(like_source, known + sized + open_gaps + 2), longest)
    splits = min(MAX_SPLITS, comb(max(length - known - sized - 2, open_gaps), open_gaps - 1))
    return _Drafts((candidates + 2) * splits, length, max(1, length - known))
