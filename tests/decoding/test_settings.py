"""Bounds of decoding settings."""

from __future__ import annotations

from typing import Any

import pytest

from maskpredict.decoding.settings import BeamSettings, MaskPredictSettings
from maskpredict.errors import UserError


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": 1},
        {"iterations": "N"},
        {"length_candidates": 1},
        {"threshold": 1.0},
        {"threshold": 1e-6},
        {"length_threshold": 1.0},
        {"length_threshold": 1e-6},
        {"length_weight": 0.0},
        {"num_hypotheses": 3, "prune_candidates": 3},
        {"strategy": "refine", "stop_when_stable": True},
    ],
    ids=str,
)
def test_values_at_their_bounds_are_taken(settings: dict[str, Any]) -> None:
    taken = MaskPredictSettings(**settings)
    assert {name: getattr(taken, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"threshold": 0.0}, "threshold is 0.0; it is a probability above 0 and at most 1"),
        ({"length_threshold": 0.0}, "length_threshold is 0.0; it is a share above 0 and at most 1"),
        ({"length_threshold": 1.01}, "length_threshold is 1.01; it is a share above 0 and at most 1"),
        ({"length_weight": -0.01}, "length_weight is -0.01; use 0 or more"),
        ({"length_weight": float("inf")}, "length_weight is inf; use 0 or more"),
    ],
    ids=str,
)
def test_values_beyond_their_bounds_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        MaskPredictSettings(**settings)


def test_as_many_hypotheses_as_beams_can_be_asked_for() -> None:
    assert BeamSettings(beam_size=3, num_hypotheses=3).choices == 3
    with pytest.raises(UserError, match=r"it must be between 1 and beam_size \(3\)"):
        BeamSettings(beam_size=3, num_hypotheses=4)
