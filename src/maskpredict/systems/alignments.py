"""All ways to spread a target over more positions than it has words, as CTC does (Graves et al., 2006).

An alignment gives each position a word of the target or a blank: the words in their order, each at one position or at
several in a row, with any number of blanks around them and at least one between two equal words. There are far too many
to count one by one, but a table of the best, or of all together, up to each position and word is quickly made. Words
and blanks alternate: blank 0, word 0, blank 1, word 1 and so on, with a blank at the end.

Shape letters: B sentences, T positions, L words of the target, N positions of all sentences, C = L + 1 scores: of the
blank, then of each word of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = float("-inf")


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

    def scores(self, t: int) -> tuple[Tensor, Tensor]:
        """Of the blank [B, 1] and of the words [B, L] at one position of every sentence."""
        scores_BC = self.scores_NC[self.places_BT[:, t]]
        return scores_BC[:, :1], scores_BC[:, 1:]

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

    def at_the_end(self, problem: Problem, plus: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """How likely each whole target is: it ends with its last word, or with the blank after it."""
        count_B1 = problem.word_counts_B[:, None]
        after_B1 = self.blanks[-1].gather(1, count_B1)
        return plus(after_B1, self.words[-1].gather(1, (count_B1 - 1).clamp(min=0)))[:, 0]


def forward_table(problem: Problem, plus: Callable[[Tensor, Tensor], Tensor]) -> Table:
    """The table of all alignments together, with `torch.logaddexp`, or of the best, with `torch.maximum`.

    Behind a sentence's last position it stays as it is there.
    """
    follow_BL, width = problem.may_follow_BL, problem.places_BT.shape[1]
    blank_B1, words_BL = problem.scores(0)
    at_blank = torch.cat([blank_B1, torch.full_like(words_BL, NEVER)], 1)
    at_word = torch.cat([words_BL[:, :1], torch.full_like(words_BL[:, 1:], NEVER)], 1)
    blanks, words = [at_blank], [at_word]
    for t in range(1, width):
        blank_B1, words_BL = problem.scores(t)
        from_left = F.pad(at_word, (1, 0), value=NEVER)  # the word before each blank
        going_on = (t < problem.lengths_B)[:, None]
        next_blank = plus(at_blank, from_left) + blank_B1
        next_word = plus(plus(at_word, at_blank[:, :-1]), from_left[:, :-1] + follow_BL) + words_BL
        at_blank, at_word = torch.where(going_on, next_blank, at_blank), torch.where(going_on, next_word, at_word)
        blanks.append(at_blank)
        words.append(at_word)
    return Table(torch.stack(blanks), torch.stack(words))


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
    table = forward_table(problem, torch.logaddexp)
    all_B = table.at_the_end(problem, torch.logaddexp)
    shares_BTC = _shares(problem, table, all_B)
    return -all_B, -shares_BTC[rows_N, positions_N]


@_surprise.register_fake
def _(
    scores_NC: Tensor,
    places_BT: Tensor,
    lengths_B: Tensor,
    words_BL: Tensor,
    word_counts_B: Tensor,
    rows_N: Tensor,
    positions_N: Tensor,
) -> tuple[Tensor, Tensor]:
    return scores_NC.new_empty(lengths_B.shape), torch.empty_like(scores_NC)


def _remember(
    ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]
) -> None:
    ctx.save_for_backward(output[1], inputs[5])


def _gradient(ctx: torch.autograd.function.FunctionCtx, surprise_B: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    gradient_NC, rows_N = ctx.saved_tensors  # type: ignore[attr-defined]
    return gradient_NC * surprise_B[rows_N][:, None], None, None, None, None, None, None


_surprise.register_autograd(_gradient, setup_context=_remember)


def _shares(problem: Problem, table: Table, all_B: Tensor) -> Tensor:
    """The share [B, T, C] of a target's probability that goes through the blank, or each word, at each position."""
    follow_BL, width = problem.may_follow_BL, problem.places_BT.shape[1]
    counts_B1, all_B1 = problem.word_counts_B[:, None], all_B[:, None]
    number = torch.arange(table.blanks.shape[2], device=counts_B1.device)
    end_blank = torch.zeros_like(table.blanks[0]).masked_fill(number != counts_B1, NEVER)
    end_word = torch.zeros_like(table.words[0]).masked_fill(number[:-1] != counts_B1 - 1, NEVER)
    shares = []
    after_blank, after_word = end_blank, end_word  # how likely what comes after each place is
    for t in reversed(range(width)):
        if t < width - 1:
            blank_B1, words_BL = problem.scores(t + 1)
            to_blank, to_word = after_blank + blank_B1, after_word + words_BL
            over_blank = F.pad((to_word + follow_BL)[:, 1:], (0, 1), value=NEVER)  # right to the next word
            inside = (t < problem.lengths_B - 1)[:, None]
            before_blank = torch.logaddexp(to_blank, F.pad(to_word, (0, 1), value=NEVER))
            before_word = torch.logaddexp(torch.logaddexp(to_word, to_blank[:, 1:]), over_blank)
            after_blank = torch.where(inside, before_blank, end_blank)
            after_word = torch.where(inside, before_word, end_word)
        of_blank = (table.blanks[t] + after_blank - all_B1).exp().sum(1, keepdim=True)
        of_words = (table.words[t] + after_word - all_B1).exp()
        shares.append(torch.cat([of_blank, of_words], 1))
    there_BT = torch.arange(width, device=all_B.device) < problem.lengths_B[:, None]
    return torch.where((there_BT & (all_B1 > NEVER))[:, :, None], torch.stack(shares[::-1], 1), 0.0)


def best_alignment(problem: Problem) -> list[list[int] | None]:
    """For each sentence the word, counted from 0, that its likeliest alignment has at each position, or -1 for a blank;
    None where there is no alignment."""
    table = forward_table(problem, torch.maximum)
    possible = (table.at_the_end(problem, torch.maximum) > NEVER).tolist()
    found: list[list[int] | None] = []
    for row, (length, count) in enumerate(zip(problem.lengths_B.tolist(), problem.word_counts_B.tolist(), strict=True)):
        if not possible[row]:
            found.append(None)
            continue
        blanks, words = table.blanks[:, row].tolist(), table.words[:, row].tolist()
        follow = problem.may_follow_BL[row].tolist()
        at_blank = blanks[length - 1][count] >= words[length - 1][count - 1]
        place = count if at_blank else count - 1
        alignment = [-1 if at_blank else place]
        for t in range(length - 2, -1, -1):
            at_blank, place = _came_from(at_blank, place, blanks[t], words[t], follow)
            alignment.append(-1 if at_blank else place)
        found.append(alignment[::-1])
    return found


def _came_from(
    at_blank: bool, place: int, blanks: list[float], words: list[float], follow: list[float]
) -> tuple[bool, int]:
    """Where the best alignment was one position earlier: whether at a blank, and the number of that blank or word."""
    before = [(words[place - 1] + (0.0 if at_blank else follow[place]), False, place - 1)] if place else []
    here = [(blanks[place], True, place)] + ([] if at_blank else [(words[place], False, place)])
    _, was_at_blank, where = max(before + here, key=lambda option: option[0])
    return was_at_blank, where
