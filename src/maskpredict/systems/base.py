"""The interface every system has, and what they share: a transformer and the special ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch
from maskpredict.model.config import ModelConfig
from maskpredict.model.transformer import Transformer
from maskpredict.tokenizer import SpecialIds

Sharing = Literal["same width", "alike", "any"]
"""Which sources may share a batch, so that results do not depend on their company: those of one padded width (see
`model.batch.pad`); or any, where nothing has to be filled up. On a GPU in half precision the last bit depends on the
batch all the same, and a few large ones are faster than many small ones: there it is those of similar lengths."""


@dataclass(frozen=True)
class Vocabulary:
    """What a system must know of its tokenizers."""

    source_size: int
    target_size: int
    special: SpecialIds
    """Ids of the target side's special symbols."""


@dataclass(frozen=True)
class Loss:
    """A batch's loss as sums, so that parts of a global batch add up whatever their sizes."""

    total: Tensor
    """What is to be minimised, summed; divide by the `count` of the global batch."""
    count: Tensor
    """Number of predicted tokens."""
    parts: dict[str, Tensor] = field(default_factory=dict)
    """Sums for the log, by the names in `System.loss_parts`; also divided by `count`."""


class System(nn.Module, ABC):
    """A transformer with an objective and a way to translate."""

    name: ClassVar[str]
    settings_type: ClassVar[type]
    """Dataclass of the settings that `translate` takes."""
    loss_parts: ClassVar[tuple[str, ...]]
    """Names of the sums that `loss` reports beside the total."""
    works_in_passes: ClassVar[bool] = False
    """True when it asks no more of its transformer than an encoder and passes over drafts."""
    reserves_slot: ClassVar[bool] = False
    """True when the source needs an empty position in front of each sentence."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.special = vocabulary.special
        self.label_smoothing = label_smoothing
        self.recording = True
        """Whether small batches on a GPU are translated as recorded CUDA graphs, where the system can."""
        self.transformer = Transformer(config, vocabulary.source_size, vocabulary.target_size)

    @abstractmethod
    def loss(self, batch: Batch) -> Loss:
        """The training objective; draws any random choices from torch's default generator."""

    @abstractmethod
    def translate(self, requests: Sequence[Request], settings: Any) -> list[list[Hypothesis]]:
        """Translations of each request, best first. Requests are of the kind that may share a batch: see `sharing`."""

    def start(self, requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        """Begin to `translate`, and give a function that waits for the end.

        A system that leaves the work to a GPU returns early, so that the host can do something else meanwhile.
        """
        found = self.translate(requests, settings)
        return lambda: found

    def most_together(self, width: int, settings: Any) -> int | None:
        """How many sentences of this padded width are best translated together; None for as many as there are."""
        return None

    @abstractmethod
    def score(self, requests: Sequence[Request], targets: Sequence[Sequence[int]], settings: Any) -> list[Hypothesis]:
        """The given targets (end mark included) with the scores `translate` would give them under these settings."""

    def make_room(self) -> None:
        """Give back memory that is held for speed alone. Called when there is too little of it."""

    @property
    def sharing(self) -> Sharing:
        """Which sources may share a batch."""
        half = self.transformer.target.tokens.weight.dtype in (torch.float16, torch.bfloat16)
        return "alike" if self.device.type == "cuda" and half else "same width"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.transformer.target.tokens.weight.device

    def word_loss(self, hidden_MD: Tensor, targets_M: Tensor, counted_M: Tensor) -> tuple[Tensor, Tensor]:
        """Label-smoothed and plain cross-entropy of the hidden vectors, each summed over the counted ones."""
        logits_MV = self.transformer.output(hidden_MD).float()
        norm_M = logits_MV.logsumexp(-1)
        plain_M = norm_M - logits_MV.gather(1, targets_M[:, None])[:, 0]
        uniform_M = norm_M - logits_MV.mean(-1)
        smooth_M = (1 - self.label_smoothing) * plain_M + self.label_smoothing * uniform_M
        return (smooth_M * counted_M).sum(), (plain_M.detach() * counted_M).sum()


def refuse_constraints(requests: Sequence[Request], system: str) -> None:
    """For systems that cannot do what some requests impose."""
    if any(request.pins or request.template or request.length for request in requests):
        raise UserError(f"models of the system {system} cannot pin words, fill gaps or keep to a length; use a CMLM.")
