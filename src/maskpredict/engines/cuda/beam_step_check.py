"""Self-check of fused beam search: it must find what the PyTorch search finds."""

from __future__ import annotations

import torch
from torch import Tensor

from maskpredict.engines.torch.beam_search import Beams, Search

STEPS, SENTENCES, VOCABULARY = 8, 3, 200
BOS, EOS = 1, 2


def matches_reference(kind: type[Search], beams: int, device: torch.device) -> bool:
    """Return True if a search class finds the hypotheses of `Search` on a synthetic model."""
    generator = torch.Generator().manual_seed(1)
    table = (3 * torch.randn(97, VOCABULARY, generator=generator)).to(device)
    table[:, 0] = -torch.inf
    table[:, EOS] = table[:, 3:].amax(1) - 1  # so that hypotheses end early
    expected, actual = _search(Search, beams, table), _search(kind, beams, table)
    finished = expected.scores_BK > -torch.inf
    return (
        torch.allclose(actual.scores_BK, expected.scores_BK, atol=1e-4)
        and torch.equal(actual.tokens_BKT[finished], expected.tokens_BKT[finished])
        and torch.allclose(actual.log_probs_BKT[finished], expected.log_probs_BKT[finished], atol=1e-4)
    )


def _search(kind: type[Search], beams: int, table: Tensor) -> Beams:
    def advance(last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        return table[(last_R * 7 + time) % len(table)]

    limits_B = torch.tensor([STEPS, STEPS, 3], device=table.device)
    search = kind(advance, SENTENCES, STEPS, beams=beams, limits_B=limits_B, bos=BOS, eos=EOS)
    for time in range(STEPS):
        search.step(time)
    return search.done
