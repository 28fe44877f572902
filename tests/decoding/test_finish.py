"""Which drafts are decoded together."""

from __future__ import annotations

import pytest
import torch

from maskpredict.decoding.finish import Finisher
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.config import ModelConfig
from maskpredict.systems import CMLM, Vocabulary
from maskpredict.tokenizer import SpecialIds

LENGTHS = [3, 20, 9, 7, 17, 30, 12, 25]
MASK = 4


@pytest.mark.parametrize(("at_least", "groups"), [(0, 4), (40, 3), (80, 2), (10_000, 1)])
@torch.inference_mode()
def test_a_group_takes_narrower_drafts_until_it_is_large_enough(at_least: int, groups: int) -> None:
    torch.manual_seed(1)
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=40)
    system = CMLM(config, Vocabulary(20, 20, SpecialIds())).eval()
    for parameter in system.parameters():
        torch.nn.init.normal_(parameter, std=0.35)
    calls: list[int] = []
    system.transformer.decoder[0].register_forward_hook(lambda *_: calls.append(1))
    encoded = system.encode([Request((5, 6, 7, 2)), Request((8, 9, 2))])
    drafts, owner = [[MASK] * length for length in LENGTHS], [0, 1] * 4
    settings = MaskPredictSettings(iterations=3)

    found = Finisher(system.transformer, encoded, system.special, settings, at_least).finish(drafts, owner)
    assert len(calls) == 3 * groups
    expected = Finisher(system.transformer, encoded, system.special, settings).finish(drafts, owner)
    assert [row.ids for row in found] == [row.ids for row in expected]
    assert [row.score for row in found] == pytest.approx([row.score for row in expected], abs=1e-5)
