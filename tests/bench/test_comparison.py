"""Sums, ratios and cross-overs of made-up heats, checked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple

import pytest

from maskpredict import UserError
from maskpredict.bench.comparison import check_baselines, cross_overs, default_baselines, ratios
from maskpredict.bench.race import Heat
from maskpredict.bench.racer_result import RacerResult, RacerScore, racer_results
from maskpredict.bench.racers.base import Entry

MASK = Entry("mask-predict-t4-l1-int8", "mask-predict", "T=4 l=1", "int8", "ours")
GREEDY = Entry("ar-b1-int8", "autoregressive", "b=1", "int8", "ours, too")


def heats(racer: Entry, times: Mapping[int, list[float]]) -> list[Heat]:
    """A heat a round for each time: seconds by sentence at a batch size, two batches each."""
    return [
        Heat(number, racer.name, size, size, 2 * size, (0.5 * time * size, 1.5 * time * size))
        for size, own in times.items()
        for number, time in enumerate(own, 1)
    ]


def summed_up(run: list[Heat]) -> tuple[RacerResult, ...]:
    return racer_results(run, [MASK, GREEDY], {MASK.name: RacerScore(30), GREEDY.name: RacerScore(31)})


def test_times_are_medians_over_rounds() -> None:
    (mask,) = summed_up(heats(MASK, {1: [0.1, 0.3, 0.2], 8: [0.04, 0.04, 0.08]}))
    alone, together = mask.sizes
    assert astuple(alone.milliseconds) == pytest.approx((200, 150, 250))
    assert together.milliseconds.median == pytest.approx(40)
    assert together.sentences_per_second == pytest.approx(25)
    assert mask.best is together
    assert mask.at(8) is together
    assert mask.at(4) is None
    assert together.p95_milliseconds is None


def test_95_of_100_single_sentences_are_within_the_stated_time() -> None:
    times = tuple(number / 1000 for number in range(1, 102))
    (mask,) = summed_up([Heat(1, MASK.name, 1, 1, 101, times)])
    assert mask.sizes[0].p95_milliseconds == pytest.approx(96)


def test_ratios_are_taken_within_rounds() -> None:
    # The machine is three times as slow in the second round: the medians move, the ratio does not.
    run = heats(MASK, {1: [0.1, 0.3, 0.1]}) + heats(GREEDY, {1: [0.2, 0.6, 0.25]})
    (at_one, at_best) = ratios(run, summed_up(run), [GREEDY.name])
    assert (at_one.racer, at_one.baseline, at_one.batch_size) == (MASK.name, GREEDY.name, 1)
    assert astuple(at_one.times_as_fast) == pytest.approx((2, 2, 2.25))
    assert at_best.batch_size is None


def test_at_its_best_each_racer_has_its_own_batch_size() -> None:
    run = heats(MASK, {1: [0.2], 8: [0.1]}) + heats(GREEDY, {1: [0.3], 8: [0.4]})
    found = {ratio.batch_size: ratio.times_as_fast.median for ratio in ratios(run, summed_up(run), [GREEDY.name])}
    assert found == {1: pytest.approx(1.5), 8: pytest.approx(4), None: pytest.approx(3)}


def test_a_round_that_only_one_of_the_two_finished_does_not_count() -> None:
    run = heats(MASK, {1: [0.1, 0.1]}) + heats(GREEDY, {1: [0.2]})
    first, _ = ratios(run, summed_up(run), [GREEDY.name])
    assert astuple(first.times_as_fast) == pytest.approx((2, 2, 2))


@pytest.mark.parametrize(
    ("mask", "greedy", "batch_size", "says"),
    [
        # Four times as fast at 1 and a quarter as fast at 16: equal at 4, half-way between their logarithms.
        ({1: [0.1], 16: [0.04]}, {1: [0.4], 16: [0.01]}, 4, "faster than ar-b1-int8 up to a batch of about 4."),
        ({1: [0.1], 16: [0.01]}, {1: [0.4], 16: [0.02]}, None, "faster at every batch size raced than ar-b1-int8."),
        ({1: [0.4], 16: [0.02]}, {1: [0.1], 16: [0.01]}, None, "slower at every batch size raced than ar-b1-int8."),
        (
            {1: [0.4], 16: [0.01]},
            {1: [0.1], 16: [0.02]},
            None,
            "slower with small batches and faster with large ones than ar-b1-int8.",
        ),
    ],
    ids=["crossing", "always faster", "always slower", "the other way round"],
)
def test_the_cross_over_is_where_both_are_equally_fast(
    mask: dict[int, list[float]], greedy: dict[int, list[float]], batch_size: float | None, says: str
) -> None:
    run = heats(MASK, mask) + heats(GREEDY, greedy)
    (found,) = cross_overs(run, summed_up(run))
    assert found.batch_size == (None if batch_size is None else pytest.approx(batch_size))
    assert found.says == f"{MASK.name} is {says}"


def test_without_a_round_of_both_nothing_is_said_about_the_two() -> None:
    run = heats(MASK, {1: [0.1]}) + heats(GREEDY, {8: [0.1]})
    assert cross_overs(run, summed_up(run)) == ()
    assert {ratio.batch_size for ratio in ratios(run, summed_up(run), [GREEDY.name])} == {None}


def test_baselines_are_what_one_would_use_instead() -> None:
    def entry(name: str, engine: str) -> Entry:
        return Entry(name, engine, "", name.rpartition("-")[2], "")

    entries = [
        entry("mask-predict-t4-l1-int8", "mask-predict"),
        entry("ar-b5-float32", "autoregressive"),
        entry("ar-b5-int8", "autoregressive"),
        entry("ctranslate2-b5-int8", "CTranslate2"),
        entry("transformers-b5-float32", "transformers"),
    ]
    assert default_baselines(entries) == ["ar-b5-int8", "ctranslate2-b5-int8", "transformers-b5-float32"]
    assert default_baselines(entries[1:]) == ["ar-b5-int8"]


def test_a_baseline_must_race() -> None:
    with pytest.raises(UserError, match="no racer ar-b7-int8 to be a baseline; choose some of mask-predict-t4-l1-int8"):
        check_baselines(["ar-b7-int8"], [MASK, GREEDY])
