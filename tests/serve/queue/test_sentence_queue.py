"""The turns of clients and requests in the queue, and the batches they form."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from maskpredict.runtime.lines import Line
from maskpredict.runtime.translator import Translator
from maskpredict.serve.queue.batch import Batch, QueuedSentence
from maskpredict.serve.queue.errors import QueueFull, TooSlow
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.sentence_queue import SentenceQueue
from maskpredict.serve.queue.shares import QueuedRequest

T = TypeVar("T")
WIDTH = 16
"""Padded width of a source of ten subwords."""


@pytest.fixture(scope="module")
def model(cmlm_folder: Path) -> ServedModel:
    """A model whose engine batches sentences of one width alone, and that computes 1,000 positions a second."""
    served = ServedModel("toy", Translator(cmlm_folder, device="cpu", engine="torch"))
    served.speed.observe(1_000, 1.0)
    return served


def sentence(model: ServedModel, name: str, *, tokens: int = 10, price: int = 1, **settings: Any) -> QueuedSentence:
    future = asyncio.get_running_loop().create_future()
    return QueuedSentence(model, Line(name), tuple(sorted(settings.items())), tokens, price, future)


def put(queue: SentenceQueue, sentences: list[QueuedSentence], client: str = "somebody") -> QueuedRequest:
    request = queue.admit(client, "", sentences)
    queue.put(request, sentences)
    return request


def names(batch: Batch | None) -> list[str]:
    return [one.line.source for one in batch.sentences] if batch else []


def computed(queue: SentenceQueue, seconds: float = 0.01) -> list[str]:
    """The sentences of the next batch, which is finished after some seconds of computing."""
    batch = queue.take()
    assert batch is not None
    queue.finish(batch, seconds)
    return names(batch)


def in_loop(test: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(test)


def queue(most: int = 100, batch: int = 4, seconds: float = 0.0) -> SentenceQueue:
    return SentenceQueue(most, batch * WIDTH, seconds)


def test_sentences_of_many_requests_share_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue()
        for name in "abc":
            put(waiting, [sentence(model, name)], client=name)
        assert names(waiting.take()) == ["a", "b", "c"]

    in_loop(test())


def test_a_batch_keeps_to_its_tokens_unless_one_sentence_alone_exceeds_them(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=2)
        put(waiting, [sentence(model, name) for name in "abc"] + [sentence(model, "long", tokens=60)])
        assert [computed(waiting) for _ in range(3)] == [["a", "b"], ["c"], ["long"]]

    in_loop(test())


def test_candidates_count_in_the_size_of_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=4)
        put(waiting, [sentence(model, name, length_candidates=2) for name in "abc"])
        assert names(waiting.take()) == ["a", "b"]

    in_loop(test())


def test_a_batch_takes_no_longer_than_a_turn_unless_one_sentence_alone_does(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=100)
        put(waiting, [sentence(model, name, price=70) for name in "abc"] + [sentence(model, "long", price=500)])
        assert [computed(waiting) for _ in range(3)] == [["a", "b"], ["c"], ["long"]]

    in_loop(test())


def test_an_alignment_counts_in_the_size_of_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=52)
        aligned = [replace(sentence(model, name), line=Line(name, align=True)) for name in "ab"]
        put(waiting, [*aligned, sentence(model, "c")])
        assert [computed(waiting) for _ in range(2)] == [["a"], ["b", "c"]]

    in_loop(test())


def test_only_equal_settings_and_widths_share_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue()
        put(
            waiting,
            [
                sentence(model, "a", iterations=1),
                sentence(model, "b", iterations=2),
                sentence(model, "c", iterations=1),
            ],
        )
        put(waiting, [sentence(model, "d", tokens=30, iterations=1)])
        assert [computed(waiting) for _ in range(3)] == [["a", "c"], ["d"], ["b"]]

    in_loop(test())


def test_clients_take_turns_whatever_the_number_of_their_requests(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        for number in range(6):
            put(waiting, [sentence(model, f"a{number}")], client="a")
        put(waiting, [sentence(model, "b0"), sentence(model, "b1")], client="b")
        assert "".join(computed(waiting)[0][0] for _ in range(4)) == "abab"

    in_loop(test())


def test_turns_are_shares_of_time_not_of_sentences(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        put(waiting, [sentence(model, "long") for _ in range(9)], client="a")
        put(waiting, [sentence(model, "short") for _ in range(9)], client="b")
        taken = []
        for _ in range(8):
            batch = waiting.take()
            assert batch is not None
            taken += names(batch)
            waiting.finish(batch, 0.3 if names(batch) == ["long"] else 0.1)
        assert (taken.count("long"), taken.count("short")) == (2, 6)

    in_loop(test())


def test_requests_of_one_client_take_turns_too(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        put(waiting, [sentence(model, f"long {number}") for number in range(9)])
        assert computed(waiting) == ["long 0"]
        put(waiting, [sentence(model, "short")])
        assert ["short"] in [computed(waiting), computed(waiting)]

    in_loop(test())


def test_a_long_request_is_not_starved_by_a_stream_of_new_clients(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        put(waiting, [sentence(model, f"long {number}") for number in range(3)], client="patient")
        taken = []
        for number in range(12):
            new = put(waiting, [sentence(model, f"short {number}")], client=f"new {number}")
            name = computed(waiting)[0]
            taken.append(name)
            if name.startswith("short"):
                waiting.leave(new)
        assert [name for name in taken if name.startswith("long")] == ["long 0", "long 1", "long 2"]

    in_loop(test())


def test_others_come_before_a_paused_batch_goes_on(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        put(waiting, [sentence(model, "long", price=900)], client="a")
        paused = waiting.take()
        assert paused is not None
        assert not waiting.has_next()
        put(waiting, [sentence(model, "short")], client="b")
        assert waiting.has_next()
        waiting.put_back(paused, 0.2)
        assert computed(waiting) == ["short"]
        assert waiting.take() is paused

    in_loop(test())


def test_a_paused_batch_that_nobody_waits_for_ends_first(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        long = sentence(model, "long", price=900)
        put(waiting, [long], client="a")
        paused = waiting.take()
        assert paused is not None
        waiting.put_back(paused, 0.2)
        put(waiting, [sentence(model, "short")], client="b")
        long.future.cancel()
        assert waiting.take() is paused

    in_loop(test())


def test_a_client_may_fill_its_share_of_the_queue_and_others_theirs(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(most=4)
        for name in "abcd":
            put(waiting, [sentence(model, name)])
        with pytest.raises(QueueFull):
            put(waiting, [sentence(model, "e")])
        put(waiting, [sentence(model, "e")], client="somebody else")
        assert len(waiting) == 5

    in_loop(test())


def test_work_that_cannot_be_done_in_time_is_refused(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue()
        with pytest.raises(TooSlow, match="about 11 seconds, and has 10"):
            waiting.admit("a", "", [sentence(model, "a", price=11_000)], 10.0)
        put(waiting, [sentence(model, "a", price=8_000)], client="a")
        with pytest.raises(QueueFull):
            waiting.admit("a", "", [sentence(model, "b", price=3_000)], 10.0)
        waiting.admit("b", "", [sentence(model, "c", price=3_000)], 10.0)

    in_loop(test())


def test_cancelled_sentences_make_room(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(most=2)
        cancelled = [sentence(model, name) for name in "ab"]
        put(waiting, cancelled)
        for one in cancelled:
            one.future.cancel()
        assert len(waiting) == 0
        put(waiting, [sentence(model, "c"), sentence(model, "d")])
        assert names(waiting.take()) == ["c", "d"]

    in_loop(test())


def test_the_first_sentence_waits_a_moment_for_others(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(seconds=0.5)
        late = sentence(model, "late")
        put(waiting, [sentence(model, "early")])
        timer = threading.Timer(0.05, put, [waiting, [late]])
        timer.start()
        begin = time.monotonic()
        assert names(waiting.take()) == ["early", "late"]
        assert time.monotonic() - begin >= 0.4

    in_loop(test())


def test_a_full_batch_does_not_wait(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=2, seconds=30)
        put(waiting, [sentence(model, "a"), sentence(model, "b")])
        begin = time.monotonic()
        assert names(waiting.take()) == ["a", "b"]
        assert time.monotonic() - begin < 5

    in_loop(test())


def test_a_closed_queue_is_emptied_without_waiting_and_then_ends(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(seconds=30)
        put(waiting, [sentence(model, "a")])
        waiting.close()
        assert names(waiting.take()) == ["a"]
        assert waiting.take() is None

    in_loop(test())
