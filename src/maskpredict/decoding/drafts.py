"""Drafts that decoding starts from: all masks, masks around pinned words, or a given sentence with gaps.

A draft is a list of ids with the mask id at every position to predict. All constraints (a length, pinned words, a
template) become drafts before decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby, pairwise

from maskpredict.decoding.arrays import Array, array_namespace
from maskpredict.decoding.hypothesis import Gap, Pin
from maskpredict.errors import UserError

MAX_SPLITS = 24
"""Most ways to distribute a total length over several gaps that are tried."""


def pinned_draft(length: int, pins: Sequence[Pin], mask: int) -> list[int]:
    """Return masks, with the pins that have a place written in."""
    draft = [mask] * length
    for pin in pins:
        if pin.place is None:
            continue
        if pin.place < 0 or pin.place + len(pin.ids) > length - 1:
            raise UserError(
                f"a pin at position {pin.place} with {len(pin.ids)} subwords does not fit a target of {length} "
                "positions (the last is the end mark); pin it further left or leave its place open."
            )
        if any(token != mask for token in draft[pin.place : pin.place + len(pin.ids)]):
            raise UserError(f"two pins overlap at position {pin.place}; pin one of them further right.")
        draft[pin.place : pin.place + len(pin.ids)] = pin.ids
    return draft


def shortest_with(pins: Sequence[Pin], mask: int) -> int:
    """Return the length of the shortest target with these pins, its end mark included."""
    placed = max((pin.place + len(pin.ids) for pin in pins if pin.place is not None), default=0)
    length = max(placed, sum(len(pin.ids) for pin in pins)) + 1
    floating = [len(pin.ids) for pin in pins if pin.place is None]
    while not has_room(pinned_draft(length, pins, mask), floating, mask):
        length += 1
    return length


def has_room(draft: Sequence[int], widths: Sequence[int], mask: int) -> bool:
    """Return True if phrases of these widths fit into a draft's masks without overlap, except its last position."""
    runs = [len(list(run)) for masked, run in groupby(draft[:-1], lambda token: token == mask) if masked]
    for width in sorted(widths, reverse=True):
        tightest = min((run for run in runs if run >= width), default=None)
        if tightest is None:
            return False
        runs[runs.index(tightest)] -= width
    return True


def place_phrases(
    draft: Sequence[int], phrases: Sequence[tuple[int, ...]], log_probs_TV: Array, mask: int
) -> list[int]:
    """Return the draft with each phrase at its best place by `log_probs_TV`, the longest phrases first.

    At its best place a phrase is likely, compared with the words that it displaces: a certain full stop stays.
    """
    placed = list(draft)
    xp = array_namespace(log_probs_TV)
    displaced = xp.max(log_probs_TV, axis=1).tolist()
    ordered = sorted(phrases, key=lambda phrase: -len(phrase))
    for number, phrase in enumerate(ordered, 1):
        later = [len(other) for other in ordered[number:]]
        with_phrase = {
            start: [*placed[:start], *phrase, *placed[start + len(phrase) :]]
            for start in range(len(placed) - len(phrase))
            if all(token == mask for token in placed[start : start + len(phrase)])
        }
        starts = [start for start, filled in with_phrase.items() if has_room(filled, later, mask)]
        if not starts:
            raise UserError("the pinned words leave no room for each other; pin fewer or shorter ones.")
        fit = {
            start: sum(float(log_probs_TV[start + i, t]) - displaced[start + i] for i, t in enumerate(phrase))
            for start in starts
        }
        placed = with_phrase[max(starts, key=lambda start: fit[start])]
    return placed


def template_drafts(
    template: Sequence[tuple[int, ...] | Gap], lengths: Sequence[int], mask: int, eos: int
) -> list[list[int]]:
    """Return the drafts of a sentence with gaps, for the given total lengths (end mark included)."""
    open_gaps = sum(isinstance(part, Gap) and part.length is None for part in template)
    known = 1 + sum((part.length or 0) if isinstance(part, Gap) else len(part) for part in template)
    if not open_gaps:
        return [_write(template, (), mask, eos)]
    # The length head ignores the given words, so also try the smallest gaps.
    spares = dict.fromkeys([*(max(n - known, open_gaps) for n in lengths), open_gaps, open_gaps + 1])
    return [_write(template, split, mask, eos) for spare in spares for split in _splits(spare, open_gaps)]


def _splits(total: int, parts: int) -> list[tuple[int, ...]]:
    """Return ways to write `total` as `parts` positive numbers, the most even first, at most MAX_SPLITS of them."""
    cuts = combinations(range(1, total), parts - 1)
    splits = []
    for cut in cuts:
        edges = (0, *cut, total)
        splits.append(tuple(b - a for a, b in pairwise(edges)))
        if len(splits) >= 2000:  # long texts with many gaps have far too many
            break
    return sorted(splits, key=lambda split: max(split) - min(split))[:MAX_SPLITS]


def _write(template: Sequence[tuple[int, ...] | Gap], sizes: Sequence[int], mask: int, eos: int) -> list[int]:
    draft: list[int] = []
    remaining = iter(sizes)
    for part in template:
        if isinstance(part, Gap):
            draft += [mask] * (part.length if part.length is not None else next(remaining))
        else:
            draft += part
    return [*draft, eos]
