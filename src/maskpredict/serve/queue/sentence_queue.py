"""The queue of sentences to translate: which come next, and which share a batch.

Clients take turns by the computing time they have had (`shares`), also inside a batch that takes long. A batch starts
with the sentence whose turn it is, and takes in sentences of all requests that can be computed with it, up to a price
that takes about `SLICE_SECONDS`; a single sentence may cost more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Condition

from maskpredict.serve.queue.batch import SLICE_SECONDS, Batch, QueuedSentence
from maskpredict.serve.queue.errors import QueueFull, TooSlow
from maskpredict.serve.queue.shares import QueuedRequest, Shares

MAX_RUNNING_BATCHES = 16
"""Batches that are started and not finished; others wait until one of them ends."""


class SentenceQueue:
    """Thread-safe queue, filled by the event loop and emptied in batches by the translating thread."""

    def __init__(self, max_sentences: int, batch_tokens: int, batch_seconds: float) -> None:
        self.max_sentences, self.batch_tokens, self.batch_seconds = max_sentences, batch_tokens, batch_seconds
        self._shares = Shares()
        self._paused: list[Batch] = []
        self._running = 0
        self._closed = False
        self._changed = Condition()

    def __len__(self) -> int:
        """Return the number of waiting sentences, without cancelled ones."""
        with self._changed:
            self._drop_cancelled()
            return sum(len(request.waiting) for request in self._shares.requests)

    @property
    def running_batches(self) -> int:
        """Number of batches that have started and are not finished."""
        return self._running

    @property
    def unfinished_seconds(self) -> float:
        """Estimated computing time of all unfinished sentences."""
        with self._changed:
            return self._shares.unfinished_seconds

    def admit(
        self, client: str, name: str, sentences: Sequence[QueuedSentence], seconds: float = float("inf")
    ) -> QueuedRequest:
        """Return a new request of a client.

        Raises `TooSlow` or `QueueFull` if it would take more than `seconds`, as far as is known, or if its first
        sentences exceed the client's share of the queue.
        """
        work = sum(sentence.seconds for sentence in sentences)
        if work > seconds:
            raise TooSlow(work, seconds)
        with self._changed:
            self._drop_cancelled()
            wait = self._shares.seconds_until_done(client, work)
            share = self.max_sentences // max(1, len(self._shares))
            if wait > seconds or self._shares.waiting(client) + len(sentences[: self.window]) > share:
                raise QueueFull(wait - seconds)
            return self._shares.enter(client, name, work)

    @property
    def window(self) -> int:
        """Number of sentences of one request to put into the queue at once."""
        return max(1, self.max_sentences // 4)

    def put(self, request: QueuedRequest, sentences: Sequence[QueuedSentence]) -> None:
        """Add sentences of a request."""
        with self._changed:
            self._drop_cancelled()
            for sentence in sentences:
                sentence.request = request
            request.waiting.extend(sentences)
            self._changed.notify()

    def leave(self, request: QueuedRequest) -> None:
        """Remove a request that is finished, or whose client has left."""
        with self._changed:
            self._shares.leave(request)
            self._changed.notify()

    def take(self) -> Batch | None:
        """Wait for a batch to begin or to go on with; None if the queue is closed and empty."""
        with self._changed:
            while True:
                self._drop_cancelled()
                first = self._next()
                if first is None and self._closed and not self._paused:
                    return None
                if first is None:
                    self._changed.wait()
                elif isinstance(first, Batch):
                    self._paused.remove(first)
                    return first
                elif not self._paused and (seconds := self._seconds_to_wait()) > 0:
                    self._changed.wait(seconds)
                else:
                    self._running += 1
                    return self._new_batch(first)

    def put_back(self, batch: Batch, seconds: float) -> None:
        """Take back a batch that has paused after computing for some time."""
        with self._changed:
            self._charge(batch, seconds)
            self._paused.append(batch)

    def finish(self, batch: Batch, seconds: float) -> None:
        """Note that a batch is finished, after computing for some time."""
        with self._changed:
            self._charge(batch, seconds)
            self._running -= 1
            for sentence in batch.sentences:
                if sentence.request is not None:
                    sentence.request.in_progress -= 1
                    sentence.request.unfinished_seconds -= sentence.seconds

    def has_next(self) -> bool:
        """Return True if something else could be computed instead of the batch that runs."""
        with self._changed:
            self._drop_cancelled()
            return self._next() is not None

    def close(self) -> None:
        """Make `take` return None once all waiting sentences are translated."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _next(self) -> Batch | QueuedRequest | None:
        """Return the paused batch or the request with waiting sentences that has the next turn."""
        for batch in self._paused:
            if batch.is_abandoned:  # ends as soon as it goes on
                return batch
        choices: list[Batch | QueuedRequest] = []
        if self._running < MAX_RUNNING_BATCHES:
            choices += [request for request in self._shares.requests if request.can_start]
        choices += self._paused
        return min(choices, key=_turn, default=None)

    def _seconds_to_wait(self) -> float:
        """Return how long to wait for more sentences before the next batch starts."""
        waiting = [sentence for request in self._shares.requests for sentence in request.waiting]
        if self._closed or sum(sentence.cost for sentence in waiting) >= self.batch_tokens:
            return 0.0
        return min(sentence.arrived for sentence in waiting) + self.batch_seconds - time.monotonic()

    def _new_batch(self, first: QueuedRequest) -> Batch:
        """Take sentences of the first one's group, one of each request at a time, in the order of their turns."""
        batch = [first.waiting.popleft()]
        seconds, cost = batch[0].seconds, batch[0].cost
        requests = sorted((one for one in self._shares.requests if one.can_start), key=_turn)
        while requests:
            for request in list(requests):
                sentence = _first_of_group(request, batch[0].group)
                if (
                    sentence is None
                    or seconds + sentence.seconds > SLICE_SECONDS
                    or cost + sentence.cost > self.batch_tokens
                ):
                    requests.remove(request)
                else:
                    request.waiting.remove(sentence)
                    batch.append(sentence)
                    seconds += sentence.seconds
                    cost += sentence.cost
        for sentence in batch:
            if sentence.request is not None:
                sentence.request.in_progress += 1
        return Batch(batch)

    def _charge(self, batch: Batch, seconds: float) -> None:
        price = batch.price
        for sentence in batch.sentences:
            if sentence.request is not None:
                self._shares.charge(sentence.request, seconds * sentence.price / price)

    def _drop_cancelled(self) -> None:
        for request in self._shares.requests:
            if any(sentence.future.cancelled() for sentence in request.waiting):
                kept = [sentence for sentence in request.waiting if not sentence.future.cancelled()]
                request.waiting.clear()
                request.waiting.extend(kept)


def _turn(choice: Batch | QueuedRequest) -> tuple[float, float]:
    return choice.turn


def _first_of_group(request: QueuedRequest, group: tuple[object, ...]) -> QueuedSentence | None:
    return next((sentence for sentence in request.waiting if sentence.group == group), None)
