"""Configuration of a training run."""

from __future__ import annotations

from collections.abc import Mapping
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
from maskpredict.config import FLAT, FlatKeys, check_bounds, from_dict, keys_of
from maskpredict.errors import UserError
from maskpredict.model.config import preset
from maskpredict.systems import SYSTEMS, TrainingOptions, find_system

Seed = Annotated[int, Bounds(at_least=0, below=2**63)]
"""Seeds that both NumPy and PyTorch accept."""


@dataclass(frozen=True)
class BatchConfig:
    """Size of an update."""

    tokens: PositiveInt = 128_000
    """Target tokens per update, over all processes and accumulated micro-batches."""
    part_tokens: PositiveInt = 8_192
    """Target tokens of a micro-batch, which one device computes at once; an update accumulates several."""
    max_length: PositiveInt = 256
    """Longest side of a pair in subwords, end mark included; longer pairs are skipped."""


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW and its learning rate; the defaults are the paper's."""

    rate: PositiveFloat = 5e-4
    """Peak learning rate."""
    warmup: NonNegativeInt = 10_000
    """Updates until the peak is reached."""
    schedule: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """Decay after the warm-up: with 1/sqrt(update), as in the paper, or linearly to zero at the end of the run."""
    beta1: Fraction = 0.9
    """Decay of the running mean of gradients."""
    beta2: Fraction = 0.999
    """Decay of the running mean of squared gradients."""
    epsilon: NonNegativeFloat = 1e-6
    """Added to the denominator of the update."""
    weight_decay: NonNegativeFloat = 0.01
    """Decoupled weight decay."""
    clip: NonNegativeFloat = 1.0
    """Maximum norm of the gradient; 0 disables clipping."""


@dataclass(frozen=True)
class ValidationConfig:
    """Measurements during training."""

    every: PositiveInt | None = None
    """Updates between validations; null validates at the end of each epoch."""
    bleu_sentences: NonNegativeInt = 0
    """Validation sentences to translate for BLEU at each validation; 0 disables it."""
    decoding: dict[str, Any] = field(default_factory=dict)
    """Settings for those translations, such as {iterations: 4, length_candidates: 1}."""
    patience: PositiveInt | None = None
    """Stop after this many validations without a better loss; null disables early stopping."""


def options_of_system(settings: Mapping[str, Any]) -> FlatKeys:
    """Return the options of the system that the settings name, and refuse those of other systems.

    Those at their defaults are ignored: run folders of older versions name the options of every system.
    """
    name = str(settings.get("system", TrainConfig.system))
    kind = find_system(name).options_type
    others = settings.keys() - {*keys_of(TrainConfig), *keys_of(kind)}
    owners = {key: [other for other in SYSTEMS if key in keys_of(find_system(other).options_type)] for key in others}
    for key, systems in owners.items():
        if systems and not _is_default(find_system(systems[0]).options_type, key, settings[key]):
            raise UserError(f"{key} is for system={' or '.join(systems)}; leave it out of a run with system={name}.")
    return FlatKeys(kind, [key for key, systems in owners.items() if systems])


def _is_default(options_type: type[TrainingOptions], key: str, value: Any) -> bool:
    return from_dict(options_type, {key: value}) == options_type()


@dataclass(frozen=True)
class TrainConfig:
    """A training run: data, system, model, schedule."""

    data: str
    """Folder written by `maskpredict prepare`."""
    run: str
    """Folder of the run: checkpoints, metrics and the finished model; an interrupted run continues from it."""
    system: str = "cmlm"
    """System to train: cmlm, alignment, autoregressive, fertility, ctc, refinement or insertion."""
    preset: str = "base"
    """Size of the model: tiny, compact, small, base or large."""
    model: dict[str, Any] = field(default_factory=dict)
    """Changes to the preset's values, such as {dropout: 0.1, norm: pre}."""
    start_from: str | None = None
    """Model folder whose weights to start from, instead of random ones; a student may start from its teacher, and
    a model with few layers from one with more."""
    label_smoothing: Fraction = 0.1
    """Share of the target probability spread over the whole vocabulary; ctc and alignment models learn without."""
    options: TrainingOptions = field(default_factory=TrainingOptions, metadata={FLAT: options_of_system})
    """Options of the system alone (`System.options_type`), such as `reveal` of an alignment model."""
    steps: PositiveInt = 300_000
    """Updates of the whole run."""
    seconds: PositiveFloat | None = None
    """Time for the whole run, over all its pieces; it ends at this or at `steps`, whichever comes first."""
    seed: Seed = 1
    """Seed of initial weights, order of the data, masks and dropout."""
    batch: BatchConfig = BatchConfig()
    """Size of an update."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """AdamW and its learning rate."""
    validation: ValidationConfig = ValidationConfig()
    """Measurements during training."""
    corpus_weights: dict[str, NonNegativeFloat] = field(default_factory=dict)
    """Sampling weights of corpora, relative to their size, that replace those of the data, as in {tatoeba: 4}; 0 leaves
    a corpus out."""
    rewarmup: NonNegativeInt = 500
    """Updates of warm-up after a run is resumed without its optimizer state."""
    max_skipped: PositiveInt = 100
    """Updates in a row without a finite loss and gradient after which the run ends; each of them is skipped."""
    stuck_after: PositiveFloat | None = 1_800.0
    """Seconds without progress after which a process reports where it is stuck and ends; null waits for ever."""
    checkpoint_every: PositiveInt = 1_000
    """Updates between checkpoints to resume from."""
    keep_best: NonNegativeInt = 5
    """Checkpoints with the lowest validation loss to keep and to average into the finished model; with 0 the finished
    model has the last weights."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Arithmetic of forward and backward passes; weights stay float32. auto: bfloat16 where the device has it."""
    engine: Literal["auto", "eager", "captured", "compiled"] = "auto"
    """On a GPU, captured replays a CUDA graph of one fixed shape; compiled does so with fused kernels, which are faster
    but take most of a minute to compile. auto: compiled where the GPU has bfloat16, else eager."""
    threads: PositiveInt | None = None
    """CPU threads; null leaves PyTorch's choice."""

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
        options_type = find_system(self.system).options_type
        if type(self.options) is TrainingOptions:
            object.__setattr__(self, "options", options_type())
        elif type(self.options) is not options_type:
            raise UserError(f"options of system={self.system} are {options_type.__name__}, not {self.options}.")
