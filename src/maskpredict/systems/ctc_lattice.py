"""All ways to spread a target over more positions than it has words, as CTC does (Graves et al., 2006).

An alignment gives each position a word of the target or a blank: the words in their order, each at one position or at
several in a row, with any number of blanks around them and at least one between two equal words. There are far too many
to count one by one, but a table of all together, up to each position and word, is quickly made. Words and blanks
alternate: blank 0, word 0, blank 1, word 1 and so on, with a blank at the end. `decoding/alignment.py` finds the best.

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


@dataclass(frozen=True)
class At:
    """How likely it is to be at each blank and at each word, at one position."""

    blank: Tensor
    """[B, L + 1]."""
    word: Tensor
    """[B, L]."""

    def kept_where(self, keep_B: Tensor, other: At) -> At:
        """This for some sentences, the other for the rest."""
        keep_B1 = keep_B[:, None]
        return At(torch.where(keep_B1, self.blank, other.blank), torch.where(keep_B1, self.word, other.word))


@dataclass(frozen=True)
class Problem:
    """Sentences and what is to be spread over them."""

    scores_NC: Tensor
    """Log-probabilities, float32."""
    places_BT: Tensor
    """Where the scores of each position stand; anything beyond a sentence's length."""
    lengths_B: Tensor
    words_BL: Tensor
    word_counts_B: Tensor

    def scores(self) -> list[At]:
        """At each position of every sentence: of the blank, [B, 1] for all of them, and of the words."""
        return [At(scores_BC[:, :1], scores_BC[:, 1:]) for scores_BC in self.scores_NC[self.places_BT.T]]

    @property
    def may_follow_BL(self) -> Tensor:
        """0 for words that may come right after the one before, -inf for those that need a blank between."""
        same_BL = F.pad(self.words_BL[:, 1:] == self.words_BL[:, :-1], (1, 0), value=True)  # none is before the first
        return torch.zeros(same_BL.shape, device=same_BL.device).masked_fill(same_BL, NEVER)


@dataclass(frozen=True)
class Table:
    """Up to each position, how likely it is to be at each blank and at each word there."""

    blanks: Tensor
    """[T, B, L + 1]."""
    words: Tensor
    """[T, B, L]."""

    @classmethod
    def of(cls, steps: Sequence[At]) -> Table:
        """From the first position to the last."""
        return cls(torch.stack([at.blank for at in steps]), torch.stack([at.word for at in steps]))

    def at_the_end(self, problem: Problem) -> Tensor:
        """How likely each whole target is: it ends with its last word, or with the blank after it."""
        count_B1 = problem.word_counts_B[:, None]
        after_B1 = self.blanks[-1].gather(1, count_B1)
        return torch.logaddexp(after_B1, self.words[-1].gather(1, (count_B1 - 1).clamp(min=0)))[:, 0]


def forward_table(problem: Problem, in_few_kernels: bool) -> Table:
    """The table of all alignments together.

    Behind a sentence's last position it stays as it is there.
    """
    further = _compiled(_one_further) if in_few_kernels else _one_further
    follow_BL, (first, *others) = problem.may_follow_BL, problem.scores()
    at = At(
        torch.cat([first.blank, torch.full_like(first.word, NEVER)], 1),
        torch.cat([first.word[:, :1], torch.full_like(first.word[:, 1:], NEVER)], 1),
    )
    steps = [at]
    for t, scores in enumerate(others, start=1):
        at = further(at, scores, follow_BL, t < problem.lengths_B)
        steps.append(at)
    return Table.of(steps)


def _one_further(at: At, scores: At, follow_BL: Tensor, inside_B: Tensor) -> At:
    """From one position to the next: stay, or go on to what comes next."""
    from_left = F.pad(at.word, (1, 0), value=NEVER)  # the word before each blank
    to_word = torch.logaddexp(torch.logaddexp(at.word, at.blank[:, :-1]), from_left[:, :-1] + follow_BL)
    to_blank = torch.logaddexp(at.blank, from_left)
    return At(to_blank + scores.blank, to_word + scores.word).kept_where(inside_B, at)


@cache
def _compiled(step: Callable[..., At]) -> Callable[..., At]:
    """For a GPU: hundreds of steps follow each other, and a kernel takes longer to start there than to compute."""
    return torch.compile(step, dynamic=True)


def surprise_of(problem: Problem, rows_N: Tensor, positions_N: Tensor) -> Tensor:
    """-log of each target's probability [B], all its alignments together; infinite where there is none.

    `rows_N` and `positions_N` say where each of the N positions stands. The gradient reaches `scores_NC`, and is zero
    for a target without alignments.
    """
    found: Tensor = _surprise(
        problem.scores_NC,
        problem.places_BT,
        problem.lengths_B,
        problem.words_BL,
        problem.word_counts_B,
        rows_N,
        positions_N,
    )[0]
    return found


# An operator of its own: the loops are not to be compiled, which would take minutes, but may be recorded as they are.
@torch.library.custom_op("maskpredict::surprise", mutates_args=())
def _surprise(
    scores_NC: Tensor,
    places_BT: Tensor,
    lengths_B: Tensor,
    words_BL: Tensor,
    word_counts_B: Tensor,
    rows_N: Tensor,
    positions_N: Tensor,
) -> tuple[Tensor, Tensor]:
    """-log of the probabilities, and the gradient of their sum."""
    problem = Problem(scores_NC, places_BT, lengths_B, words_BL, word_counts_B)
    table = forward_table(problem, in_few_kernels=scores_NC.is_cuda)
    all_B = table.at_the_end(problem)
    shares_TBC = _shares(problem, table, all_B, in_few_kernels=scores_NC.is_cuda)
    return -all_B, -shares_TBC[positions_N, rows_N]


@_surprise.register_fake
def _(scores_NC: Tensor, places_BT: Tensor, lengths_B: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
    return scores_NC.new_empty(lengths_B.shape), torch.empty_like(scores_NC)


def _remember(
    ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]
) -> None:
    ctx.save_for_backward(output[1], inputs[5])


def _gradient(ctx: torch.autograd.function.FunctionCtx, surprise_B: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    gradient_NC, rows_N = ctx.saved_tensors  # type: ignore[attr-defined]
    return gradient_NC * surprise_B[rows_N][:, None], None, None, None, None, None, None


_surprise.register_autograd(_gradient, setup_context=_remember)


def _shares(problem: Problem, table: Table, all_B: Tensor, in_few_kernels: bool) -> Tensor:
    """The share [T, B, C] of a target's probability that goes through the blank, or each word, at each position."""
    back = _compiled(_one_back) if in_few_kernels else _one_back
    follow_BL, counts_B1, all_B1 = problem.may_follow_BL, problem.word_counts_B[:, None], all_B[:, None]
    number = torch.arange(table.blanks.shape[2], device=counts_B1.device)
    end = At(
        torch.zeros_like(table.blanks[0]).masked_fill(number != counts_B1, NEVER),
        torch.zeros_like(table.words[0]).masked_fill(number[:-1] != counts_B1 - 1, NEVER),
    )
    steps = [end]  # how likely what comes after each place is, from the last position to the first
    for t, scores in reversed(list(enumerate(problem.scores()))[1:]):
        steps.append(back(steps[-1], scores, follow_BL, t < problem.lengths_B, end))
    after = Table.of(steps[::-1])
    of_blank = (table.blanks + after.blanks - all_B1).exp().sum(2, keepdim=True)
    of_words = (table.words + after.words - all_B1).exp()
    there_TB = torch.arange(len(steps), device=all_B.device)[:, None] < problem.lengths_B
    counts_TB1 = (there_TB & (all_B > NEVER))[:, :, None]
    return torch.where(counts_TB1, torch.cat([of_blank, of_words], 2), 0.0)


def _one_back(after: At, scores: At, follow_BL: Tensor, inside_B: Tensor, end: At) -> At:
    """From what comes after one position to what comes after the one before."""
    to_blank, to_word = after.blank + scores.blank, after.word + scores.word
    over_blank = F.pad((to_word + follow_BL)[:, 1:], (0, 1), value=NEVER)  # right to the next word
    return At(
        torch.logaddexp(to_blank, F.pad(to_word, (0, 1), value=NEVER)),
        torch.logaddexp(torch.logaddexp(to_word, to_blank[:, 1:]), over_blank),
    ).kept_where(inside_B, end)
