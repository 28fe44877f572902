"""Every value that a distillation uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from maskpredict.bounds import FiniteFloat, NonNegativeFloat, PositiveInt
from maskpredict.config import check_bounds
from maskpredict.errors import UserError


@dataclass(frozen=True)
class DistillConfig:
    """Which teacher translates which data, and what becomes of its translations."""

    data: Path
    """Data folder whose training targets to replace."""
    teacher: Path
    """Model or run folder of an autoregressive model that was trained with the data's vocabulary."""
    out: Path
    """Data folder to make; until it is finished, the work so far lies beside it in OUT.shards."""
    choose: Literal["best", "n_best", "closest"] = "best"
    """The teacher's best translation, its n best (each a pair), or that of its n best that is closest to the reference.

    Closeness is sentence BLEU over subwords.
    """
    n: PositiveInt | None = None
    """Translations that n_best keeps and closest chooses from; none is all that the beam gives."""
    beam_size: PositiveInt = 5
    """Hypotheses the teacher keeps at each step."""
    length_penalty: FiniteFloat = 1.0
    """Scores are divided by length to this power: higher favours longer translations."""
    shard_pairs: PositiveInt = 20_000
    """Training pairs that are translated and saved together; an interruption loses at most one such shard."""
    batch_tokens: PositiveInt | None = None
    """Source positions times beams computed at once; none is what suits the device. Limits memory, not the result."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda where there is one."""
    compute_type: Literal["float32", "bfloat16", "float16"] = "float32"
    """Arithmetic of the teacher."""
    processes: PositiveInt | None = None
    """Processes side by side on one device; none is two on a GPU, which one cannot keep busy, and one on a CPU."""
    seconds: NonNegativeFloat | None = None
    """Stop after this time, keeping finished shards; the same call continues. None goes on to the end."""
    threads: PositiveInt | None = None
    """CPU threads; none leaves PyTorch's choice."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.n is not None and self.choose == "best":
            raise UserError("n says nothing about choose=best; set choose to n_best or closest, or leave n out.")
        if self.n is not None and self.n > self.beam_size:
            raise UserError(f"n is {self.n}; it must be between 1 and beam_size ({self.beam_size}).")

    @property
    def hypotheses(self) -> int:
        """Translations that the teacher is asked for, for each source."""
        return 1 if self.choose == "best" else self.n or self.beam_size
