"""CTC decoding: a word or a blank at each of a fixed number of positions, collapsed into the target.

To collapse, merge equal neighbours, then drop blanks. The blank is the MASK id, which no target has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.one_pass import OnePassDecoder
from maskpredict.decoding.settings import OnePassSettings
from maskpredict.errors import UserError


class AlignmentDecoder(OnePassDecoder):
    """Predicts a word or a blank at every position, and collapses them."""

    def score(
        self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: OnePassSettings
    ) -> list[Hypothesis]:
        """Return the targets with the scores of their likeliest alignments."""
        self.refuse_constraints(requests)
        with self.engine.working():
            finisher = self.finisher(requests, settings)
            guesses = (
                np.asarray(finisher.first_guess([self.engine.special.mask] * count, sentence))
                for sentence, count in enumerate(finisher.encoded.positions)
            )
            return [self._aligned(guess_TV, target) for guess_TV, target in zip(guesses, targets, strict=True)]

    def suppressed(self, settings: OnePassSettings) -> tuple[int, ...]:
        """As in `OnePassDecoder`; the blank is never suppressed."""
        return tuple(token for token in settings.suppress_tokens if token != self.engine.special.mask)

    def hypothesis(self, row: Finished) -> Hypothesis:
        """As in `OnePassDecoder`: the collapsed alignment.

        A word's log-probability is its highest over the positions that predict it.
        """
        words: list[int] = []
        log_probs: list[float] = []
        for place, (token, log_prob) in enumerate(zip(row.ids, row.log_probs, strict=True)):
            if token == self.engine.special.mask:
                continue
            if place and token == row.ids[place - 1]:
                log_probs[-1] = max(log_probs[-1], log_prob)
            else:
                words.append(token)
                log_probs.append(log_prob)
        return Hypothesis(words, log_probs, row.score, passes=row.passes)

    def _aligned(self, log_probs_TV: npt.NDArray[np.float32], target: Sequence[int]) -> Hypothesis:
        blank = self.engine.special.mask
        alignment = best_alignment(log_probs_TV[:, [blank, *target]], target)
        if alignment is None:
            raise UserError(f"a target of {len(target)} subwords is too long for its source; shorten it.")
        ids = [blank if word < 0 else target[word] for word in alignment]
        log_probs = [float(log_probs_TV[place, token]) for place, token in enumerate(ids)]
        return self.hypothesis(Finished(ids, log_probs, sum(log_probs) / len(log_probs), passes=1, history=[]))


def best_alignment(log_probs_TC: npt.NDArray[np.float32], target: Sequence[int]) -> list[int] | None:
    """Return the Viterbi path of a target through the CTC lattice: the word at each position, or -1 for a blank.

    `log_probs_TC` are of the blank and then of each word of the target. The states alternate between blanks and words,
    with a blank at both ends. None when there are too few positions.
    """
    words = len(target)
    states = 2 * words + 1
    column_S = np.array([0 if state % 2 == 0 else 1 + state // 2 for state in range(states)])
    # A word may follow the word before it without a blank, unless they are equal.
    may_skip_S = np.array([s % 2 == 1 and s >= 3 and target[s // 2] != target[s // 2 - 1] for s in range(states)])
    score_S = np.full(states, -np.inf)
    score_S[: min(2, states)] = log_probs_TC[0, column_S[:2]]
    came_from_TS = np.zeros((len(log_probs_TC), states), dtype=np.int64)
    for t in range(1, len(log_probs_TC)):
        one_before_S = np.concatenate([[-np.inf], score_S[:-1]])
        two_before_S = np.where(may_skip_S, np.concatenate([[-np.inf, -np.inf], score_S[:-2]])[:states], -np.inf)
        options_3S = np.stack([score_S, one_before_S, two_before_S])
        back_S = options_3S.argmax(axis=0)
        came_from_TS[t] = np.arange(states) - back_S
        score_S = options_3S.max(axis=0) + log_probs_TC[t, column_S]
    state = states - 1 if words == 0 or score_S[-1] >= score_S[-2] else states - 2
    if score_S[state] == -np.inf:
        return None
    path = [state]
    for t in range(len(log_probs_TC) - 1, 0, -1):
        state = int(came_from_TS[t, state])
        path.append(state)
    return [-1 if state % 2 == 0 else state // 2 for state in reversed(path)]
