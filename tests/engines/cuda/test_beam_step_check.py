"""The self-check of the kernels for beam search."""

from __future__ import annotations

import pytest
import torch

from maskpredict.engines.cuda.beam_step_check import matches_reference
from maskpredict.engines.torch.beam_search import Search


class WrongTokenSearch(Search):
    """Stores another second token than it chose."""

    def step(self, time: int) -> None:
        super().step(time)
        if time == 1:
            self.alive.tokens_BKT[:, :, 1] = 0


@pytest.mark.parametrize("beams", [1, 2, 5])
def test_a_search_with_other_results_fails_the_check(beams: int) -> None:
    assert matches_reference(Search, beams, torch.device("cpu"))
    assert not matches_reference(WrongTokenSearch, beams, torch.device("cpu"))
