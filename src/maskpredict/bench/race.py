"""The race itself: all racers in turn, round after round, on the same sentences.

In a round every racer goes through the sentences once at each batch size, in an order that is drawn anew each time.
Whatever slows the machine down for a while then meets everybody, and two racers are compared within a round.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from maskpredict.bench.config import BenchConfig
from maskpredict.bench.racers.base import Racer
from maskpredict.bench.timing import timed
from maskpredict.errors import UserError

logger = logging.getLogger(__name__)

GPU_WARM_UPS = 2
"""How often a racer goes its way on a GPU before the clock starts: it may prepare for a shape that it meets again."""


@dataclass(frozen=True)
class Heat:
    """One way of one racer through the sentences."""

    round: int
    racer: str
    batch_size: int
    computed_size: int
    """Smaller than `batch_size` if the memory did not suffice."""
    sentences: int
    seconds: tuple[float, ...]
    """Of each batch."""

    @property
    def seconds_per_sentence(self) -> float:
        """All batches together, by sentence."""
        return sum(self.seconds) / self.sentences


@dataclass(frozen=True)
class _TimedBatches:
    """Translations of some sentences, and the seconds each batch took."""

    texts: list[str]
    seconds: tuple[float, ...]
    computed_size: int


class Race:
    """Runs heats; knows how much each racer's memory can hold."""

    def __init__(self, sentences: Sequence[str], config: BenchConfig, device: str) -> None:
        """`sentences` are in order of length."""
        self.sentences, self.config, self.device = list(sentences), config, device
        self.batch_sizes = sorted({min(size, len(sentences)) for size in config.batch_sizes})
        self.notes: list[str] = []
        self._largest: dict[str, int] = {}

    def warm_up(self, racer: Racer, scored: Sequence[str]) -> list[str]:
        """Get a racer ready to run; gives its translations of the sentences to score."""
        racer.prepare(self.sentences)
        if self.device.startswith("cuda"):
            for size in GPU_WARM_UPS * self.batch_sizes:
                self._run(racer, self._course(size), size)
        return self._run(racer, scored, self.batch_sizes[-1]).texts

    def heats(self, racers: Sequence[Racer], deadline: float = math.inf) -> Iterator[Heat]:
        """Every heat of the race as it is finished.

        After the deadline, a time of `time.monotonic`, none begins, except that everybody has one heat.
        """
        chance = random.Random(self.config.seed)
        for number in range(1, self.config.rounds + 1):
            for size in self.batch_sizes:
                for racer in chance.sample(racers, len(racers)):
                    is_first = number == 1 and size == self.batch_sizes[0]
                    if time.monotonic() > deadline and not is_first:
                        return
                    yield self._heat(number, racer, size)

    def _heat(self, number: int, racer: Racer, size: int) -> Heat:
        racer.translate(self.sentences[:1])  # the caches still hold another racer's weights
        course = self._course(size)
        done = self._run(racer, course, size)
        return Heat(number, racer.entry.name, size, done.computed_size, len(course), done.seconds)

    def _course(self, size: int) -> list[str]:
        """The sentences of a heat: as many as `calls` batches hold, evenly from all lengths."""
        count = min(len(self.sentences), self.config.calls * size)
        return [self.sentences[(2 * place + 1) * len(self.sentences) // (2 * count)] for place in range(count)]

    def _run(self, racer: Racer, sentences: Sequence[str], size: int) -> _TimedBatches:
        """Translate in batches; when memory runs out, begin again with batches of half the size."""
        name = racer.entry.name
        size = min(size, self._largest.get(name, size))
        while True:
            try:
                return _translate_timed(racer, sentences, size, self.device)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            if size == 1:
                raise UserError(f"{name} runs out of memory with a single sentence; use a smaller model or race less.")
            self.notes.append(f"{name} ran out of memory with batches of {size} and went on with {size // 2}.")
            logger.warning(self.notes[-1])
            size = self._largest[name] = size // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _translate_timed(racer: Racer, sentences: Sequence[str], size: int, device: str) -> _TimedBatches:
    texts: list[str] = []
    seconds: list[float] = []
    for first in range(0, len(sentences), size):
        found, took = timed(partial(racer.translate, sentences[first : first + size]), device)
        texts += found
        seconds.append(took)
    return _TimedBatches(texts, tuple(seconds), size)


def is_out_of_memory(error: BaseException) -> bool:
    """True for the several ways in which PyTorch and the peers say so."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in said or "can't allocate memory" in said
