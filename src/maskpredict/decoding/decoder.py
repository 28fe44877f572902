"""The decoder interface: requests in, hypotheses out, both in ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from maskpredict.decoding.engine import Engine
from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError

StartedTranslation = Callable[[], list[list[Hypothesis]]]
"""Waits for a batch, and returns each sentence's translations, best first."""


class Decoder(ABC):
    """Translates and scores batches with a model on an engine."""

    settings_type: ClassVar[type]
    """Dataclass of the decoding settings."""
    reserves_slot: ClassVar[bool] = False
    """True when the engine puts a vector in front of each source, which takes one position."""

    def __init__(self, system: str, engine: Engine) -> None:
        self.system = system
        """Name of the model's system."""
        self.engine = engine

    @abstractmethod
    def start(self, requests: Sequence[Request], settings: Any) -> StartedTranslation:
        """Start to translate requests that may share a batch (`Engine.batch_policy`).

        With a GPU this may return before the batch is finished, so that the host can work in parallel.
        """

    def translate(self, requests: Sequence[Request], settings: Any) -> list[list[Hypothesis]]:
        """Return translations of each request, best first."""
        return self.start(requests, settings)()

    @abstractmethod
    def score(self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: Any) -> list[Hypothesis]:
        """Return the given targets (end mark included) with the scores `translate` would give them."""

    def cloze(
        self, sources: Sequence[Sequence[int]], target: Sequence[int], words: Sequence[int]
    ) -> list[list[float]] | None:
        """Return the log-probability of each token of one target, given its other words and each of the sources.

        `words` is the number of the word that each token belongs to. None if the system cannot predict single words.
        """
        return None

    def refuse_constraints(self, requests: Sequence[Request]) -> None:
        """Refuse pins, gaps and lengths, for systems without constraints."""
        if any(request.pins or request.template or request.length for request in requests):
            raise UserError(
                f"models of the system {self.system} cannot pin words, fill gaps or keep to a length; use a CMLM."
            )
