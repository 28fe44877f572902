"""Presets of decoding settings, by speed.

Those of CMLMs were chosen on validation data of the shipped model de-en; docs/decoding.md has the figures.
"""

from __future__ import annotations

from typing import Any

from maskpredict.decoding.settings import AlignmentSettings, MaskPredictSettings
from maskpredict.errors import UserError

_NO_SHORTCUTS: dict[str, Any] = {
    "strategy": "mask_predict",
    "stop_when_stable": False,
    "threshold": None,
    "length_threshold": None,
    "prune_candidates": None,
    "shortlist": False,
}
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {**_NO_SHORTCUTS, "iterations": 2, "length_candidates": 1, "shortlist": True},
    "balanced": {**_NO_SHORTCUTS, "iterations": 4, "length_candidates": 1, "threshold": 0.8, "shortlist": True},
    "best": {**_NO_SHORTCUTS, "iterations": 10, "length_candidates": 5, "length_threshold": 0.1},
}
"""Decoding settings of CMLMs by name, each with every setting that changes speed."""
_ONE_DRAFT: dict[str, Any] = {
    "strategy": "words_and_blanks",
    "stop_when_stable": False,
    "threshold": None,
    "shortlist": True,
}
ALIGNMENT_PRESETS: dict[str, dict[str, Any]] = {
    "fast": {**_ONE_DRAFT, "iterations": 1},
    "balanced": {**_ONE_DRAFT, "iterations": 2},
    "best": {**_ONE_DRAFT, "iterations": 4, "shortlist": False},
}
"""The same for alignment models, which try no lengths."""


def preset_settings(name: str, settings_type: type = MaskPredictSettings) -> dict[str, Any]:
    """Return the settings of a preset, for a system with settings of this type."""
    if name not in PRESETS:
        raise UserError(f"speed is {name!r}; choose one of {', '.join(PRESETS)}.")
    presets = {MaskPredictSettings: PRESETS, AlignmentSettings: ALIGNMENT_PRESETS}.get(settings_type)
    if presets is None:
        raise UserError("speed is for mask-predict; for another kind of model choose iterations or beam_size.")
    return dict(presets[name])
