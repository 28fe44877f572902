"""Configuration of a distillation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maskpredict.bounds import FiniteFloat, NonNegativeFloat, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.errors import UserError


@dataclass(frozen=True)
class DistillConfig:
    """A distillation: data, teacher, search, and the targets to keep."""

    data: Path
    """Data folder whose training targets to replace."""
    teacher: Path
    """Model or run folder of an autoregressive model that was trained with the data's vocabulary."""
    out: Path
    """Data folder to make; finished shards are kept beside it, in OUT.shards, until it is complete."""
    choose: Literal["best", "n_best", "closest"] = "best"
    """The teacher's best translation, its n best (each a pair), or that of its n best that is closest to the reference.

    Closeness is sentence BLEU over subwords.
    """
    n: PositiveInt | None = None
    """Translations that n_best keeps and closest chooses from; null takes all of the beam."""
    beam_size: PositiveInt = 5
    """Hypotheses the teacher keeps at each step."""
    length_penalty: FiniteFloat = 1.0
    """Power of the length by which scores are divided; higher values favour longer translations."""
    shard_pairs: PositiveInt = 20_000
    """Training pairs per shard; an interruption loses at most one shard."""
    batch_tokens: PositiveInt | None = None
    """Source positions times beams per batch; null suits the device. Limits memory, does not change the result."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    compute_type: Literal["float32", "bfloat16", "float16"] = "float32"
    """Arithmetic of the teacher."""
    processes: PositiveInt | None = None
    """Processes on one device; null is two on a GPU, which one process cannot keep busy, and one on a CPU."""
    seconds: NonNegativeFloat | None = None
    """Time limit; finished shards are kept, and the same call continues. None is no limit."""
    threads: PositiveInt | None = None
    """CPU threads; null leaves PyTorch's choice."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.n is not None and self.choose == "best":
            raise UserError("n has no effect with choose=best; set choose to n_best or closest, or leave n out.")
        if self.n is not None and self.n > self.beam_size:
            raise UserError(f"n is {self.n}; it must be between 1 and beam_size ({self.beam_size}).")

    @property
    def hypotheses(self) -> int:
        """Translations per source that the teacher searches for."""
        return 1 if self.choose == "best" else self.n or self.beam_size
