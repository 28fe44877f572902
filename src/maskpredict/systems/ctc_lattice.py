"""The CTC lattice (Graves et al., 2006): the sum over all alignments of a target, and the best one of them.

An alignment gives each position a word of the target or a blank: the words in order, each at one or several adjacent
positions, any number of blanks around them, and at least one between two equal words. A state of the lattice is the
number c of words so far, and whether the position has the last of them or a blank.

Shape letters: B sentences, T positions, L words of the target, N positions of all sentences, C = L + 1 scores: of the
blank, then of each word of the target. For states, C is the number of words so far.

On a GPU, `kernels/ctc_lattice.py` computes both; what is here is the reference, and runs everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = float("-inf")
"""Log-probability of an impossible state."""


@dataclass(frozen=True)
class LatticeColumn:
    """Log-probabilities of the states at one position."""

    word_BC: Tensor
    """The position has the last of c words; impossible for none."""
    blank_BC: Tensor
    """The position has a blank after c words."""

    def where(self, keep_B: Tensor, other: LatticeColumn) -> LatticeColumn:
        """Return this column for sentences where `keep_B`, and the other for all others."""
        keep_B1 = keep_B[:, None]
        word_BC = torch.where(keep_B1, self.word_BC, other.word_BC)
        return LatticeColumn(word_BC, torch.where(keep_B1, self.blank_BC, other.blank_BC))


@dataclass(frozen=True)
class LatticeInputs:
    """Targets, and the log-probabilities of their words and blanks at each position."""

    scores_NC: Tensor
    """Log-probabilities, float32; -inf for what a position cannot have."""
    places_BT: Tensor
    """Row of `scores_NC` for each position; arbitrary beyond a sentence's length."""
    lengths_B: Tensor
    words_BL: Tensor
    word_counts_B: Tensor

    def scores(self) -> Sequence[Tensor]:
        """Return the scores [B, C] at each position."""
        return self.scores_NC[self.places_BT.T].unbind()

    def start(self) -> LatticeColumn:
        """Return the column before the first position: a blank after no words."""
        nothing_BC = self.scores_NC.new_full((len(self.lengths_B), self.scores_NC.shape[1]), NEVER)
        return LatticeColumn(nothing_BC, F.pad(nothing_BC[:, 1:], (1, 0), value=0.0))

    @property
    def next_differs_BC(self) -> Tensor:
        """True where the word after c words differs from the last of them, so that it may follow directly."""
        return F.pad(self.words_BL[:, 1:] != self.words_BL[:, :-1], (1, 1), value=True)


@dataclass(frozen=True)
class Lattice:
    """Forward or backward log-probabilities of all states."""

    words_TBC: Tensor
    blanks_TBC: Tensor

    @classmethod
    def of(cls, columns: Sequence[LatticeColumn]) -> Lattice:
        """Stack columns from the first position to the last."""
        return cls(
            torch.stack([column.word_BC for column in columns]), torch.stack([column.blank_BC for column in columns])
        )

    def log_likelihood(self, counts_B: Tensor) -> Tensor:
        """Return the log-likelihood [B] of each target: it ends with its last word, or with the blank after it."""
        ended_BC = torch.logaddexp(self.words_TBC[-1], self.blanks_TBC[-1])
        return ended_BC.gather(1, counts_B[:, None])[:, 0]


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


def _has_kernels(scores_NC: Tensor) -> bool:
    return scores_NC.is_cuda and find_spec("triton") is not None


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
    if _has_kernels(scores_NC):
        from maskpredict.kernels import ctc_lattice as kernels

        return kernels.sum_alignments(scores_NC, places_BT, lengths_B, words_BL, word_counts_B)
    inputs = LatticeInputs(scores_NC, places_BT, lengths_B, words_BL, word_counts_B)
    return sum_reference(inputs, rows_N, positions_N)


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


def sum_reference(inputs: LatticeInputs, rows_N: Tensor, positions_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return the negative log-likelihoods [B], and the gradient of their sum [N, C], in plain PyTorch."""
    forward = forward_lattice(inputs)
    log_likelihood_B = forward.log_likelihood(inputs.word_counts_B)
    posteriors_TBC = _posteriors(inputs, forward, log_likelihood_B)
    return -log_likelihood_B, -posteriors_TBC[positions_N, rows_N]


def forward_lattice(inputs: LatticeInputs) -> Lattice:
    """Return the forward log-probabilities.

    Beyond a sentence's length, they are those of its last position.
    """
    differs_BC, column, columns = inputs.next_differs_BC, inputs.start(), []
    for t, scores_BC in enumerate(inputs.scores()):
        column = _forward_step(column, scores_BC, differs_BC).where(t < inputs.lengths_B, column)
        columns.append(column)
    return Lattice.of(columns)


def _forward_step(before: LatticeColumn, scores_BC: Tensor, differs_BC: Tensor) -> LatticeColumn:
    """Return the next column: a word comes after itself, a blank, or a different word; a blank after any state."""
    either_BC = torch.logaddexp(before.word_BC, before.blank_BC)
    to_next_BC = torch.where(differs_BC, either_BC, before.blank_BC)
    entered_BC = F.pad(to_next_BC[:, :-1], (1, 0), value=NEVER)
    word_BC = torch.logaddexp(before.word_BC, entered_BC) + scores_BC
    return LatticeColumn(word_BC, either_BC + scores_BC[:, :1])


def _posteriors(inputs: LatticeInputs, forward: Lattice, log_likelihood_B: Tensor) -> Tensor:
    """Return the posterior probability [T, B, C] of the blank, and of each word, at each position."""
    differs_BC, norm_B1 = inputs.next_differs_BC, log_likelihood_B[:, None]
    counts_C = torch.arange(differs_BC.shape[1], device=differs_BC.device)
    end_BC = torch.zeros_like(forward.words_TBC[0]).masked_fill(counts_C != inputs.word_counts_B[:, None], NEVER)
    end = LatticeColumn(end_BC, end_BC)
    columns = [end]  # from the last position to the first
    for t, scores_BC in reversed(list(enumerate(inputs.scores()))[1:]):
        columns.append(_backward_step(columns[-1], scores_BC, differs_BC).where(t < inputs.lengths_B, end))
    backward = Lattice.of(columns[::-1])
    blank_TB1 = (forward.blanks_TBC + backward.blanks_TBC - norm_B1).exp().sum(2, keepdim=True)
    words_TBL = (forward.words_TBC + backward.words_TBC - norm_B1).exp()[:, :, 1:]
    valid_TB = torch.arange(len(columns), device=norm_B1.device)[:, None] < inputs.lengths_B
    counted_TB1 = (valid_TB & (log_likelihood_B > NEVER))[:, :, None]
    return torch.where(counted_TB1, torch.cat([blank_TB1, words_TBL], 2), 0.0)


def _backward_step(after: LatticeColumn, scores_BC: Tensor, differs_BC: Tensor) -> LatticeColumn:
    """Return the previous column: a word leads to itself, a blank, or a different word; a blank to any state."""
    word_BC, blank_BC = after.word_BC + scores_BC, after.blank_BC + scores_BC[:, :1]
    next_BC = F.pad(word_BC[:, 1:], (0, 1), value=NEVER)
    from_blank_BC = torch.logaddexp(blank_BC, next_BC)
    onward_BC = torch.where(differs_BC, from_blank_BC, blank_BC)
    return LatticeColumn(torch.logaddexp(word_BC, onward_BC), from_blank_BC)


def best_alignments(inputs: LatticeInputs) -> Tensor:
    """Return the column of `scores_NC` [B, T] at each position of the best alignment: 0 for a blank, 1 + l for word l.

    All blanks for a target without alignments, and beyond a sentence's length. Of equal alignments, it is the one of
    `decoding.lattice_path.best_path`: from the last position to the first, a blank wins, except that a word is
    rather continued than begun. There is no gradient.
    """
    best_BT: Tensor = _best_alignments(
        inputs.scores_NC.detach(), inputs.places_BT, inputs.lengths_B, inputs.words_BL, inputs.word_counts_B
    )
    return best_BT


@torch.library.custom_op("maskpredict::ctc_best_alignments", mutates_args=())
def _best_alignments(
    scores_NC: Tensor, places_BT: Tensor, lengths_B: Tensor, words_BL: Tensor, word_counts_B: Tensor
) -> Tensor:
    """Return the best alignments, as `best_alignments` does."""
    if _has_kernels(scores_NC):
        from maskpredict.kernels import ctc_lattice as kernels

        return kernels.best_alignments(scores_NC, places_BT, lengths_B, words_BL, word_counts_B)
    return best_reference(LatticeInputs(scores_NC, places_BT, lengths_B, words_BL, word_counts_B))


@_best_alignments.register_fake
def _(scores_NC: Tensor, places_BT: Tensor, *_: Tensor) -> Tensor:
    return torch.empty_like(places_BT, dtype=torch.long)


def best_reference(inputs: LatticeInputs) -> Tensor:
    """Return the best alignments by the Viterbi algorithm in plain PyTorch."""
    differs_BC, column, pointers = inputs.next_differs_BC, inputs.start(), []
    for t, scores_BC in enumerate(inputs.scores()):
        reached, pointer = _viterbi_step(column, scores_BC, differs_BC)
        column = reached.where(t < inputs.lengths_B, column)
        pointers.append(pointer)
    return _trace_back(inputs, column, pointers)


@dataclass(frozen=True)
class BackPointers:
    """The previous states on the best paths to the states at one position."""

    after_word_BC: Tensor
    """True where the best state with c words at the previous position is the word, False where it is the blank."""
    is_new_BC: Tensor
    """True where the word is not at the previous position."""


def _viterbi_step(before: LatticeColumn, scores_BC: Tensor, differs_BC: Tensor) -> tuple[LatticeColumn, BackPointers]:
    """Return the next column, as in `_forward_step` with maxima instead of sums, and how it was reached."""
    after_word_BC = before.word_BC > before.blank_BC
    either_BC = torch.maximum(before.word_BC, before.blank_BC)
    entered_BC = F.pad(torch.where(differs_BC, either_BC, before.blank_BC)[:, :-1], (1, 0), value=NEVER)
    word_BC = torch.maximum(before.word_BC, entered_BC) + scores_BC
    column = LatticeColumn(word_BC, either_BC + scores_BC[:, :1])
    return column, BackPointers(after_word_BC, entered_BC > before.word_BC)


def _trace_back(inputs: LatticeInputs, last: LatticeColumn, pointers: Sequence[BackPointers]) -> Tensor:
    """Return the alignments [B, T] that the back-pointers lead to from the last column."""
    count_B1, differs_BC = inputs.word_counts_B[:, None], inputs.next_differs_BC
    word_B1, blank_B1 = last.word_BC.gather(1, count_B1), last.blank_BC.gather(1, count_B1)
    in_word_B1, exists_B1 = word_B1 > blank_B1, torch.maximum(word_B1, blank_B1) > NEVER
    columns = []  # from the last position to the first
    for t, pointer in reversed(list(enumerate(pointers))):
        inside_B1 = exists_B1 & (t < inputs.lengths_B[:, None])
        columns.append(torch.where(inside_B1 & in_word_B1, count_B1, 0))
        is_new_B1 = inside_B1 & in_word_B1 & pointer.is_new_BC.gather(1, count_B1)
        count_B1 = count_B1 - is_new_B1.long()
        leads_B1 = pointer.after_word_BC.gather(1, count_B1) & (differs_BC.gather(1, count_B1) | ~is_new_B1)
        stays_B1 = ~inside_B1 | (in_word_B1 & ~is_new_B1)
        in_word_B1 = torch.where(stays_B1, in_word_B1, leads_B1)
    return torch.cat(columns[::-1], 1)
