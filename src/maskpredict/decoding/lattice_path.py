"""Viterbi paths of given words through the positions of an alignment: a whole target, a pinned phrase or a template.

A path goes through a chain of states from first to last and stays in each for one or more positions; optional states
may be left out. Words are states, with blanks between them; so is a gap, which costs nothing wherever it lies.

Shape letters: T positions, S states, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.hypothesis import Gap

Floats = npt.NDArray[np.float32]
Word = int | None
"""An id, or None where any word may come."""


@dataclass(frozen=True)
class Chain:
    """States in order."""

    words: list[Word]
    optional: list[bool]
    """True for states that a path may leave out; no two of them are adjacent."""

    def __add__(self, other: Chain) -> Chain:
        return Chain(self.words + other.words, self.optional + other.optional)


def spelled_out(words: Sequence[int], blank: int) -> Chain:
    """Return the states of words in a row; a blank stands between two of them, and must between equal ones."""
    chain = Chain([], [])
    for place, word in enumerate(words):
        if place:
            chain += Chain([blank], [word != words[place - 1]])
        chain += Chain([word], [False])
    return chain


def target_chain(words: Sequence[int], blank: int) -> Chain:
    """Return the states of a whole target: blanks may stand around it."""
    if not words:
        return Chain([blank], [False])
    around = Chain([blank], [True])
    return around + spelled_out(words, blank) + around


def phrase_chain(words: Sequence[int], blank: int) -> Chain:
    """Return the states of a phrase somewhere in the target."""
    anything = Chain([None], [True])
    return anything + spelled_out(words, blank) + anything


def template_chain(template: Sequence[tuple[int, ...] | Gap], blank: int, eos: int) -> Chain:
    """Return the states of a target with gaps, each of at least one position; its end mark is added."""
    parts = _runs(template)
    chain = Chain([], []) if parts[0] is None else Chain([blank], [True])
    for words in parts[:-1]:
        chain += Chain([None], [False]) if words is None else spelled_out(words, blank)
    if (words := parts[-1]) is None:  # the model ends the target
        return chain + Chain([None], [False])
    return chain + spelled_out((*words, eos), blank) + Chain([blank], [True])


def _runs(template: Sequence[tuple[int, ...] | Gap]) -> list[tuple[int, ...] | None]:
    """Return the template with adjacent words, and adjacent gaps, merged; None is a gap."""
    parts: list[tuple[int, ...] | None] = []
    for part in template:
        words = None if isinstance(part, Gap) else part
        if words is not None and parts and (before := parts[-1]) is not None:
            parts[-1] = before + words
        elif words is not None or not parts or parts[-1] is not None:
            parts.append(words)
    return parts


def best_words(log_probs_TV: Floats, chain: Chain, closed_T: npt.NDArray[np.bool_] | None = None) -> list[Word] | None:
    """Return what each position has on the best path: a word, a blank, or None in a gap; None if there is no path.

    A word costs its log-probability below that of the likeliest at its position, so a gap, where the model chooses,
    costs nothing. Closed positions may only be in gaps.
    """
    costs_TV = log_probs_TV - log_probs_TV.max(axis=1, keepdims=True)
    if closed_T is not None:
        costs_TV = np.where(closed_T[:, None], -np.inf, costs_TV)
    nothing_T = np.zeros(len(costs_TV), np.float32)
    scores_ST = np.stack([nothing_T if word is None else costs_TV[:, word] for word in chain.words])
    path = best_path(scores_ST, chain.optional)
    return None if path is None else [chain.words[state] for state in path]


def best_path(scores_ST: Floats, optional: Sequence[bool]) -> list[int] | None:
    """Return the state at each position on the path with the highest sum, or None if there is none.

    Of equal paths, from the last position to the first: one that stays in its state, or came from the nearer one.
    """
    states, positions = scores_ST.shape
    may_skip_S = np.array([s >= 2 and optional[s - 1] for s in range(states)])
    score_S = np.full(states, -np.inf)
    score_S[0] = scores_ST[0, 0]
    if states > 1 and optional[0]:
        score_S[1] = scores_ST[1, 0]
    came_from_TS = np.zeros((positions, states), dtype=np.int64)
    for t in range(1, positions):
        one_before_S = np.concatenate([[-np.inf], score_S[:-1]])
        two_before_S = np.where(may_skip_S, np.concatenate([[-np.inf, -np.inf], score_S[:-2]])[:states], -np.inf)
        options_3S = np.stack([score_S, one_before_S, two_before_S])
        back_S = options_3S.argmax(axis=0)
        came_from_TS[t] = np.arange(states) - back_S
        score_S = options_3S.max(axis=0) + scores_ST[:, t]
    state = states - 1
    if states > 1 and optional[-1] and score_S[-2] > score_S[-1]:
        state = states - 2
    if score_S[state] == -np.inf:
        return None
    path = [state]
    for t in range(positions - 1, 0, -1):
        state = int(came_from_TS[t, state])
        path.append(state)
    return path[::-1]
