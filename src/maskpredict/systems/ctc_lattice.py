"""The CTC lattice: the sum over all alignments of a target, by the forward-backward algorithm (Graves et al., 2006).

An alignment gives each position a word of the target or a blank: the words in order, each at one or several adjacent
positions, any number of blanks around them, and at least one between two equal words. The states of the lattice
alternate: blank 0, word 0, blank 1, word 1 and so on, with a blank at the end. `decoding/alignment.py` finds the best
path.

Shape letters: B sentences, T positions, L words of the target, N positions of all sentences, C = L + 1 scores: of the
blank, then of each word of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = float("-inf")
"""Log-probability of an impossible state."""


@dataclass(frozen=True)
class LatticeColumn:
    """Log-probabilities of the blank and word states at one position."""

    blank: Tensor
    """[B, L + 1]."""
    word: Tensor
    """[B, L]."""

    def where(self, keep_B: Tensor, other: LatticeColumn) -> LatticeColumn:
        """Return this column for sentences where `keep_B`, and the other for all others."""
        keep_B1 = keep_B[:, None]
        return LatticeColumn(torch.where(keep_B1, self.blank, other.blank), torch.where(keep_B1, self.word, other.word))


@dataclass(frozen=True)
class LatticeInputs:
    """Targets, and the log-probabilities of their words and blanks at each position."""

    scores_NC: Tensor
    """Log-probabilities, float32."""
    places_BT: Tensor
    """Row of `scores_NC` for each position; arbitrary beyond a sentence's length."""
    lengths_B: Tensor
    words_BL: Tensor
    word_counts_B: Tensor

    def scores(self) -> list[LatticeColumn]:
        """Return the scores at each position: [B, 1] for all blanks, [B, L] for the words."""
        return [LatticeColumn(scores_BC[:, :1], scores_BC[:, 1:]) for scores_BC in self.scores_NC[self.places_BT.T]]

    @property
    def may_follow_BL(self) -> Tensor:
        """0 for words that may directly follow the previous word, -inf for those that need a blank between."""
        same_BL = F.pad(self.words_BL[:, 1:] == self.words_BL[:, :-1], (1, 0), value=True)  # the first follows none
        return torch.zeros(same_BL.shape, device=same_BL.device).masked_fill(same_BL, NEVER)


@dataclass(frozen=True)
class Lattice:
    """Forward or backward log-probabilities of all states."""

    blanks: Tensor
    """[T, B, L + 1]."""
    words: Tensor
    """[T, B, L]."""

    @classmethod
    def of(cls, columns: Sequence[LatticeColumn]) -> Lattice:
        """Stack columns from the first position to the last."""
        return cls(torch.stack([column.blank for column in columns]), torch.stack([column.word for column in columns]))

    def log_likelihood(self, inputs: LatticeInputs) -> Tensor:
        """Return the log-likelihood [B] of each target: it ends with its last word, or with the blank after it."""
        count_B1 = inputs.word_counts_B[:, None]
        after_B1 = self.blanks[-1].gather(1, count_B1)
        return torch.logaddexp(after_B1, self.words[-1].gather(1, (count_B1 - 1).clamp(min=0)))[:, 0]


def forward_lattice(inputs: LatticeInputs, compiled: bool) -> Lattice:
    """Return the forward log-probabilities.

    Beyond a sentence's length, they are those of its last position.
    """
    step = _compiled(_forward_step) if compiled else _forward_step
    follow_BL, (first, *others) = inputs.may_follow_BL, inputs.scores()
    column = LatticeColumn(
        torch.cat([first.blank, torch.full_like(first.word, NEVER)], 1),
        torch.cat([first.word[:, :1], torch.full_like(first.word[:, 1:], NEVER)], 1),
    )
    columns = [column]
    for t, scores in enumerate(others, start=1):
        column = step(column, scores, follow_BL, t < inputs.lengths_B)
        columns.append(column)
    return Lattice.of(columns)


def _forward_step(before: LatticeColumn, scores: LatticeColumn, follow_BL: Tensor, inside_B: Tensor) -> LatticeColumn:
    """Return the next column: each state is reached from itself, the previous state, or the previous word."""
    from_left = F.pad(before.word, (1, 0), value=NEVER)  # the word before each blank
    to_word = torch.logaddexp(torch.logaddexp(before.word, before.blank[:, :-1]), from_left[:, :-1] + follow_BL)
    to_blank = torch.logaddexp(before.blank, from_left)
    return LatticeColumn(to_blank + scores.blank, to_word + scores.word).where(inside_B, before)


@cache
def _compiled(step: Callable[..., LatticeColumn]) -> Callable[..., LatticeColumn]:
    """Compile a step, for a GPU: there are hundreds of steps, and their kernels take longer to launch than to run."""
    return torch.compile(step, dynamic=True)


def negative_log_likelihood(inputs: LatticeInputs, rows_N: Tensor, positions_N: Tensor) -> Tensor:
    """Return the negative log-likelihood [B] of each target, summed over alignments; infinite if it has none.

    `rows_N` and `positions_N` are the sentence and position of each row of `scores_NC`, which gets the gradient. The
    gradient is zero for a target without alignments.
    """
    nll_B: Tensor = _negative_log_likelihood(
        inputs.scores_NC,
        inputs.places_BT,
        inputs.lengths_B,
        inputs.words_BL,
        inputs.word_counts_B,
        rows_N,
        positions_N,
    )[0]
    return nll_B


# A custom operator, because compiling the loops would take minutes; a CUDA graph can capture them.
@torch.library.custom_op("maskpredict::ctc_negative_log_likelihood", mutates_args=())
def _negative_log_likelihood(
    scores_NC: Tensor,
    places_BT: Tensor,
    lengths_B: Tensor,
    words_BL: Tensor,
    word_counts_B: Tensor,
    rows_N: Tensor,
    positions_N: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihoods, and the gradient of their sum."""
    inputs = LatticeInputs(scores_NC, places_BT, lengths_B, words_BL, word_counts_B)
    forward = forward_lattice(inputs, compiled=scores_NC.is_cuda)
    log_likelihood_B = forward.log_likelihood(inputs)
    posteriors_TBC = _posteriors(inputs, forward, log_likelihood_B, compiled=scores_NC.is_cuda)
    return -log_likelihood_B, -posteriors_TBC[positions_N, rows_N]


@_negative_log_likelihood.register_fake
def _(scores_NC: Tensor, places_BT: Tensor, lengths_B: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
    return scores_NC.new_empty(lengths_B.shape), torch.empty_like(scores_NC)


def _save_for_backward(
    ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]
) -> None:
    ctx.save_for_backward(output[1], inputs[5])


def _backward(ctx: torch.autograd.function.FunctionCtx, upstream_B: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    gradient_NC, rows_N = ctx.saved_tensors  # type: ignore[attr-defined]
    return gradient_NC * upstream_B[rows_N][:, None], None, None, None, None, None, None


_negative_log_likelihood.register_autograd(_backward, setup_context=_save_for_backward)


def _posteriors(inputs: LatticeInputs, forward: Lattice, log_likelihood_B: Tensor, compiled: bool) -> Tensor:
    """Return the posterior probability [T, B, C] of the blank, and of each word, at each position."""
    step = _compiled(_backward_step) if compiled else _backward_step
    follow_BL, counts_B1, norm_B1 = inputs.may_follow_BL, inputs.word_counts_B[:, None], log_likelihood_B[:, None]
    number = torch.arange(forward.blanks.shape[2], device=counts_B1.device)
    end = LatticeColumn(
        torch.zeros_like(forward.blanks[0]).masked_fill(number != counts_B1, NEVER),
        torch.zeros_like(forward.words[0]).masked_fill(number[:-1] != counts_B1 - 1, NEVER),
    )
    columns = [end]  # from the last position to the first
    for t, scores in reversed(list(enumerate(inputs.scores()))[1:]):
        columns.append(step(columns[-1], scores, follow_BL, t < inputs.lengths_B, end))
    backward = Lattice.of(columns[::-1])
    blank = (forward.blanks + backward.blanks - norm_B1).exp().sum(2, keepdim=True)
    words = (forward.words + backward.words - norm_B1).exp()
    valid_TB = torch.arange(len(columns), device=log_likelihood_B.device)[:, None] < inputs.lengths_B
    counted_TB1 = (valid_TB & (log_likelihood_B > NEVER))[:, :, None]
    return torch.where(counted_TB1, torch.cat([blank, words], 2), 0.0)


def _backward_step(
    after: LatticeColumn, scores: LatticeColumn, follow_BL: Tensor, inside_B: Tensor, end: LatticeColumn
) -> LatticeColumn:
    """Return the previous column: each state leads to itself, the next state, or the next word."""
    to_blank, to_word = after.blank + scores.blank, after.word + scores.word
    over_blank = F.pad((to_word + follow_BL)[:, 1:], (0, 1), value=NEVER)  # directly to the next word
    return LatticeColumn(
        torch.logaddexp(to_blank, F.pad(to_word, (0, 1), value=NEVER)),
        torch.logaddexp(torch.logaddexp(to_word, to_blank[:, 1:]), over_blank),
    ).where(inside_B, end)
