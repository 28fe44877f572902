"""Every value that a training run uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from maskpredict.bounds import (
    Bounds,
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from maskpredict.config import check_bounds
from maskpredict.errors import UserError
from maskpredict.model.config import preset

Seed = Annotated[int, Bounds(at_least=0, below=2**63)]
"""What both NumPy and PyTorch accept."""


@dataclass(frozen=True)
class BatchConfig:
    """How much text goes into one update of the weights."""

    tokens: PositiveInt = 128_000
    """Target tokens per update, over all workers and accumulated parts."""
    part_tokens: PositiveInt = 8_192
    """Target tokens computed at once on one device; an update accumulates as many parts as it needs."""
    max_length: PositiveInt = 256
    """Pairs with a longer side, in subwords with the end mark, are left out."""


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW and its learning rate; the defaults are the paper's."""

    rate: PositiveFloat = 5e-4
    """Peak learning rate."""
    warmup: NonNegativeInt = 10_000
    """Updates until the peak is reached."""
    schedule: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """How it falls: with 1/sqrt(update) after the warm-up, as in the paper, or linearly to zero at the end."""
    beta1: Fraction = 0.9
    """Decay of the running mean of gradients."""
    beta2: Fraction = 0.999
    """Decay of the running mean of squared gradients."""
    epsilon: NonNegativeFloat = 1e-6
    """Added to the denominator of the update."""
    weight_decay: NonNegativeFloat = 0.01
    """Decoupled weight decay."""
    clip: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0 does not clip."""


@dataclass(frozen=True)
class ValidationConfig:
    """What is measured during training, and when."""

    every: PositiveInt | None = None
    """Updates between validations; none validates at the end of each epoch."""
    bleu_sentences: NonNegativeInt = 0
    """Validation sentences to translate for BLEU at each validation; 0 translates none."""
    decoding: dict[str, Any] = field(default_factory=dict)
    """Settings for those translations, such as {iterations: 4, length_candidates: 1}."""
    patience: PositiveInt | None = None
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
    label_smoothing: Fraction = 0.1
    """Share of the target probability spread over the whole vocabulary."""
    steps: PositiveInt = 300_000
    """Updates in the whole run."""
    seconds: PositiveFloat | None = None
    """Time for the whole run, over all its pieces; it ends at this or at `steps`, whichever comes first."""
    seed: Seed = 1
    """Of initial weights, order of the data, masks and dropout."""
    batch: BatchConfig = BatchConfig()
    """Size of an update."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """AdamW and its learning rate."""
    validation: ValidationConfig = ValidationConfig()
    """What is measured during training."""
    corpus_weights: dict[str, PositiveFloat] = field(default_factory=dict)
    """How often corpora are drawn, relative to their size, where it is not as the data says, as in {tatoeba: 4}."""
    rewarmup: NonNegativeInt = 500
    """Updates until a run that is continued without its optimiser's memory is back at the schedule's rate."""
    checkpoint_every: PositiveInt = 1_000
    """Updates between checkpoints to resume from."""
    keep_best: NonNegativeInt = 5
    """Checkpoints with the lowest validation loss that are kept, and averaged into the finished model; with 0 that one
    has the last weights."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Arithmetic of forward and backward passes; weights stay float32. auto: bfloat16 where the device has it."""
    engine: Literal["auto", "eager", "captured", "compiled"] = "auto"
    """On a GPU, captured replays a recorded step of one fixed shape; compiled does so with fused kernels, which are
    faster but take most of a minute to make. auto: compiled where the GPU has bfloat16, else eager."""
    threads: PositiveInt | None = None
    """CPU threads; none leaves PyTorch's choice."""

    def __post_init__(self) -> None:
        check_bounds(self)
        shape = preset(self.preset, self.model)
        if self.batch.part_tokens > self.batch.tokens:
            raise UserError(
                f"batch.part_tokens ({self.batch.part_tokens}) is larger than batch.tokens ({self.batch.tokens})."
            )
        if self.batch.max_length >= shape.max_positions:
            raise UserError(
                f"batch.max_length is {self.batch.max_length}; "
                f"it must be below model.max_positions ({shape.max_positions})."
            )
