"""Which drafts are decoded together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.completion import DraftCompleter
from maskpredict.decoding.engine import BatchPolicy
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.torch import engine as torch_engine
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.systems.base import System

LENGTHS = [3, 20, 9, 7, 17, 30, 12, 25]
MASK = 4


@pytest.mark.parametrize(("at_least", "groups"), [(0, 4), (40, 3), (80, 2), (10_000, 1)])
def test_a_group_takes_narrower_drafts_until_it_is_large_enough(
    make_system: Callable[..., System], monkeypatch: pytest.MonkeyPatch, at_least: int, groups: int
) -> None:
    engine = TorchEngine(make_system("cmlm", max_positions=40))
    calls: list[int] = []
    engine.transformer.decoder[0].register_forward_hook(lambda *_: calls.append(1))

    def finished(policy: BatchPolicy) -> list[CompletedDraft]:
        calls.clear()
        engine.batch_policy = policy
        encoded = engine.encode([(5, 6, 7, 2), (8, 9, 2)])
        completer = DraftCompleter(encoded, engine.special, MaskPredictSettings(iterations=3))
        return completer.complete([[MASK] * length for length in LENGTHS], [0, 1] * 4)

    expected = finished(BatchPolicy.SAME_WIDTH)
    assert len(calls) == 3 * 4
    monkeypatch.setattr(torch_engine, "GPU_GROUP_POSITIONS", at_least)
    actual = finished(BatchPolicy.SIMILAR_WIDTH)
    assert len(calls) == 3 * groups
    assert [row.ids for row in actual] == [row.ids for row in expected]
    assert [row.score for row in actual] == pytest.approx([row.score for row in expected], abs=1e-5)
