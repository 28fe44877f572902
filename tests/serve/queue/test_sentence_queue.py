"""The order of sentences in the queue, and the batches they form."""

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
from maskpredict.serve.queue.errors import QueueFull
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.sentence_queue import QueuedSentence, SentenceQueue

T = TypeVar("T")
WIDTH = 16
"""Padded width of a source of ten subwords."""


@pytest.fixture(scope="module")
def model(cmlm_folder: Path) -> ServedModel:
    """A model whose engine batches sentences of one width alone."""
    return ServedModel("toy", Translator(cmlm_folder, device="cpu", engine="torch"))


def sentence(model: ServedModel, name: str, *, tokens: int = 10, **settings: Any) -> QueuedSentence:
    future = asyncio.get_running_loop().create_future()
    return QueuedSentence(model, Line(name), tuple(sorted(settings.items())), tokens, future)


def names(sentences: list[QueuedSentence]) -> list[str]:
    return [one.line.source for one in sentences]


def in_loop(test: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(test)


def queue(most: int = 100, batch: int = 4, seconds: float = 0.0) -> SentenceQueue:
    return SentenceQueue(most, batch * WIDTH, seconds)


def test_sentences_of_many_requests_share_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue()
        for name in "abc":
            waiting.put([sentence(model, name)])
        assert names(waiting.take()) == ["a", "b", "c"]

    in_loop(test())


def test_a_batch_keeps_to_its_tokens_unless_one_sentence_alone_exceeds_them(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=2)
        waiting.put([sentence(model, name) for name in "abc"] + [sentence(model, "long", tokens=60)])
        assert [names(waiting.take()) for _ in range(3)] == [["a", "b"], ["c"], ["long"]]

    in_loop(test())


def test_candidates_count_in_the_size_of_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=4)
        waiting.put([sentence(model, name, length_candidates=2) for name in "abc"])
        assert names(waiting.take()) == ["a", "b"]

    in_loop(test())


def test_an_alignment_counts_in_the_size_of_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=40)
        aligned = [replace(sentence(model, name), line=Line(name, align=True)) for name in "ab"]
        waiting.put([*aligned, sentence(model, "c")])
        assert [names(waiting.take()) for _ in range(2)] == [["a", "c"], ["b"]]

    in_loop(test())


def test_only_equal_settings_and_widths_share_a_batch(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue()
        waiting.put(
            [sentence(model, "a", iterations=1), sentence(model, "b", iterations=2), sentence(model, "c", iterations=1)]
        )
        waiting.put([sentence(model, "d", tokens=30, iterations=1)])
        assert [names(waiting.take()) for _ in range(3)] == [["a", "c"], ["d"], ["b"]]

    in_loop(test())


def test_a_short_request_does_not_wait_for_all_of_a_long_one(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=2)
        waiting.put([sentence(model, f"long {number}") for number in range(10)])
        assert names(waiting.take()) == ["long 0", "long 1"]
        waiting.put([sentence(model, "short")])
        assert "short" in names(waiting.take())

    in_loop(test())


def test_a_long_request_is_not_starved_by_short_ones(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=1)
        waiting.put([sentence(model, f"long {number}") for number in range(3)])
        taken = []
        for number in range(8):
            waiting.put([sentence(model, f"short {number}")])
            taken += names(waiting.take())
        assert [name for name in taken if name.startswith("long")] == ["long 0", "long 1", "long 2"]

    in_loop(test())


def test_a_full_queue_refuses_but_an_empty_one_takes_anything(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(most=2)
        waiting.put([sentence(model, name) for name in "abc"])
        with pytest.raises(QueueFull):
            waiting.put([sentence(model, "d")])
        assert len(waiting) == 3

    in_loop(test())


def test_cancelled_sentences_make_room(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(most=2)
        cancelled = [sentence(model, name) for name in "ab"]
        waiting.put(cancelled)
        for one in cancelled:
            one.future.cancel()
        assert len(waiting) == 0
        waiting.put([sentence(model, "c"), sentence(model, "d")])
        assert names(waiting.take()) == ["c", "d"]

    in_loop(test())


def test_the_first_sentence_waits_a_moment_for_others(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(seconds=0.5)
        late = sentence(model, "late")
        waiting.put([sentence(model, "early")])
        timer = threading.Timer(0.05, waiting.put, [[late]])
        timer.start()
        begin = time.monotonic()
        assert names(waiting.take()) == ["early", "late"]
        assert time.monotonic() - begin >= 0.4

    in_loop(test())


def test_a_full_batch_does_not_wait(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(batch=2, seconds=30)
        waiting.put([sentence(model, "a"), sentence(model, "b")])
        begin = time.monotonic()
        assert names(waiting.take()) == ["a", "b"]
        assert time.monotonic() - begin < 5

    in_loop(test())


def test_a_closed_queue_is_emptied_without_waiting_and_then_ends(model: ServedModel) -> None:
    async def test() -> None:
        waiting = queue(seconds=30)
        waiting.put([sentence(model, "a")])
        waiting.close()
        assert names(waiting.take()) == ["a"]
        assert waiting.take() == []

    in_loop(test())
