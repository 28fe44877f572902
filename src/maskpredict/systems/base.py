"""The PyTorch half of every system: a transformer, the special ids, and a training objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from maskpredict.corpus.dataset import ParallelIds
from maskpredict.model.batch import Batch, Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Layout, Padded
from maskpredict.model.transformer import Memory, Transformer
from maskpredict.systems import TrainingOptions, Vocabulary


@dataclass(frozen=True)
class Loss:
    """A batch's loss as sums, so that parts of a global batch add up whatever their sizes."""

    total: Tensor
    """The sum to minimise; divide by the `count` of the global batch."""
    count: Tensor
    """Number of predicted tokens."""
    parts: dict[str, Tensor] = field(default_factory=dict)
    """Sums for the log, by the names in `System.loss_parts`; also divided by `count`."""


@dataclass(frozen=True)
class EncoderOutput:
    """A padded batch of sources after the encoder, as passes over target drafts need it."""

    memory: list[Memory]
    """Cross-attention keys and values of each decoder layer."""
    layout: Layout
    """Layout of the memory."""
    length_log_probs_BL: Tensor | None = None
    """Log-probabilities of target lengths; for systems that predict them."""
    positions_B: Tensor | None = None
    """Target positions of each source; for systems that do not predict lengths."""
    fertility_log_probs_BSC: Tensor | None = None
    """Log-probabilities of the number of target words that each source word becomes; for systems that predict it."""
    states_BTD: Tensor | None = None
    """Decoder inputs in place of token embeddings; for systems whose decoder starts from the source."""


class System(nn.Module, ABC):
    """A transformer with a training objective."""

    name: ClassVar[str]
    loss_parts: ClassVar[tuple[str, ...]]
    """Names of the sums that `loss` reports beside the total."""
    reserves_slot: ClassVar[bool] = False
    """True when the source needs an empty position in front of each sentence."""
    decodes_tokens: ClassVar[bool] = True
    """True when the decoder's input is the embedded draft; else see `decoder_inputs`."""
    options_type: ClassVar[type[TrainingOptions]] = TrainingOptions
    """Dataclass of the options that only this system's training has."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.special = vocabulary.special
        self.label_smoothing = label_smoothing
        self.options = self.options_type()
        """The options of the run; its translations do not depend on them."""
        self.transformer = Transformer(config, vocabulary.source_size, vocabulary.target_size)

    @abstractmethod
    def loss(self, batch: Batch) -> Loss:
        """Compute the training objective; random choices come from torch's default generator."""

    def set_progress(self, progress: float) -> None:
        """Tell the objective how much of the run is finished, 0 to 1; called before each update."""

    def check_pairs(self, pairs: ParallelIds) -> None:
        """Warn of training pairs that the objective cannot use, or refuse them; called when a run starts."""

    def encode(self, source: Tokens) -> EncoderOutput:
        """Run the encoder, for decoding."""
        encoded = self.transformer.encode(source.ids, source.layout)
        return EncoderOutput(self.transformer.memory(encoded), source.layout)

    def decoder_inputs(self, encoding: EncoderOutput, tokens_BT: Tensor, target: Padded, owner_B: Tensor) -> Tensor:
        """Return the decoder's inputs [B, T, D] for drafts; `owner_B` is the row of each draft's source."""
        return self.transformer.target(tokens_BT, target.positions)

    def output_states(self, hidden: Tensor, target: Layout) -> Tensor:
        """Return the vectors that the output projection reads, for the decoder's output [..., D]."""
        return hidden

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.transformer.target.tokens.weight.device

    def word_loss(self, hidden_MD: Tensor, targets_M: Tensor, counted_M: Tensor) -> tuple[Tensor, Tensor]:
        """Return label-smoothed and plain cross-entropy of the hidden vectors, each summed where `counted_M`."""
        logits_MV = self.transformer.output(hidden_MD).float()
        norm_M = logits_MV.logsumexp(-1)
        plain_M = norm_M - logits_MV.gather(1, targets_M[:, None])[:, 0]
        uniform_M = norm_M - logits_MV.mean(-1)
        smooth_M = (1 - self.label_smoothing) * plain_M + self.label_smoothing * uniform_M
        return (smooth_M * counted_M).sum(), (plain_M.detach() * counted_M).sum()
