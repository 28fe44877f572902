"""Beam search by kernels against beam search by PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict.engines.cuda.beam_step_check import matches_reference
from maskpredict.engines.torch.beam_search import Search, beam_search

BOS, EOS = 1, 2


class PrefixModel:
    """Logits that depend on the whole prefix of each row, with the state that a decoder would keep."""

    def __init__(self, rows: int, vocabulary: int, impossible: int, device: torch.device) -> None:
        chance = torch.Generator().manual_seed(rows * vocabulary)
        self.table = torch.randn(97, vocabulary, generator=chance).to(device)
        self.table[:, :impossible] = -torch.inf
        self.table[:, EOS] = 0.5
        self.state_R = torch.arange(rows, device=device)

    def __call__(self, last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        state_R = self.state_R if origin_R is None else self.state_R[origin_R]
        self.state_R = (state_R * 31 + last_R * 7 + time) % 97
        return self.table[self.state_R]


@pytest.mark.parametrize(
    ("beams", "vocabulary", "impossible", "penalty"),
    [(1, 3, 0, 1.0), (1, 300, 2, 0.6), (2, 3, 0, 0.6), (2, 40, 35, 1.0), (5, 40, 0, 1.0), (5, 40, 35, 0.6)],
)
def test_the_same_hypotheses_are_found(
    kernel_device: torch.device, beams: int, vocabulary: int, impossible: int, penalty: float
) -> None:
    from maskpredict.engines.cuda.fused_search import FusedSearch

    limits = torch.tensor([7, 3, 1], device=kernel_device)
    options: dict[str, Any] = {"beams": beams, "limits_B": limits, "bos": BOS, "eos": EOS, "length_penalty": penalty}
    made = []
    for kind in (Search, FusedSearch):
        search = kind(PrefixModel(3 * beams, vocabulary, impossible, kernel_device), 3, 7, **options)
        made.append(beam_search(search))
    wanted, got = made
    torch.testing.assert_close(got.scores_BK, wanted.scores_BK)
    actual = wanted.scores_BK > -torch.inf
    assert torch.equal(got.tokens_BKT[actual], wanted.tokens_BKT[actual])
    torch.testing.assert_close(got.log_probs_BKT[actual], wanted.log_probs_BKT[actual])


@pytest.mark.parametrize("beams", [1, 3])
def test_the_kernels_pass_the_self_check(kernel_device: torch.device, beams: int) -> None:
    from maskpredict.engines.cuda.fused_search import FusedSearch

    assert matches_reference(FusedSearch, beams, kernel_device)


def test_a_sentence_in_progress_is_the_same_after_every_step(kernel_device: torch.device) -> None:
    from maskpredict.engines.cuda.fused_search import FusedSearch

    limits = torch.tensor([10, 2], device=kernel_device)
    options: dict[str, Any] = {"beams": 3, "limits_B": limits, "bos": BOS, "eos": EOS}
    searches = [kind(PrefixModel(6, 70, 3, kernel_device), 2, 10, **options) for kind in (Search, FusedSearch)]
    for time in range(10):
        for search in searches:
            search.step(time)
        plain, by_kernels = searches
        assert torch.equal(by_kernels.finished_B, plain.finished_B)
        torch.testing.assert_close(by_kernels.alive.scores_BK, plain.alive.scores_BK)
        possible = plain.alive.scores_BK > -torch.inf
        assert torch.equal(by_kernels.alive.tokens_BKT[possible], plain.alive.tokens_BKT[possible])
        assert torch.equal(by_kernels.last_R[possible.flatten()], plain.last_R[possible.flatten()])
        assert by_kernels.origin_R is not None
        assert plain.origin_R is not None
        assert torch.equal(by_kernels.origin_R[possible.flatten()], plain.origin_R[possible.flatten()])
