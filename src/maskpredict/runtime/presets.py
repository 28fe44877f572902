"""How quick or how careful, in one word.

The values were chosen on validation data of the shipped model de-en; docs/decoding.md has the figures.
"""

from __future__ import annotations

from typing import Any

from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError

_NOTHING_SPARED: dict[str, Any] = {
    "strategy": "mask_predict",
    "stop_when_stable": False,
    "threshold": None,
    "length_threshold": None,
    "prune_candidates": None,
}
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {**_NOTHING_SPARED, "iterations": 2, "length_candidates": 1},
    "balanced": {**_NOTHING_SPARED, "iterations": 4, "length_candidates": 1, "threshold": 0.8},
    "best": {**_NOTHING_SPARED, "iterations": 10, "length_candidates": 5, "length_threshold": 0.1},
}
"""Decoding settings by name, each with every setting that changes speed."""


def preset_settings(name: str, settings_type: type = MaskPredictSettings) -> dict[str, Any]:
    """The settings of a preset, for a system with settings of this type."""
    if name not in PRESETS:
        raise UserError(f"speed is {name!r}; choose one of {', '.join(PRESETS)}.")
    if settings_type is not MaskPredictSettings:
        raise UserError("speed is for mask-predict; for another kind of model choose iterations or beam_size.")
    return dict(PRESETS[name])
