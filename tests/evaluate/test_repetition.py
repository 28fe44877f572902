"""The share of tokens that equal their left neighbour."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.evaluate.repetition import token_repetition, word_repetition


def test_a_token_is_repeated_when_it_equals_its_left_neighbour() -> None:
    assert token_repetition([["_a", "_a", "b", "_a"]]) == 1 / 4


def test_a_token_said_three_times_is_repeated_twice() -> None:
    assert token_repetition([[7, 7, 7]]) == 2 / 3


def test_the_end_of_one_sentence_is_no_neighbour_of_the_next() -> None:
    assert token_repetition([["a"], ["a"]]) == 0.0


def test_long_sentences_count_for_more_than_short_ones() -> None:
    assert token_repetition([["a", "a"], ["b", "c", "d", "e", "f", "g", "h", "i"]]) == 1 / 10


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
def test_nothing_repeats_in_no_text(sentences: list[list[str]]) -> None:
    assert token_repetition(sentences) == 0.0


def test_words_are_compared_whole() -> None:
    # The subwords of "ba ba" and "baba" may be the same; the words are not.
    assert word_repetition(["ba ba", "baba baba baba"]) == 3 / 5
    assert word_repetition(["baba ba"]) == 0.0


@given(st.lists(st.lists(st.integers(0, 3))))
def test_the_rate_is_a_share_and_zero_without_neighbours_alike(sentences: list[list[int]]) -> None:
    rate = token_repetition(sentences)
    assert 0.0 <= rate < 1.0
    has_repeat = any(a == b for sentence in sentences for a, b in pairwise(sentence))
    assert (rate > 0) == has_repeat
