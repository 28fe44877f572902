"""The queue of sentences to translate, and how it forms batches.

Requests take turns sentence by sentence (round robin): the first sentence of a new request comes right after the next
sentence of every other request, so a long text does not delay short ones. Sentences share a batch if they have the same
model, the same settings and lengths that the engine can batch.
"""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition
from typing import Any

from maskpredict.runtime.batching import batch_key
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.word_alignment import alignment_drafts
from maskpredict.serve.queue.errors import QueueFull
from maskpredict.serve.queue.models import ServedModel

Settings = tuple[tuple[str, Any], ...]
Outcome = Translation | Exception
"""An exception is passed on as a result: asyncio would log one that was set on a future and never awaited."""


@dataclass(eq=False)
class QueuedSentence:
    """A sentence to translate, and the future that receives its translation."""

    model: ServedModel
    line: Line
    settings: Settings
    """Decoding settings as sorted pairs, which can be compared and hashed."""
    tokens: int
    """Number of source subwords."""
    future: asyncio.Future[Outcome]
    """Belongs to the event loop; cancelled when no client waits for the outcome any more."""
    turn: int = 0
    """Round in which it is translated; set by the queue."""
    arrived: float = field(default_factory=time.monotonic)

    @cached_property
    def group(self) -> tuple[object, ...]:
        """Sentences of one group may share a batch."""
        policy = self.model.translator.engine.batch_policy
        return self.model.name, self.settings, batch_key(self.model.width(self.tokens), policy)

    @cached_property
    def cost(self) -> int:
        """Tokens it adds to a batch: padded source width times target drafts, with those of an alignment."""
        settings = dict(self.settings)
        drafts: int = settings.get("length_candidates", settings.get("beam_size", 1))
        if self.line.align:
            drafts += alignment_drafts(self.tokens)
        return self.model.width(self.tokens) * drafts


class SentenceQueue:
    """Thread-safe queue, filled by the event loop and emptied in batches by the translating thread."""

    def __init__(self, max_sentences: int, batch_tokens: int, batch_seconds: float) -> None:
        self.max_sentences, self.batch_tokens, self.batch_seconds = max_sentences, batch_tokens, batch_seconds
        self._waiting: list[QueuedSentence] = []
        self._turn = 0
        self._closed = False
        self._changed = Condition()

    def __len__(self) -> int:
        """Return the number of waiting sentences, without cancelled ones."""
        with self._changed:
            self._drop_cancelled()
            return len(self._waiting)

    def put(self, sentences: Sequence[QueuedSentence]) -> None:
        """Add the sentences of one request, all or none; an empty queue accepts any number."""
        with self._changed:
            self._drop_cancelled()
            if self._waiting and len(self._waiting) + len(sentences) > self.max_sentences:
                raise QueueFull
            for position, sentence in enumerate(sentences, 1):
                sentence.turn = self._turn + position
                insort(self._waiting, sentence, key=lambda other: other.turn)
            self._changed.notify()

    def take(self) -> list[QueuedSentence]:
        """Wait for the next batch and return it; it is empty if the queue is closed and empty."""
        with self._changed:
            while True:
                self._drop_cancelled()
                if not self._waiting and self._closed:
                    return []
                if not self._waiting:
                    self._changed.wait()
                elif (seconds := self._seconds_to_wait()) > 0:
                    self._changed.wait(seconds)
                else:
                    return self._next_batch()

    def close(self) -> None:
        """Make `take` return an empty batch once all waiting sentences are taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _seconds_to_wait(self) -> float:
        """Return how long to wait for more sentences before the next batch starts."""
        if self._closed or sum(sentence.cost for sentence in self._waiting) >= self.batch_tokens:
            return 0.0
        return min(sentence.arrived for sentence in self._waiting) + self.batch_seconds - time.monotonic()

    def _next_batch(self) -> list[QueuedSentence]:
        first = self._waiting[0]
        self._turn = first.turn
        batch, remaining, cost = [], [], 0
        for sentence in self._waiting:
            fits = sentence is first or cost + sentence.cost <= self.batch_tokens
            if fits and sentence.group == first.group:
                batch.append(sentence)
                cost += sentence.cost
            else:
                remaining.append(sentence)
        self._waiting = remaining
        return batch

    def _drop_cancelled(self) -> None:
        self._waiting = [sentence for sentence in self._waiting if not sentence.future.cancelled()]
