"""A sentence in the queue, and the batch in which it is translated."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from maskpredict.runtime.batching import batch_key
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.word_alignment import alignment_drafts
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.shares import QueuedRequest
from maskpredict.serve.queue.slices import SlicedWork

Settings = tuple[tuple[str, Any], ...]
Outcome = Translation | Exception
"""An exception is passed on as a result: asyncio would log one that was set on a future and never awaited."""

SLICE_SECONDS = 0.15
"""Computing time of a batch, and of a turn within one that takes longer."""


@dataclass(eq=False)
class QueuedSentence:
    """A sentence to translate, and the future that receives its translation."""

    model: ServedModel
    line: Line
    settings: Settings
    """Decoding settings as sorted pairs, which can be compared and hashed."""
    tokens: int
    """Number of source subwords."""
    price: int
    """Positions that the model computes for it; see `price`."""
    future: asyncio.Future[Outcome]
    """Belongs to the event loop; cancelled when no client waits for the outcome any more."""
    request: QueuedRequest | None = None
    """Set by the queue."""
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

    @cached_property
    def seconds(self) -> float:
        """Estimated computing time."""
        return self.model.speed.seconds(self.price)


@dataclass(eq=False)
class Batch:
    """Sentences that are translated together."""

    sentences: list[QueuedSentence]
    work: SlicedWork[list[Outcome]] | None = None
    """The computation, once it has begun."""
    resumed: float = 0.0
    """When it last started or went on."""
    seconds: float = 0.0
    """Computing time so far."""

    @property
    def price(self) -> int:
        """Sum of the sentences' prices."""
        return sum(sentence.price for sentence in self.sentences)

    @property
    def is_long(self) -> bool:
        """True if it probably takes more than a turn."""
        return sum(sentence.seconds for sentence in self.sentences) > SLICE_SECONDS

    @property
    def is_abandoned(self) -> bool:
        """True if no client waits for it any more."""
        return all(sentence.future.cancelled() for sentence in self.sentences)

    @property
    def turn(self) -> tuple[float, float]:
        """The turn of the request whose turn comes first."""
        return min(sentence.request.turn for sentence in self.sentences if sentence.request)
