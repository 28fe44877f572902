"""Targets to start from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from maskpredict.decoding.drafts import (
    MAX_SPLITS,
    has_room,
    pinned_draft,
    place_phrases,
    shortest_with,
    template_drafts,
)
from maskpredict.decoding.hypothesis import Gap, Pin
from maskpredict.errors import UserError

M, EOS = 4, 2


def test_pins_with_a_place_are_written_into_the_masks() -> None:
    assert pinned_draft(6, [Pin((7, 8), 1), Pin((9,), 4), Pin((5,))], M) == [M, 7, 8, M, 9, M]


@pytest.mark.parametrize("pin", [Pin((7,), 5), Pin((7, 8, 9), 3), Pin((7,), -1)])
def test_a_pin_that_leaves_no_room_for_the_end_mark_is_refused(pin: Pin) -> None:
    with pytest.raises(UserError, match="does not fit a target of 6 positions"):
        pinned_draft(6, [pin], M)


def test_pins_that_overlap_are_refused() -> None:
    with pytest.raises(UserError, match="overlap"):
        pinned_draft(8, [Pin((7, 8), 1), Pin((9, 9), 2)], M)


def test_a_target_must_have_room_for_its_pins_and_its_end_mark() -> None:
    assert shortest_with([Pin((7, 8), 3)], M) == 6
    assert shortest_with([Pin((7, 8)), Pin((9,))], M) == 4
    assert shortest_with([], M) == 1
    # Three subwords fit neither before nor, at first, after the pinned one.
    assert shortest_with([Pin((7,), 2), Pin((8, 8, 8))], M) == 7


@pytest.mark.parametrize(
    ("draft", "widths", "fits"),
    [
        ([M, M, M, M], [3], True),
        ([M, M, M, M], [4], False),
        ([M, M, 7, M, M, M, EOS], [3, 2], True),
        ([M, M, 7, M, M, M, EOS], [2, 2, 1], True),
        ([M, M, 7, M, M, M, EOS], [4], False),
        ([7, EOS], [], True),
    ],
)
def test_phrases_have_room_where_masks_stand_together(draft: list[int], widths: list[int], fits: bool) -> None:
    assert has_room(draft, widths, M) is fits


def likely(length: int, **places: int) -> npt.NDArray[np.float32]:
    """Log-probabilities [T, V]: the token of `t7=3` is likely at place 3, token 0 at all others."""
    log_probs_TV = np.full((length, 20), -9.0, dtype=np.float32)
    log_probs_TV[:, 0] = -0.1
    for name, place in places.items():
        log_probs_TV[place, 0] = -9.0
        log_probs_TV[place, int(name[1:])] = -0.1
    return log_probs_TV


def test_a_phrase_goes_where_its_words_are_likeliest() -> None:
    assert place_phrases([M] * 6, [(7,)], likely(6, t7=3), M) == [M, M, M, 7, M, M]
    assert place_phrases([M] * 6, [(7, 8)], likely(6, t7=1, t8=2), M) == [M, 7, 8, M, M, M]
    assert place_phrases([M] * 6, [(7, 8)], likely(6, t8=4), M) == [M, M, M, 7, 8, M]
    assert place_phrases([M, M, 5, M, M, EOS], [(7, 8)], likely(6, t7=1, t8=2), M) == [7, 8, 5, M, M, EOS]


def test_a_phrase_never_takes_the_place_of_the_end_mark_and_the_leftmost_of_equals() -> None:
    assert place_phrases([M] * 4, [(7,)], likely(4, t7=3), M) == [7, M, M, M]
    assert place_phrases([M] * 3, [(7, 8)], likely(3, t7=1, t8=2), M) == [7, 8, M]


def test_the_longest_phrase_chooses_first_and_leaves_room_for_the_others() -> None:
    assert place_phrases([M] * 4, [(9,), (7, 8)], likely(4, t7=0, t8=1, t9=0), M) == [7, 8, 9, M]
    # In the middle, the long phrase would leave no two places side by side.
    assert place_phrases([M] * 6, [(9, 9), (7, 8, 8)], likely(6, t7=1, t8=2), M) == [7, 8, 8, 9, 9, M]


def test_phrases_without_room_for_each_other_are_refused() -> None:
    with pytest.raises(UserError, match="leave no room for each other"):
        place_phrases([M] * 4, [(7, 8), (9, 9)], likely(4), M)


def test_a_template_without_open_gaps_has_one_draft() -> None:
    template = ((7, 8), Gap(2), (9,))
    assert template_drafts(template, [5, 20], M, EOS) == [[7, 8, M, M, 9, EOS]]


def test_an_open_gap_is_tried_in_the_predicted_lengths_and_the_smallest_ones() -> None:
    drafts = template_drafts(((7,), Gap(), (9,)), [6, 5], M, EOS)
    assert drafts == [[7, M, M, M, 9, EOS], [7, M, M, 9, EOS], [7, M, 9, EOS]]


def test_the_smallest_gap_and_one_more_are_tried_even_if_only_long_targets_are_likely() -> None:
    assert [len(draft) for draft in template_drafts(((7,), Gap(), (9,)), [30], M, EOS)] == [30, 4, 5]
    assert [len(draft) for draft in template_drafts((Gap(), (7,), Gap()), [4], M, EOS)] == [4, 5, 5]


def test_several_open_gaps_share_out_the_length_in_every_way_the_most_even_first() -> None:
    drafts = template_drafts((Gap(), (7,), Gap()), [6], M, EOS)
    sizes = [(draft.index(7), len(draft) - draft.index(7) - 2) for draft in drafts]
    assert sizes[:3] == [(2, 2), (1, 3), (3, 1)]
    assert all(
        draft[-1] == EOS and draft.count(7) == 1 and min(size) > 0 for draft, size in zip(drafts, sizes, strict=True)
    )


def test_the_number_of_ways_is_limited_for_each_length() -> None:
    template = (Gap(), (7,), Gap(), (8,), Gap(), (9,), Gap())
    drafts = template_drafts(template, [40], M, EOS)
    assert len([draft for draft in drafts if len(draft) == 40]) == MAX_SPLITS
    assert len({tuple(draft) for draft in drafts}) == len(drafts)
