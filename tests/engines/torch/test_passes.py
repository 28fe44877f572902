"""Decoder passes that leave finished drafts behind."""

from __future__ import annotations

from collections.abc import Callable

import torch

from maskpredict.decoding.engine import Query
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.systems.base import System


@torch.inference_mode()
def test_rows_that_leave_do_not_change_those_that_stay(make_system: Callable[..., System]) -> None:
    engine = TorchEngine(make_system("cmlm"))
    lengths = [16, 9, 12, 11]
    encoded = engine.encode([(5, 6, 7, 8, 2), (9, 10, 11, 12, 13, 14, 15, 2), (7, 19, 2)])
    passes = encoded.passes([0, 1, 1, 2], lengths)
    ids = passes.array(torch.randint(5, 20, (4, 16), generator=torch.Generator().manual_seed(4)).tolist(), 0)
    valid = torch.arange(16) < torch.tensor(lengths)[:, None]
    everywhere = passes.predict(ids, valid, Query((5, 6), given_BT=ids))
    assert everywhere.given_log_probs_BT is not None
    assert not torch.isin(everywhere.tokens_BT[valid], torch.tensor([5, 6])).any()
    for staying in ([0, 1, 2, 3], [1, 3], [2], [0, 2, 3]):
        wanted = torch.zeros_like(valid)
        wanted[staying, 1:7] = True
        some = passes.predict(ids, wanted, Query((5, 6), given_BT=ids))
        assert some.given_log_probs_BT is not None
        assert torch.equal(some.tokens_BT[wanted], everywhere.tokens_BT[wanted])
        assert torch.equal(some.log_probs_BT[wanted], everywhere.log_probs_BT[wanted])
        assert torch.equal(some.given_log_probs_BT[wanted], everywhere.given_log_probs_BT[wanted])


@torch.inference_mode()
def test_predictions_are_the_likeliest_of_all_log_probabilities(make_system: Callable[..., System]) -> None:
    engine = TorchEngine(make_system("cmlm"))
    passes = engine.encode([(5, 6, 7, 8, 2)]).passes([0], [7])
    ids = passes.array([[5, 6, 7, 8, 9, 10, 11]], 0)
    every = torch.arange(ids.shape[1]) < 7
    log_probs_TV = passes.log_probs(ids, Query((5, 6)))
    prediction = passes.predict(ids, every[None], Query((5, 6), given_BT=ids))
    assert prediction.given_log_probs_BT is not None
    torch.testing.assert_close(log_probs_TV.exp().sum(1), torch.ones(7))
    assert torch.equal(prediction.tokens_BT[0, :7], log_probs_TV.argmax(1))
    torch.testing.assert_close(prediction.log_probs_BT[0, :7], log_probs_TV.amax(1))
    given = log_probs_TV.gather(1, ids[0, :7, None])[:, 0]
    torch.testing.assert_close(prediction.given_log_probs_BT[0, :7], given)


@torch.inference_mode()
def test_the_end_mark_is_impossible_where_it_is_ruled_out(make_system: Callable[..., System]) -> None:
    engine = TorchEngine(make_system("cmlm"))
    passes = engine.encode([(5, 6, 7, 8, 2)]).passes([0], [8])
    ids = passes.array([[4] * 8], 0)
    masked = torch.ones(1, 8, dtype=torch.bool)
    everything_but_the_end = tuple(token for token in range(20) if token not in (2, 9))
    free = passes.predict(ids, masked, Query(everything_but_the_end))
    ruled_out = passes.predict(ids, masked, Query(everything_but_the_end, no_end_BT=torch.arange(8)[None] < 3))
    assert (ruled_out.tokens_BT[0, :3] == 9).all()
    assert torch.equal(ruled_out.tokens_BT[0, 3:], free.tokens_BT[0, 3:])
    torch.testing.assert_close(ruled_out.log_probs_BT[0, :3], torch.zeros(3))
