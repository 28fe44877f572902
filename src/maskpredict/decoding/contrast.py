"""Drafts with phrases in the places of the words that translate certain words of the source.

The model itself finds these words: with other words in the source, its predictions change most there. The phrase
replaces whole words, so the draft becomes longer or shorter with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.arrays import Array
from maskpredict.decoding.hypothesis import Pin


def contrasted_draft(
    log_probs_TV: Array, pins: Sequence[Pin], contrast_log_probs: Sequence[Array], mask: int
) -> list[int] | None:
    """Return the draft with each pin in the place of what its source words became; None if there is too little room.

    `log_probs_TV` are log-probabilities for a fully masked draft, `contrast_log_probs` those for each pin's contrast.
    """
    log_probs = _numpy(log_probs_TV)
    rows_T, likeliest_T = np.arange(len(log_probs)), log_probs.argmax(axis=1)
    taken_T = rows_T == len(log_probs) - 1  # the end mark
    places: list[tuple[int, int, tuple[int, ...]]] = []
    for pin, other_TV in zip(pins, contrast_log_probs, strict=True):
        if taken_T.all():
            return None
        change_T = log_probs[rows_T, likeliest_T] - _numpy(other_TV)[rows_T, likeliest_T]
        best = int(np.where(taken_T, -np.inf, change_T).argmax())
        words = 1 if pin.contrast is None else pin.contrast.words
        run = _run(change_T, best, taken_T, words + 1) if words > 1 else (best, best + 1)
        start, end = _whole_words(run, _continues(likeliest_T, pin), taken_T)
        taken_T[start:end] = True
        places.append((start, end, pin.ids))
    draft: list[int] = []
    previous_end = 0
    for start, end, ids in sorted(places):
        draft += [*[mask] * (start - previous_end), *ids]
        previous_end = end
    return [*draft, *[mask] * (len(log_probs) - previous_end)]


def _continues(tokens_T: npt.NDArray[np.int64], pin: Pin) -> list[bool]:
    return [pin.contrast is not None and token in pin.contrast.continuations for token in tokens_T.tolist()]


def _run(change_T: npt.NDArray[np.float32], best: int, taken_T: npt.NDArray[np.bool_], longest: int) -> tuple[int, int]:
    """Return the run of at most `longest` positions around the best one that change most, against half its change."""
    gains_T = np.where(taken_T, -np.inf, change_T - change_T[best] / 2)
    runs = [
        (start, end)
        for start in range(max(0, best + 1 - longest), best + 1)
        for end in range(best + 1, min(len(gains_T), start + longest) + 1)
    ]
    return max(runs, key=lambda run: float(gains_T[slice(*run)].sum()))


def _whole_words(run: tuple[int, int], continues: Sequence[bool], taken_T: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return a run of positions extended to whole words."""
    start, end = run
    while start > 0 and continues[start] and not taken_T[start - 1]:
        start -= 1
    while not taken_T[end] and continues[end]:
        end += 1
    return start, end


def _numpy(values: Array) -> npt.NDArray[np.float32]:
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values, dtype=np.float32)
