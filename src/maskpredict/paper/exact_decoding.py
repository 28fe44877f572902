"""The paper's decoding has exactly the passes and length candidates that are asked for, and nothing else.

A model folder may recommend more: to leave out unlikely lengths, to end early, to predict words of a shortlist only.
Tables of the paper switch that off.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from maskpredict.model.folder import ModelFolder
from maskpredict.systems import find_decoder

RECOMMENDATIONS = (
    *("length_threshold", "length_weight", "prune_candidates"),
    *("threshold", "stop_when_stable", "strategy", "shortlist"),
)
"""Settings of a model folder that the paper's decoding does not have."""


def switched_off(folder: ModelFolder) -> dict[str, Any]:
    """Return the recommendations of a model folder, each with the value that switches it off."""
    defaults = {setting.name: setting.default for setting in fields(find_decoder(folder.system).settings_type)}
    return {
        name: defaults[name]
        for name in RECOMMENDATIONS
        if name in defaults and folder.generation.get(name, defaults[name]) != defaults[name]
    }
