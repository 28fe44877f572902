"""Which target lengths are tried."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.decoding.candidates import CompletedDraft, candidate_lengths, likely_count, ranked
from maskpredict.decoding.settings import MaskPredictSettings


def log_probs(**probabilities: float) -> npt.NDArray[np.float32]:
    """One row over lengths 0 to 9; the named ones (n3=0.5) have these probabilities."""
    row = np.full((1, 10), 1e-6, dtype=np.float32)
    for name, probability in probabilities.items():
        row[0, int(name[1:])] = probability
    return np.log(row)


def test_the_likeliest_lengths_come_first() -> None:
    assert candidate_lengths(log_probs(n3=0.2, n7=0.5, n5=0.3), 3, longest=9) == [[7, 5, 3]]


def test_lengths_below_two_are_raised_then_duplicates_dropped() -> None:
    assert candidate_lengths(log_probs(n1=0.5, n2=0.3, n4=0.2), 3, longest=9) == [[2, 4]]
    assert candidate_lengths(log_probs(n1=0.9), 1, longest=9) == [[2]]


def test_raising_comes_after_the_choice_of_the_top_l_so_there_may_be_fewer() -> None:
    # 5 is not among the two likeliest, and does not move up when 1 and 2 fall together.
    assert candidate_lengths(log_probs(n1=0.5, n2=0.3, n5=0.2), 2, longest=9) == [[2]]


def test_equally_likely_lengths_come_shortest_first() -> None:
    assert candidate_lengths(np.zeros((1, 400), dtype=np.float32), 4, longest=399) == [[2, 3]]


def test_a_length_beyond_the_longest_is_lowered_to_it() -> None:
    assert candidate_lengths(log_probs(n9=0.6, n8=0.4), 2, longest=8) == [[8]]


def test_lengths_far_less_likely_than_the_first_are_told_apart() -> None:
    log_probs_C = [math.log(p) for p in (0.5, 0.3, 0.1, 0.04)]
    counts = [likely_count(log_probs_C, threshold) for threshold in (None, 1.0, 0.5, 0.2, 0.05)]
    assert counts == [4, 1, 2, 3, 4]


@given(
    st.lists(st.lists(st.floats(-9, 0, width=32), min_size=12, max_size=12), min_size=1, max_size=4), st.integers(1, 12)
)
def test_candidates_agree_with_a_plain_reading_of_the_rule(rows: list[list[float]], count: int) -> None:
    expected = []
    for row in rows:
        top = sorted(range(12), key=lambda n: (-row[n], n))[:count]
        expected.append(list(dict.fromkeys(max(2, n) for n in top)))
    assert candidate_lengths(np.array(rows, dtype=np.float32), count, longest=11) == expected


def finished(token: int, score: float, *, ranks_last: bool = False, length_log_prob: float = 0.0) -> CompletedDraft:
    """A candidate of one word and the end mark."""
    return CompletedDraft([token, 2], [score, score], score, 3, [], ranks_last, length_log_prob)


def test_candidates_that_were_set_aside_rank_behind_all_others() -> None:
    rows = [
        finished(5, -0.1, ranks_last=True),
        finished(6, -0.9),
        finished(7, -0.2, ranks_last=True),
        finished(8, -0.5),
    ]
    best_first = ranked(rows, MaskPredictSettings(num_hypotheses=4))
    assert [hypothesis.ids[0] for hypothesis in best_first] == [8, 6, 5, 7]
    assert all(hypothesis.lengths == (2, 2, 2, 2) and hypothesis.passes == 3 for hypothesis in best_first)


def test_the_probability_of_a_length_counts_as_much_as_its_weight() -> None:
    rows = [finished(5, -0.3, length_log_prob=-4.0), finished(6, -0.5, length_log_prob=-1.0)]
    firsts = [ranked(rows, MaskPredictSettings(length_weight=weight))[0].ids[0] for weight in (0.0, 0.06, 0.07)]
    assert firsts == [5, 5, 6]
