"""CTC's dynamic programmes, against all alignments one by one, PyTorch's own sum, and the best path in NumPy."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.lattice_path import best_path, target_chain
from maskpredict.model.layout import Packed, Padded
from maskpredict.systems.ctc_lattice import (
    LatticeInputs,
    best_alignments,
    negative_log_likelihood,
    sum_reference,
)
from tests.lattices import RandomLattice

BLANK, VOCABULARY = 4, 9
LENGTHS = [5, 6, 3, 4, 1]
TARGETS = [[5, 6, 2], [5, 5, 2], [7, 8, 2], [6, 6, 6], [2]]
"""The fourth needs a blank twice, and so one position more than it has."""


def said(alignment: tuple[int, ...]) -> list[int]:
    """What the positions say, less repetitions and blanks."""
    return [token for place, token in enumerate(alignment) if token != BLANK and alignment[:place][-1:] != (token,)]


def log_probs() -> list[Tensor]:
    torch.manual_seed(1)
    return [(2 * torch.randn(length, VOCABULARY)).log_softmax(-1) for length in LENGTHS]


def padded_inputs(log_probs_BTV: list[Tensor]) -> tuple[LatticeInputs, Tensor, Tensor]:
    """The inputs, and where its positions stand, in rows of eight."""
    layout = Padded.of(torch.tensor(LENGTHS), 8)
    words_BL = torch.tensor([target + [0] * (4 - len(target)) for target in TARGETS])
    wanted_BC = torch.cat([torch.full((5, 1), BLANK), words_BL], 1)
    rows = [
        F.pad(logits_TV, (0, 0, 0, 8 - len(logits_TV)))[:, wanted]
        for logits_TV, wanted in zip(log_probs_BTV, wanted_BC, strict=True)
    ]
    places_BT = torch.arange(40).view(5, 8)
    inputs = LatticeInputs(torch.cat(rows), places_BT, layout.lengths_B, words_BL, torch.tensor([3, 3, 3, 3, 1]))
    return inputs, layout.rows.flatten(), layout.positions.flatten()


def test_the_probability_of_a_target_is_that_of_all_its_alignments_together() -> None:
    actual = negative_log_likelihood(*padded_inputs(log_probs())).tolist()
    for log_probs_TV, target, nll in zip(log_probs(), TARGETS, actual, strict=True):
        ways = [way for way in product({BLANK, *target}, repeat=len(log_probs_TV)) if said(way) == target]
        sums = [sum(float(log_probs_TV[t, token]) for t, token in enumerate(way)) for way in ways]
        expected = -torch.tensor(sums).logsumexp(0).item() if sums else math.inf
        assert nll == pytest.approx(expected, abs=1e-4)
    assert math.isinf(actual[3])


def test_gradients_are_those_of_ctc_in_pytorch() -> None:
    logits = [logits_TV.clone().requires_grad_() for logits_TV in log_probs()]
    weights_B = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    nll_B = negative_log_likelihood(*padded_inputs([logits_TV.log_softmax(-1) for logits_TV in logits]))
    (weights_B * torch.where(nll_B.isfinite(), nll_B, 0.0)).sum().backward()
    for logits_TV, target, weight in zip(logits, TARGETS, weights_B, strict=True):
        theirs = logits_TV.detach().clone().requires_grad_()
        loss = F.ctc_loss(
            theirs.log_softmax(-1),
            torch.tensor(target),
            torch.tensor(len(theirs)),
            torch.tensor(len(target)),
            blank=BLANK,
            reduction="sum",
            zero_infinity=True,
        )
        (weight * loss).backward()
        assert logits_TV.grad is not None
        torch.testing.assert_close(logits_TV.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_padding_has_no_gradient() -> None:
    inputs, rows_N, positions_N = padded_inputs(log_probs())
    scores_NC = inputs.scores_NC.requires_grad_()
    negative_log_likelihood(inputs, rows_N, positions_N)[[0, 1, 2, 4]].sum().backward()
    assert scores_NC.grad is not None
    beyond_N = ~Padded.of(torch.tensor(LENGTHS), 8).valid.flatten()
    assert not scores_NC.grad[beyond_N].any()


def test_packed_sentences_give_the_same_results() -> None:
    inputs, rows_N, positions_N = padded_inputs(log_probs())
    starts = torch.tensor([0, *LENGTHS, 3]).cumsum(0).int()  # the last row is padding
    layout = Packed.of(starts, torch.tensor(5), int(starts[-1]), 8)
    real_N = Padded.of(torch.tensor(LENGTHS), 8).valid.flatten()
    words_BL = F.pad(inputs.words_BL, (0, 0, 0, 1))
    scores_NC = F.pad(inputs.scores_NC[real_N], (0, 0, 0, 3)).requires_grad_()
    packed = LatticeInputs(
        scores_NC,
        layout.spread(torch.arange(len(scores_NC))),
        layout.lengths_B,
        words_BL,
        F.pad(inputs.word_counts_B, (0, 1)),
    )
    rows = negative_log_likelihood(inputs, rows_N, positions_N)
    end_to_end = negative_log_likelihood(packed, layout.rows, layout.positions)
    torch.testing.assert_close(end_to_end[:5], rows)
    end_to_end[:3].sum().backward()
    assert scores_NC.grad is not None
    assert scores_NC.grad.isfinite().all()
    # Every position of these sentences has a word or a blank for certain, and none of the others counts.
    assert scores_NC.grad.sum(1).tolist() == pytest.approx([-1.0] * sum(LENGTHS[:3]) + [0.0] * (5 + 3), abs=1e-5)


@pytest.mark.parametrize("revealed", [0.0, 0.4, 1.0])
def test_the_sum_and_its_gradient_are_those_of_all_alignments_one_by_one(revealed: float) -> None:
    lattice = RandomLattice.of(40, 6, 3, revealed=revealed)
    scores_NC = lattice.inputs.scores_NC.requires_grad_()
    nll_B = negative_log_likelihood(lattice.inputs, lattice.rows_N, lattice.positions_N)
    weights_B = torch.linspace(1.0, 2.0, len(nll_B))
    (gradient_NC,) = torch.autograd.grad((weights_B * torch.where(nll_B.isfinite(), nll_B, 0.0)).sum(), scores_NC)
    totals = []
    for sentence in lattice.sentences():
        finite = [score for score in map(sentence.score, sentence.alignments()) if score > -math.inf]
        totals.append(-torch.stack(finite).logsumexp(0) if finite else torch.tensor(math.inf))
    expected_B = torch.stack(totals)
    torch.testing.assert_close(nll_B, expected_B, rtol=1e-5, atol=1e-5)
    assert 0 < int(nll_B.isfinite().sum()) < len(nll_B)
    (wanted_NC,) = torch.autograd.grad(
        (weights_B * torch.where(expected_B.isfinite(), expected_B, 0.0)).sum(), scores_NC
    )
    torch.testing.assert_close(gradient_NC, wanted_NC, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("revealed", [0.0, 0.4, 1.0])
def test_the_best_alignment_scores_highest_of_all(revealed: float) -> None:
    lattice = RandomLattice.of(40, 6, 3, revealed=revealed)
    for sentence, best in zip(lattice.sentences(), best_alignments(lattice.inputs).tolist(), strict=True):
        length = len(sentence.scores_TC)
        assert not any(best[length:])
        ways = sentence.alignments()
        highest = max((float(sentence.score(way)) for way in ways), default=-math.inf)
        if highest == -math.inf:
            assert not any(best)
        else:
            assert tuple(best[:length]) in ways
            assert float(sentence.score(best[:length])) == pytest.approx(highest, abs=1e-5)


@pytest.mark.parametrize("scores", ["random", "revealed", "all equal"])
def test_the_best_alignment_is_the_one_in_numpy_even_among_equals(scores: str) -> None:
    lattice = RandomLattice.of(60, 24, 12, revealed=0.2 if scores == "revealed" else 0.0)
    if scores == "all equal":
        lattice.inputs.scores_NC.fill_(-1.0)
    actual = best_alignments(lattice.inputs).tolist()
    for sentence, best in zip(lattice.sentences(), actual, strict=True):
        chain = target_chain(sentence.target, BLANK)
        column_S = [(state + 1) // 2 if state % 2 else 0 for state in range(len(chain.words))]
        path = best_path(sentence.scores_TC[:, column_S].T.numpy(), chain.optional)
        blanks = [0] * len(sentence.scores_TC)
        assert best[: len(sentence.scores_TC)] == [column_S[state] for state in path or blanks]
    assert any(any(best) for best in actual)


def test_the_best_alignment_leaves_the_gradient_and_the_compiler_alone() -> None:
    inputs = RandomLattice.of(8, 6, 3).inputs
    scores_NC = inputs.scores_NC.requires_grad_()
    compiled = torch.compile(
        lambda: best_alignments(inputs) + 0 * scores_NC.long().sum(), fullgraph=True, backend="eager"
    )
    assert torch.equal(compiled(), best_alignments(inputs))
    assert not best_alignments(inputs).requires_grad


def test_a_single_position_says_the_only_word_or_nothing() -> None:
    lattice = RandomLattice.of(8, 1, 1)
    nll_B = negative_log_likelihood(lattice.inputs, lattice.rows_N, lattice.positions_N)
    for sentence, nll, best in zip(lattice.sentences(), nll_B, best_alignments(lattice.inputs), strict=True):
        said = len(sentence.target)
        assert float(nll) == pytest.approx(-float(sentence.scores_TC[0, said]), abs=1e-6)
        assert best.tolist() == [said]


def test_targets_as_long_as_a_batch_allows_lose_nothing_in_single_precision() -> None:
    lattice = RandomLattice.of(6, 254, 127)
    # As unlikely as words of an untrained model: sums of -2,000, of which single precision keeps four decimals.
    unsure_NC = lattice.inputs.scores_NC - 8
    results = []
    for scores_NC in (unsure_NC, unsure_NC.double()):
        results.append(sum_reference(replace(lattice.inputs, scores_NC=scores_NC), lattice.rows_N, lattice.positions_N))
    (nll_B, gradient_NC), (exact_B, exact_NC) = results
    assert exact_B[exact_B.isfinite()].max() > 1500
    torch.testing.assert_close(nll_B.double(), exact_B, rtol=1e-6, atol=1e-3)
    torch.testing.assert_close(gradient_NC.double(), exact_NC, rtol=0.0, atol=2e-3)
