"""What systems share that make one pass over a target and have nothing to choose."""

from __future__ import annotations

from dataclasses import dataclass

from maskpredict.errors import UserError


@dataclass(frozen=True)
class OnePassSettings:
    """How a model translates that does so in one way."""

    num_hypotheses: int = 1
    """There is only one translation."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""

    @property
    def choices(self) -> int:
        """How many translations of a sentence there are to choose from."""
        return 1

    def __post_init__(self) -> None:
        if self.num_hypotheses != 1:
            raise UserError(f"num_hypotheses is {self.num_hypotheses}; this model has one translation of a sentence.")
