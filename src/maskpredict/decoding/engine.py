"""The contract of an engine: it encodes sources, and runs decoder passes over drafts of their targets.

Lengths, masks, scores, traces and pins belong to the decoders. An engine returns arrays of its own library, and the
decoders use that library, too. `maskpredict.engines` has the engines, and chooses one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from maskpredict.decoding.arrays import Array
from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import BeamSettings
from maskpredict.model.config import ModelConfig
from maskpredict.special_ids import SpecialIds

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """Options of a pass."""

    suppress: tuple[int, ...] = ()
    """Ids that are never predicted."""
    no_end_BT: Array | None = None
    """True where the end mark may not be predicted either."""
    given_BT: Array | None = None
    """Tokens whose log-probabilities are returned as well."""
    shortlist: bool = False
    """Predict only candidates of the model's shortlist, and given tokens; if it has one and the engine uses it."""
    end_penalty: float = 0.0
    """Subtracted from the end mark's logit; for engines that run insertion models."""


@dataclass(frozen=True)
class Prediction:
    """The result of a pass, [B, T] each; arbitrary outside the masked positions."""

    tokens_BT: Array
    """The likeliest token, the lowest id of equals."""
    log_probs_BT: Array
    """Its log-probability, float32."""
    given_log_probs_BT: Array | None = None
    """Log-probability of the given token, float32."""


class Passes(Protocol):
    """Decoder passes over one group of drafts."""

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> Array:
        """Return rows of ids as an array [B, T], padded as the engine needs."""

    def predict(self, tokens_BT: Array, masked_BT: Array, query: Query) -> Prediction:
        """Run the decoder. Rows without masked positions cost nothing."""

    def log_probs(self, tokens_BT: Array, query: Query) -> Array:
        """Return the log-probabilities [T, V] of all tokens at every position of the first draft."""


class Encoded(Protocol):
    """A batch of sources after the encoder, ready for any number of passes."""

    @property
    def length_log_probs_BL(self) -> npt.NDArray[np.float32]:
        """Log-probabilities of target lengths; for systems that predict them."""

    @property
    def positions(self) -> list[int]:
        """Target positions of each source; for systems that do not predict lengths."""

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Group drafts of these lengths: those of a group are decoded together."""

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> Passes:
        """Prepare passes over drafts of these lengths; `owner` is the row of each draft's source."""


MAX_GROUP_POSITIONS = 1_024
"""Most positions of drafts that are decoded together on a CPU, where a pass over them takes a tenth of a second."""


def split_groups(groups: list[list[int]], lengths: Sequence[int], most: int = MAX_GROUP_POSITIONS) -> list[list[int]]:
    """Return groups of drafts with at most that many positions, or a single draft, in each."""
    parts: list[list[int]] = []
    for group in groups:
        room = 0
        for row in group:
            if lengths[row] > room:
                parts.append([])
                room = most
            parts[-1].append(row)
            room -= lengths[row]
    return parts


class BatchPolicy(Enum):
    """Rule for sources that may share a batch without changing each other's translation."""

    SAME_WIDTH = "same width"
    """Sources of one padded width: rounding depends on the width of a matrix product."""
    SIMILAR_WIDTH = "similar width"
    """Sources at most twice as long as each other: on a GPU in half precision, rounding depends on the batch anyway."""
    ANY = "any"
    """All sources: each sentence is computed by itself."""


StartedBatch = Callable[[], list[list[CompletedDraft]] | None]
"""Waits for a batch, and returns each sentence's finished candidates; None if the batch must be decoded in passes."""


class Engine(ABC):
    """A loaded model on some hardware."""

    name: str
    """Name in `maskpredict.engines.ENGINES`."""
    config: ModelConfig
    special: SpecialIds
    """Special ids of the target side."""
    device: str
    """cpu or cuda, with a number where there are several."""
    compute_type: str
    """float32, float16, bfloat16 or int8."""
    batch_policy: BatchPolicy = BatchPolicy.ANY
    batch_tokens: int = 2_048
    """Default size of a batch: source positions times drafts."""
    window: int = 256
    """Lines of a stream read at once, to batch those of similar length: a few seconds of work."""
    out_of_memory: tuple[type[BaseException], ...] = ()
    """Exceptions that mean that a batch does not fit in memory; the batch is then split."""

    threads: int = 1
    """CPU threads that the engine may use."""

    @abstractmethod
    def encode(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Run the encoder on ids, end marks included."""

    def start(self, requests: Sequence[Request], settings: Any) -> StartedBatch | None:
        """Start all passes over a batch at once, where the engine can; None to have it decoded pass by pass."""
        return None

    def batch_limit(self, width: int, settings: Any) -> int | None:
        """Return how many sources of this padded width make the fastest batch; None for no limit."""
        return None

    def working(self) -> AbstractContextManager[None]:
        """Return a context to hold while passes run."""
        return nullcontext()

    def free_memory(self) -> None:  # noqa: B027
        """Drop caches. Called when memory has run out."""


class CausalEngine(Engine):
    """An engine that also runs autoregressive decoders."""

    @abstractmethod
    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], settings: BeamSettings
    ) -> list[list[Hypothesis]]:
        """Run a beam search for targets of at most `limits` tokens, and return hypotheses, best first."""

    @abstractmethod
    def target_log_probs(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], suppress: tuple[int, ...]
    ) -> list[list[float]]:
        """Return the log-probability of every token of the given targets."""
