"""Each filter, alone and counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.corpus.cleaning import Cleaner, CleaningConfig, DigestSet, DropReason
from maskpredict.corpus.reading import Pair

GOOD = Pair("ein guter Satz", "a good sentence")


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (Pair("", "x"), DropReason.EMPTY),
        (Pair("x", " \u3000 "), DropReason.EMPTY),
        (Pair("x" * 21, "y"), DropReason.TOO_MANY_CHARACTERS),
        (Pair("same ", "same"), DropReason.IDENTICAL),
    ],
)
def test_each_text_filter_drops_its_pair_and_counts_it(pair: Pair, reason: DropReason) -> None:
    cleaner = Cleaner(CleaningConfig(max_characters=20, drop_identical=True))
    assert cleaner.clean_text([GOOD, pair]) == [GOOD]
    assert cleaner.dropped == {reason: 1, DropReason.DUPLICATE: 0}


def test_identical_sides_are_kept_unless_asked_otherwise() -> None:
    assert Cleaner(CleaningConfig()).clean_text([Pair("Berlin", "Berlin")]) == [Pair("Berlin", "Berlin")]


def test_duplicates_are_dropped_within_and_across_blocks() -> None:
    cleaner = Cleaner(CleaningConfig())
    other = Pair(GOOD.source, "another good sentence")
    assert cleaner.clean_text([GOOD, other, GOOD]) == [GOOD, other]
    assert cleaner.clean_text([other, Pair("neu", "new")]) == [Pair("neu", "new")]
    assert cleaner.dropped == {DropReason.DUPLICATE: 2}


def test_duplicates_can_be_kept() -> None:
    assert Cleaner(CleaningConfig(drop_duplicates=False)).clean_text([GOOD, GOOD]) == [GOOD, GOOD]


def test_lengths_are_filtered_by_subwords_and_each_pair_is_counted_once() -> None:
    cleaner = Cleaner(CleaningConfig(max_tokens=50, max_ratio=3.0, ratio_from=10))
    lengths = [(0, 5), (51, 1), (50, 50), (30, 10), (31, 10), (10, 31), (9, 1), (10, 1)]
    source, target = np.array(lengths, dtype=np.int64).T
    keep = cleaner.keep_lengths(source, target)
    assert keep.tolist() == [False, False, True, True, False, False, True, False]
    assert cleaner.dropped == {DropReason.EMPTY: 1, DropReason.TOO_MANY_TOKENS: 1, DropReason.RATIO: 3}


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=15))
def test_the_digest_set_agrees_with_a_python_set(blocks: list[list[int]]) -> None:
    digests, seen = DigestSet(), set[int]()
    for block in blocks:
        expected = []
        for value in block:
            expected.append(value not in seen)
            seen.add(value)
        assert digests.add(np.array(block, dtype=np.uint64)).tolist() == expected
