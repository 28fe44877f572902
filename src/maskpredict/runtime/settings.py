"""Decoding settings of a call: the caller's, over a preset's, over the model folder's, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from maskpredict.config import from_dict
from maskpredict.errors import UserError
from maskpredict.runtime.presets import preset_settings
from maskpredict.systems.base import System


def resolve_settings(system: System, generation: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The system's settings object; `generation` is what the model folder says, `given` what the caller does.

    `speed` among what is given names a preset; the rest goes before it.
    """
    given = dict(given)
    speed = given.pop("speed", None)
    known = [field.name for field in fields(system.settings_type)]
    for name in given:
        if name not in known:
            raise UserError(f"{name} is not a setting of {system.name} models; they have {', '.join(known)}.")
    preset = {} if speed is None else preset_settings(speed, system.settings_type)
    try:
        return from_dict(system.settings_type, {**generation, **preset, **given})
    except UserError:
        _check_generation(system, generation)
        raise


def _check_generation(system: System, generation: Mapping[str, Any]) -> None:
    try:
        from_dict(system.settings_type, generation)
    except UserError as error:
        raise UserError(f"generation.json of the model cannot be used: {error}") from error
