"""CTC's dynamic programme, against all alignments one by one and against PyTorch's own."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.model.layout import Packed, Padded
from maskpredict.systems.ctc_lattice import LatticeInputs, negative_log_likelihood

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
