"""Every value that a training run uses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from maskpredict.errors import UserError


@dataclass(frozen=True)
class BatchConfig:
    """How much text goes into one update of the weights."""

    tokens: int = 128_000
    """Target tokens per update, over all workers and accumulated parts."""
    part_tokens: int = 8_192
    """Target tokens computed at once on one device; an update accumulates as many parts as it needs."""
    max_length: int = 256
    """Pairs with a longer side, in subwords with the end mark, are left out."""


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW and its learning rate; the defaults are the paper's."""

    rate: float = 5e-4
    """Peak learning rate."""
    warmup: int = 10_000
    """Updates until the peak is reached."""
    schedule: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """How it falls: with 1/sqrt(update) after the warm-up, as in the paper, or linearly to zero at the end."""
    beta1: float = 0.9
    """Decay of the running mean of gradients."""
    beta2: float = 0.999
    """Decay of the running mean of squared gradients."""
    epsilon: float = 1e-6
    """Added to the denominator of the update."""
    weight_decay: float = 0.01
    """Decoupled weight decay."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 does not clip."""


@dataclass(frozen=True)
class ValidationConfig:
    """What is measured during training, and when."""

    every: int | None = None
    """Updates between validations; none validates at the end of each epoch."""
    bleu_sentences: int = 0
    """Validation sentences to translate for BLEU at each validation; 0 translates none."""
    decoding: dict[str, Any] = field(default_factory=dict)
    """Settings for those translations, such as {iterations: 4, length_candidates: 1}."""
    patience: int | None = None
    """Stop after this many validations without a better loss; none never does."""


@dataclass(frozen=True)
class TrainConfig:
    """A training run: data, system, model, schedule."""

    data: str
    """Folder written by `maskpredict prepare`."""
    run: str
    """Folder of the run: checkpoints, metrics and the finished model; an interrupted run continues from it."""
    system: str = "cmlm"
    """What is trained: cmlm, autoregressive, fertility, ctc or refinement."""
    preset: str = "base"
    """Size of the model: tiny, small, base or large."""
    model: dict[str, Any] = field(default_factory=dict)
    """Changes to the preset's values, such as {dropout: 0.1, norm: pre}."""
    start_from: str | None = None
    """Model folder whose weights to start from, instead of random ones; a student may start from its teacher, and
    a model with few layers from one with more."""
    label_smoothing: float = 0.1
    """Share of the target probability spread over the whole vocabulary."""
    steps: int = 300_000
    """Updates in the whole run."""
    seconds: float | None = None
    """Time for the whole run, over all its pieces; it ends at this or at `steps`, whichever comes first."""
    seed: int = 1
    """Of initial weights, order of the data, masks and dropout."""
    batch: BatchConfig = BatchConfig()
    """Size of an update."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """AdamW and its learning rate."""
    validation: ValidationConfig = ValidationConfig()
    """What is measured during training."""
    corpus_weights: dict[str, float] = field(default_factory=dict)
    """How often corpora are drawn, relative to their size, where it is not as the data says, as in {tatoeba: 4}."""
    rewarmup: int = 500
    """Updates until a run that is continued without its optimiser's memory is back at the schedule's rate."""
    checkpoint_every: int = 1_000
    """Updates between checkpoints to resume from."""
    keep_best: int = 5
    """Checkpoints with the lowest validation loss that are kept, and averaged into the finished model; with 0 that one
    has the last weights."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Arithmetic of forward and backward passes; weights stay float32. auto: bfloat16 where the device has it."""
    engine: Literal["auto", "eager", "captured", "compiled"] = "auto"
    """On a GPU, captured replays a recorded step of one fixed shape; compiled does so with fused kernels, which are
    faster but take most of a minute to make. auto: compiled where the GPU has bfloat16, else eager."""
    threads: int | None = None
    """CPU threads; none leaves PyTorch's choice."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"steps is {self.steps}; a run needs at least one.")
        for name, weight in self.corpus_weights.items():
            if not 0 < weight < math.inf:
                raise UserError(f"the weight of {name} in corpus_weights is {weight}; it must be above 0.")
        if self.batch.part_tokens > self.batch.tokens:
            raise UserError(
                f"batch.part_tokens ({self.batch.part_tokens}) is larger than batch.tokens ({self.batch.tokens})."
            )
