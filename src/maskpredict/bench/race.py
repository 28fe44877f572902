"""`Race`: times all racers in turn, round after round, on the same sentences.

In a round every racer translates the sentences once at each batch size, in random order. A temporary slowdown of the
machine then affects all racers alike, and ratios are computed within a round.
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
"""Untimed runs on a GPU: engines may capture CUDA graphs when a batch shape occurs again."""


@dataclass(frozen=True)
class Heat:
    """One timed run of a racer over the sentences at one batch size."""

    round: int
    racer: str
    batch_size: int
    computed_size: int
    """Actual batch size; smaller than `batch_size` if memory ran out."""
    sentences: int
    seconds: tuple[float, ...]
    """Time of each batch."""

    @property
    def seconds_per_sentence(self) -> float:
        """Total time divided by the number of sentences."""
        return sum(self.seconds) / self.sentences


@dataclass(frozen=True)
class _TimedBatches:
    """Translations of sentences, and the time of each batch."""

    texts: list[str]
    seconds: tuple[float, ...]
    computed_size: int


class Race:
    """Runs heats; remembers the largest batch size that fits into memory for each racer."""

    def __init__(self, sentences: Sequence[str], config: BenchConfig, device: str) -> None:
        """`sentences` are sorted by length."""
        self.sentences, self.config, self.device = list(sentences), config, device
        self.batch_sizes = sorted({min(size, len(sentences)) for size in config.batch_sizes})
        self.notes: list[str] = []
        self._largest: dict[str, int] = {}

    def warm_up(self, racer: Racer, scored: Sequence[str]) -> list[str]:
        """Load and warm up a racer; returns its translations of the sentences to score."""
        racer.prepare(self.sentences)
        if self.device.startswith("cuda"):
            for size in GPU_WARM_UPS * self.batch_sizes:
                self._run(racer, self._heat_sentences(size), size)
        return self._run(racer, scored, self.batch_sizes[-1]).texts

    def heats(self, racers: Sequence[Racer], deadline: float = math.inf) -> Iterator[Heat]:
        """Yields every heat when it is complete.

        After `deadline`, a value of `time.monotonic`, no heat starts, except the first one of each racer.
        """
        generator = random.Random(self.config.seed)
        for number in range(1, self.config.rounds + 1):
            for size in self.batch_sizes:
                for racer in generator.sample(racers, len(racers)):
                    is_first = number == 1 and size == self.batch_sizes[0]
                    if time.monotonic() > deadline and not is_first:
                        return
                    yield self._heat(number, racer, size)

    def _heat(self, number: int, racer: Racer, size: int) -> Heat:
        racer.translate(self.sentences[:1])  # brings the weights into the caches
        sentences = self._heat_sentences(size)
        done = self._run(racer, sentences, size)
        return Heat(number, racer.entry.name, size, done.computed_size, len(sentences), done.seconds)

    def _heat_sentences(self, size: int) -> list[str]:
        """Sentences of a heat: at most `calls` batches, evenly from all lengths."""
        count = min(len(self.sentences), self.config.calls * size)
        return [self.sentences[(2 * place + 1) * len(self.sentences) // (2 * count)] for place in range(count)]

    def _run(self, racer: Racer, sentences: Sequence[str], size: int) -> _TimedBatches:
        """Translate in batches; if memory runs out, start again with half the batch size."""
        name = racer.entry.name
        size = min(size, self._largest.get(name, size))
        while True:
            try:
                return _translate_timed(racer, sentences, size, self.device)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            if size == 1:
                raise UserError(
                    f"{name} runs out of memory with a single sentence; use a smaller model or fewer racers."
                )
            self.notes.append(f"{name} ran out of memory with batches of {size} and went on with {size // 2}.")
            logger.warning(self.notes[-1])
            size = self._largest[name] = size // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _translate_timed(racer: Racer, sentences: Sequence[str], size: int, device: str) -> _TimedBatches:
    texts: list[str] = []
    seconds: list[float] = []
    for first in range(0, len(sentences), size):
        translations, elapsed = timed(partial(racer.translate, sentences[first : first + size]), device)
        texts += translations
        seconds.append(elapsed)
    return _TimedBatches(texts, tuple(seconds), size)


def is_out_of_memory(error: BaseException) -> bool:
    """True for the out-of-memory errors of PyTorch and the other engines."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in message or "can't allocate memory" in message
