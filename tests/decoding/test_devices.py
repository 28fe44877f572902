"""Decoding makes its arrays on the device of the draft: any other would be on `meta`, which has no values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from maskpredict.decoding.completion import DraftCompleter
from maskpredict.decoding.engine import Prediction, Query
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.special_ids import SpecialIds

CPU = torch.device("cpu")
SPECIAL = SpecialIds()
DRAFTS = [[SPECIAL.mask] * 5, [SPECIAL.mask] * 4, [SPECIAL.mask, 7, SPECIAL.mask, SPECIAL.mask]]


class InventedPasses:
    """Says something else in each pass, less surely the further right."""

    def __init__(self) -> None:
        self.passes = 0

    def array(self, rows: Sequence[Sequence[int]], fill: int) -> Tensor:
        width = max(map(len, rows)) + 1
        return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=CPU)

    def predict(self, tokens_BT: Tensor, masked_BT: Tensor, query: Query) -> Prediction:
        assert masked_BT.device == CPU
        self.passes += 1
        log_probs_BT = -0.1 * torch.arange(1, tokens_BT.shape[1] + 1, device=CPU).expand(tokens_BT.shape)
        return Prediction(torch.full_like(tokens_BT, 4 + self.passes), log_probs_BT / self.passes)

    def log_probs(self, tokens_BT: Tensor, query: Query) -> Tensor:
        raise AssertionError("no phrase has to find its place here")


class InventedSources:
    """Sources of which nothing but `InventedPasses` is known."""

    length_log_probs_BL: npt.NDArray[np.float32] = np.zeros((2, 8), dtype=np.float32)

    @property
    def positions(self) -> list[int]:
        return []

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        return [list(range(len(lengths)))]

    def passes(self, owner: Sequence[int], lengths: Sequence[int]) -> InventedPasses:
        return InventedPasses()


@pytest.mark.parametrize(
    "settings",
    [
        {"strategy": "mask_predict", "threshold": 0.8, "trace": True},
        {"strategy": "mask_predict", "stop_when_stable": True},
        {"strategy": "easy_first", "prune_candidates": 1},
        {"strategy": "left_to_right", "iterations": "N"},
        {"strategy": "one_shot"},
        {"strategy": "refine"},
    ],
    ids=str,
)
def test_drafts_are_completed_on_their_device(settings: dict[str, Any]) -> None:
    completer = DraftCompleter(InventedSources(), SPECIAL, MaskPredictSettings(**settings))
    expected = completer.complete(DRAFTS, [0, 0, 1])
    with torch.device("meta"):
        assert completer.complete(DRAFTS, [0, 0, 1]) == expected
    assert [len(row.ids) for row in expected] == [5, 4, 4]
