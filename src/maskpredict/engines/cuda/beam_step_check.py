"""Whether another way to make the steps of a beam search finds what the plain one finds."""

from __future__ import annotations

import torch
from torch import Tensor

from maskpredict.engines.torch.beam_search import Beams, Search

STEPS, SENTENCES, VOCABULARY = 8, 3, 200
BOS, EOS = 1, 2


def finds_the_same(kind: type[Search], beams: int, device: torch.device) -> bool:
    """Compare a kind of search with the plain one on a made-up model."""
    chance = torch.Generator().manual_seed(1)
    table = (3 * torch.randn(97, VOCABULARY, generator=chance)).to(device)
    table[:, 0] = -torch.inf
    table[:, EOS] = table[:, 3:].amax(1) - 1  # an end is never far
    wanted, got = _found(Search, beams, table), _found(kind, beams, table)
    finished = wanted.scores_BK > -torch.inf
    return (
        torch.allclose(got.scores_BK, wanted.scores_BK, atol=1e-4)
        and torch.equal(got.tokens_BKT[finished], wanted.tokens_BKT[finished])
        and torch.allclose(got.log_probs_BKT[finished], wanted.log_probs_BKT[finished], atol=1e-4)
    )


def _found(kind: type[Search], beams: int, table: Tensor) -> Beams:
    def advance(last_R: Tensor, origin_R: Tensor | None, time: int) -> Tensor:
        return table[(last_R * 7 + time) % len(table)]

    limits_B = torch.tensor([STEPS, STEPS, 3], device=table.device)
    search = kind(advance, SENTENCES, STEPS, beams=beams, limits_B=limits_B, bos=BOS, eos=EOS)
    for time in range(STEPS):
        search.step(time)
    return search.done
