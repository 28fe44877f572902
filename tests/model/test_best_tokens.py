"""The likeliest tokens against a plain sort."""

from __future__ import annotations

import pytest
import torch

from maskpredict.model.best_tokens import best_tokens


@pytest.mark.parametrize("vocabulary", [3, 20, 128, 129, 1_000])
@pytest.mark.parametrize("count", [1, 2, 10])
def test_the_best_tokens_are_those_of_a_sort(vocabulary: int, count: int) -> None:
    logits = torch.randn(7, vocabulary, generator=torch.Generator().manual_seed(vocabulary)) * 5
    logits[:, 0] = float("-inf")
    count = min(count, vocabulary - 1)
    best = best_tokens(logits, count)
    expected = logits.sort(dim=1, descending=True)
    assert torch.equal(best.tokens_RC, expected.indices[:, :count])
    torch.testing.assert_close(best.log_probs_RC, logits.log_softmax(1).gather(1, best.tokens_RC))
    torch.testing.assert_close(best.norm_R, logits.logsumexp(1))


def test_tokens_exist_even_when_all_that_is_left_is_impossible() -> None:
    logits = torch.full((2, 5), float("-inf"))
    logits[:, 3] = 0.0
    best = best_tokens(logits, 5)
    assert (best.tokens_RC[:, 0] == 3).all()
    assert int(best.tokens_RC.max()) < 5


def test_a_row_does_not_depend_on_the_batch() -> None:
    logits = torch.randn(70, 300)
    together, alone = best_tokens(logits, 4), best_tokens(logits[13:14], 4)
    assert torch.equal(together.log_probs_RC[13:14], alone.log_probs_RC)
    assert torch.equal(together.tokens_RC[13:14], alone.tokens_RC)
