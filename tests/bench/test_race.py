"""The order of a race, and what happens when memory or time run out."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from maskpredict import UserError
from maskpredict.bench.config import BenchConfig
from maskpredict.bench.race import Heat, Race
from maskpredict.bench.racers.base import Entry

SENTENCES = [f"sentence {number}" for number in range(12)]


class Runner:
    """A racer that shouts; its memory holds `room` sentences."""

    def __init__(self, name: str, room: int = 1_000, error: str = "CUDA failed with error out of memory") -> None:
        self.entry = Entry(name, "shouting", "loud", "float32", "a racer that shouts")
        self.room, self.error = room, error
        self.batches: list[list[str]] = []

    def prepare(self, sentences: Sequence[str]) -> None:
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        if len(batch) > self.room:
            raise RuntimeError(self.error)
        self.batches.append(list(batch))
        return [text.upper() for text in batch]


def race(**values: object) -> Race:
    return Race(SENTENCES, BenchConfig(model="any", **values), "cpu")  # type: ignore[arg-type]


def raced(runners: Sequence[Runner], **values: object) -> list[Heat]:
    return list(race(**values).heats(runners))


def test_everybody_runs_once_a_round_at_each_batch_size_before_anybody_runs_again() -> None:
    runners = [Runner(name) for name in "abcd"]
    heats = raced(runners, rounds=3, batch_sizes=(4, 1))
    assert [(heat.round, heat.batch_size) for heat in heats[::4]] == [(1, 1), (1, 4), (2, 1), (2, 4), (3, 1), (3, 4)]
    for first in range(0, len(heats), 4):
        together = heats[first : first + 4]
        assert {heat.racer for heat in together} == set("abcd")
        assert len({(heat.round, heat.batch_size) for heat in together}) == 1


def test_the_order_is_drawn_anew_each_time_and_depends_on_the_seed_alone() -> None:
    def orders(seed: int) -> list[str]:
        heats = raced([Runner(name) for name in "abcd"], rounds=6, batch_sizes=(4,), seed=seed)
        names = [heat.racer for heat in heats]
        return ["".join(names[first : first + 4]) for first in range(0, len(names), 4)]

    assert len(set(orders(1))) > 2
    assert orders(1) == orders(1)
    assert orders(1) != orders(2)


def test_every_racer_is_given_the_same_batches() -> None:
    runners = [Runner("a"), Runner("b")]
    (heat, _) = raced(runners, rounds=1, batch_sizes=(5,))
    warm, *timed = runners[0].batches
    assert warm == SENTENCES[:1]
    assert timed == [SENTENCES[:5], SENTENCES[5:10], SENTENCES[10:]]
    assert runners[0].batches == runners[1].batches
    assert len(heat.seconds) == 3
    assert heat.sentences == 12
    assert heat.seconds_per_sentence == sum(heat.seconds) / 12


def test_small_batches_see_some_sentences_of_all_lengths_and_large_ones_all() -> None:
    runner = Runner("a")
    heats = raced([runner], rounds=1, batch_sizes=(1, 4), calls=4)
    assert [heat.sentences for heat in heats] == [4, 12]
    assert [batch[0] for batch in runner.batches[1:5]] == ["sentence 1", "sentence 4", "sentence 7", "sentence 10"]


def test_a_batch_has_at_most_all_sentences() -> None:
    heats = raced([Runner("a")], rounds=1, batch_sizes=(1, 32, 64))
    assert [heat.batch_size for heat in heats] == [1, 12]


@pytest.mark.parametrize(
    "error",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
        "CUDA failed with error out of memory",
        "[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to ...",
    ],
)
def test_out_of_memory_halves_the_batch_and_is_noted_once(error: str) -> None:
    runner = Runner("a", room=5, error=error)
    timed_race = race(rounds=2, batch_sizes=(2, 12))
    assert timed_race.warm_up(runner, SENTENCES) == [text.upper() for text in SENTENCES]
    small, large, *_ = timed_race.heats([runner])
    assert (small.batch_size, small.computed_size) == (2, 2)
    assert (large.batch_size, large.computed_size) == (12, 3)
    assert len(large.seconds) == 4
    assert timed_race.notes == [
        "a ran out of memory with batches of 12 and went on with 6.",
        "a ran out of memory with batches of 6 and went on with 3.",
    ]


def test_a_racer_that_cannot_hold_a_single_sentence_cannot_race() -> None:
    class Full(Runner):
        def prepare(self, sentences: Sequence[str]) -> None:
            """It has room for its model, but no more."""

    with pytest.raises(UserError, match="a runs out of memory with a single sentence"):
        race(batch_sizes=(4,)).warm_up(Full("a", room=0), SENTENCES)


def test_other_failures_are_not_taken_for_a_lack_of_memory() -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        race(batch_sizes=(4,)).warm_up(Runner("a", room=1, error="shapes cannot be multiplied"), SENTENCES)


def test_after_the_deadline_everybody_still_runs_once() -> None:
    runners = [Runner("a"), Runner("b")]
    heats = list(race(rounds=5, batch_sizes=(1, 4)).heats(runners, deadline=time.monotonic() - 1))
    assert [(heat.round, heat.batch_size) for heat in heats] == [(1, 1), (1, 1)]
    assert {heat.racer for heat in heats} == {"a", "b"}
