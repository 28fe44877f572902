"""Analyses of small inputs whose results can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.analyses.calibration import Bin, binned, calibration_error, common_subsequence_mask
from maskpredict.paper.analyses.changed_tokens import shares
from maskpredict.paper.analyses.length_head import accuracy
from maskpredict.paper.analyses.speed_quality import BEST, ONE, TEN, SpeedQuality, SpeedRow, disorder
from maskpredict.paper.cell import Cell
from maskpredict.paper.end_mark import before_end_mark
from maskpredict.paper.translations import TranslatedSentence
from maskpredict.runtime.translation import Translation


def sentence(length: int, changes: tuple[int, ...]) -> TranslatedSentence:
    return TranslatedSentence(Translation("", ["a"] * length, 0.0, [0.0] * length, 10), changes)


def test_calibration_error_is_the_weighted_distance_of_confidence_and_accuracy() -> None:
    judged = [(0.95, True), (0.91, True), (0.93, False), (0.97, True), (0.25, False), (0.21, True)]
    bins = binned(judged)
    assert bins == [Bin(2, 0.23, 0.5), Bin(4, 0.94, 0.75)]
    assert calibration_error(bins) == pytest.approx((2 * 0.27 + 4 * 0.19) / 6)


def test_a_probability_of_one_is_in_the_last_bin() -> None:
    assert binned([(1.0, True)]) == [Bin(1, 1.0, 1.0)]


@pytest.mark.parametrize(
    ("tokens", "reference", "right"),
    [
        ("a b c", "a b c", "111"),
        ("a x c", "a b c", "101"),
        ("b a", "a b", "10"),
        ("a a b", "a b", "011"),
        ("x y", "a b", "00"),
        ("", "a", ""),
        ("a", "", "0"),
    ],
)
def test_right_subwords_are_those_of_a_longest_common_subsequence(tokens: str, reference: str, right: str) -> None:
    found = common_subsequence_mask(tokens.split(), reference.split())
    assert "".join("1" if own else "0" for own in found) == right


def test_shares_are_over_all_positions_of_all_sentences() -> None:
    rows = shares([sentence(10, (5, 4, 3, 2, 1, 0, 0, 0, 0)), sentence(4, (3, 0, 0, 0, 0, 0, 0, 0, 1))])
    assert [row.number for row in rows] == list(range(2, 11))
    # Before the second of ten passes 9 of 10 and 3 of 4 positions are masked; before the last, one of each.
    assert rows[0].masked.value == pytest.approx(12 / 14, abs=1e-5)
    assert rows[0].changed.value == pytest.approx(8 / 14, abs=1e-5)
    assert rows[-1].masked.value == pytest.approx(2 / 14, abs=1e-5)
    assert rows[-1].changed.value == pytest.approx(1 / 14, abs=1e-5)


def test_lengths_are_exact_near_or_among_the_candidates() -> None:
    row = accuracy("all", [((5, 6), 5), ((7, 5), 8), ((9, 3), 3), ((4, 2), 10)])
    assert row.sentences == 4
    assert row.exact.value == 0.25
    assert row.near.value == 0.5
    assert row.among.value == 0.5
    assert row.error.value == (0 - 1 + 6 - 6) / 4


def test_a_range_without_sentences_says_so() -> None:
    assert accuracy("[60, ∞)", []).exact == Cell(reason="no reference has such a length.")


def test_subwords_after_the_end_mark_do_not_count() -> None:
    assert before_end_mark(["▁a", "b", "</s>", "b"]) == ["▁a", "b"]
    assert before_end_mark(["▁a"]) == ["▁a"]


def speed_row(batch: str, passes: int, speedup: float) -> SpeedRow:
    return SpeedRow(batch, None, passes, 2, 500, Cell(100 / speedup), Cell(28.0 + passes / 10), Cell(speedup))


def test_a_panel_of_times_that_contradict_each_other_is_not_drawn_and_says_so() -> None:
    orderly = [speed_row(TEN, passes, 12.0 / passes) for passes in range(4, 11)]
    nearly = [speed_row(ONE, passes, speedup) for passes, speedup in ((4, 3.0), (5, 2.0), (6, 2.19))]
    noise = [speed_row(BEST, passes, speedup) for passes, speedup in ((4, 2.9), (5, 1.4), (6, 2.1))]
    assert disorder(orderly) == 0
    assert disorder(nearly) == pytest.approx(0.095)
    assert disorder(noise) == pytest.approx(0.5)
    result = SpeedQuality("a GPU", (*nearly, *orderly, *noise))
    analysis = ANALYSES["speed_quality"]
    assert analysis.draw is not None
    assert analysis.note is not None
    figure = analysis.draw(result)
    assert figure is not None
    curves = [any(np.size(line.get_xdata()) > 2 for line in axes.get_lines()) for axes in figure.axes]
    assert curves == [True, True, False]
    assert "up to 50% faster" in figure.axes[2].texts[0].get_text()
    assert analysis.note(result) == (
        "Timed on a GPU. The times of the batch size “best” are noise: "
        "more passes came out up to 50% faster than fewer."
    )
