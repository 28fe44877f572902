"""Decoding settings, one class for each decoder: mask-predict, alignments, refinement, CTC, fertilities, insertion and
beam search."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Literal, get_args

from maskpredict.bounds import Bounds
from maskpredict.decoding.strategies import STRATEGIES, Iterations
from maskpredict.errors import UserError

MAX_ITERATIONS, MAX_LENGTH_CANDIDATES, MAX_SAMPLES = 512, 128, 1_000
"""More passes than a target has tokens change nothing; with more candidates a sentence takes minutes."""


DecodingSeed = Annotated[int, Bounds(at_least=0, below=2**31)]


def _refuse_several(num_hypotheses: int) -> None:
    if num_hypotheses != 1:
        raise UserError(f"num_hypotheses is {num_hypotheses}; this model has one translation of a sentence.")


@dataclass(frozen=True)
class PassSettings:
    """Settings of every model that predicts a target in passes."""

    iterations: Iterations = 10
    """Decoder passes T; "N" takes as many as the target has positions."""
    _: KW_ONLY
    strategy: str = "mask_predict"
    """Order in which the target is filled in: mask_predict, one_shot, easy_first, left_to_right, random_order; for
    alignments also words_and_blanks and blocks; or refine, see `systems.refinement`."""
    seed: DecodingSeed = 1
    """Seed of the strategy random_order."""
    stop_when_stable: bool = False
    """End a sentence's passes as soon as one of them changes nothing."""
    threshold: float | None = None
    """Do not mask tokens again whose probability is at least this; a sentence without others is finished."""
    num_hypotheses: int = 1
    """Number of translations to return, best first."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""
    shortlist: bool = False
    """Predict only subwords of the model folder's shortlist for the source, where the engine can: faster on a CPU."""
    trace: bool = False
    """Record every pass."""

    def most_passes(self, positions: int) -> int:
        """Return the largest number of passes over a target with that many positions to predict."""
        plan = STRATEGIES[self.strategy]
        if plan.one_per_pass or self.iterations == "N":
            return positions
        return plan.passes or self.iterations

    def __post_init__(self) -> None:
        if self.iterations != "N" and self.iterations < 1:
            raise UserError(f'iterations is {self.iterations}; use 1 or more, or "N" for one per token.')
        if self.iterations != "N" and self.iterations > MAX_ITERATIONS:
            raise UserError(f'iterations is {self.iterations}; use at most {MAX_ITERATIONS}, or "N" for one per token.')
        if self.num_hypotheses < 1:
            raise UserError(f"num_hypotheses is {self.num_hypotheses}; use 1 or more.")
        if self.strategy not in STRATEGIES:
            raise UserError(f"there is no strategy '{self.strategy}'; choose one of {', '.join(STRATEGIES)}.")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UserError(f"threshold is {self.threshold}; it is a probability above 0 and at most 1.")
        if self.threshold is not None and self.strategy not in ("mask_predict", "words_and_blanks"):
            raise UserError(f"a threshold is for mask_predict and words_and_blanks, not for {self.strategy}.")
        if self.stop_when_stable and self.strategy not in ("mask_predict", "words_and_blanks", "refine"):
            raise UserError(
                f"stop_when_stable is for mask_predict, words_and_blanks and refine, not for {self.strategy}."
            )


@dataclass(frozen=True)
class MaskPredictSettings(PassSettings):
    """Settings of a CMLM."""

    length_candidates: int = 5
    """Target lengths tried side by side; the most confident result is kept."""
    length_threshold: float | None = None
    """Leave out lengths that are less likely than this share of the likeliest one's probability."""
    length_weight: float = 0.0
    """Weight of a length's log-probability against the mean log-probability of its words when results are ranked."""
    prune_candidates: int | None = None
    """Go on with only this many of the length candidates after the first pass, the most confident ones."""

    @property
    def choices(self) -> int:
        """Number of finished translations of a sentence to choose from."""
        return min(self.length_candidates, self.prune_candidates or self.length_candidates)

    @property
    def drafts_per_sentence(self) -> int:
        """Number of targets a sentence is decoded into side by side."""
        return self.length_candidates

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.length_candidates <= MAX_LENGTH_CANDIDATES:
            raise UserError(f"length_candidates is {self.length_candidates}; use 1 to {MAX_LENGTH_CANDIDATES}.")
        if self.prune_candidates is not None and self.prune_candidates < max(1, self.num_hypotheses):
            raise UserError(
                f"prune_candidates is {self.prune_candidates}; use 1 or more, and no fewer than num_hypotheses."
            )
        if self.length_threshold is not None and not 0 < self.length_threshold <= 1:
            raise UserError(f"length_threshold is {self.length_threshold}; it is a share above 0 and at most 1.")
        if not 0 <= self.length_weight < math.inf:
            raise UserError(f"length_weight is {self.length_weight}; use 0 or more.")


@dataclass(frozen=True)
class AlignmentSettings(PassSettings):
    """Settings of an alignment model, which predicts no lengths and so has one translation of a sentence."""

    iterations: Iterations = 1
    """Decoder passes T; the first predicts every position, the others revise the least confident ones."""
    strategy: str = field(default="words_and_blanks", kw_only=True)
    """Order in which the positions are filled in: words_and_blanks, mask_predict, blocks, one_shot, easy_first,
    left_to_right or random_order."""

    choices = 1
    drafts_per_sentence = 1
    prune_candidates = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_several(self.num_hypotheses)


@dataclass(frozen=True)
class RefinementSettings(MaskPredictSettings):
    """Settings of a refinement model."""

    strategy: str = "refine"
    """Order in which the target is filled in; this model has learned no other."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.strategy != "refine":
            raise UserError(f"a refinement model has learned no other strategy than refine, not {self.strategy}.")


@dataclass(frozen=True)
class OnePassSettings:
    """Settings of a model that has one translation, in one pass."""

    num_hypotheses: int = 1
    """There is only one translation."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""
    shortlist: bool = False
    """Predict only subwords of the model folder's shortlist for the source, where the engine can: faster on a CPU."""

    choices = 1
    drafts_per_sentence = 1

    def most_passes(self, positions: int) -> int:
        """Return 1."""
        return 1

    def __post_init__(self) -> None:
        _refuse_several(self.num_hypotheses)


Fertilities = Literal["argmax", "average", "sample"]


@dataclass(frozen=True)
class FertilitySettings:
    """Settings of a model with fertilities, which decodes in one pass."""

    fertilities: Fertilities = "argmax"
    """Copies of each source word: as many as are likeliest (argmax), as many as there are on average (average), or
    several drawn at random (sample), each of which gives a translation."""
    samples: int = 10
    """Translations of a sentence with `sample`, of which the best is kept; a judge chooses better."""
    seed: DecodingSeed = 1
    """Seed of `sample`."""
    num_hypotheses: int = 1
    """Number of translations to return, best first."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""

    @property
    def choices(self) -> int:
        """Number of finished translations of a sentence to choose from."""
        return self.samples if self.fertilities == "sample" else 1

    @property
    def drafts_per_sentence(self) -> int:
        """Number of targets a sentence is decoded into side by side."""
        return self.choices

    def most_passes(self, positions: int) -> int:
        """Return 1."""
        return 1

    def __post_init__(self) -> None:
        if self.fertilities not in get_args(Fertilities):
            raise UserError(f"fertilities is {self.fertilities!r}; choose one of {', '.join(get_args(Fertilities))}.")
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise UserError(f"samples is {self.samples}; use 1 to {MAX_SAMPLES}.")
        if not 1 <= self.num_hypotheses <= self.choices:
            raise UserError(
                f"num_hypotheses is {self.num_hypotheses}; it must be between 1 and the number of samples, and is 1 "
                "without fertilities=sample."
            )


Insertions = Literal["parallel", "greedy"]


@dataclass(frozen=True)
class InsertionSettings:
    """Settings of an insertion model."""

    insertions: Insertions = "parallel"
    """A word into every slot in each pass (parallel), or the likeliest of them alone (greedy)."""
    end_penalty: float = 0.0
    """Subtracted from the score of "nothing is missing here": higher gives longer translations."""
    max_length_ratio: float = 2.0
    """Longest translation, as a multiple of the source's length (ten subwords are added to it)."""
    num_hypotheses: int = 1
    """There is only one translation."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""

    choices = 1
    drafts_per_sentence = 1

    def most_passes(self, positions: int) -> int:
        """Return the largest number of passes over a target with that many positions: one of them may insert one word
        alone."""
        return positions

    def __post_init__(self) -> None:
        if self.insertions not in get_args(Insertions):
            raise UserError(f"insertions is {self.insertions!r}; choose {' or '.join(get_args(Insertions))}.")
        if not 0 <= self.end_penalty < math.inf:
            raise UserError(f"end_penalty is {self.end_penalty}; use 0 or more.")
        _refuse_several(self.num_hypotheses)


@dataclass(frozen=True)
class BeamSettings:
    """Settings of an autoregressive model."""

    beam_size: int = 5
    """Hypotheses kept at each step; 1 is greedy."""
    length_penalty: float = 1.0
    """Scores are divided by length to this power: higher favours longer translations."""
    max_length_ratio: float = 2.0
    """Longest translation, as a multiple of the source's length (ten subwords are added to it)."""
    num_hypotheses: int = 1
    """Number of translations to return for each sentence, best first."""
    suppress_tokens: tuple[int, ...] = ()
    """Ids that are never produced."""

    @property
    def choices(self) -> int:
        """Number of finished translations of a sentence to choose from."""
        return self.beam_size

    @property
    def drafts_per_sentence(self) -> int:
        """Number of targets a sentence is decoded into side by side."""
        return self.beam_size

    def most_passes(self, positions: int) -> int:
        """Return 1: each position is computed once."""
        return 1

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise UserError(f"beam_size is {self.beam_size}; use 1 (greedy) or more.")
        if not 1 <= self.num_hypotheses <= self.beam_size:
            raise UserError(
                f"num_hypotheses is {self.num_hypotheses}; it must be between 1 and beam_size ({self.beam_size})."
            )
