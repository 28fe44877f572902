"""Decoding settings of a call: the caller's, over a preset's, over the model folder's, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from maskpredict.config import from_dict
from maskpredict.errors import UserError
from maskpredict.runtime.presets import preset_settings
from maskpredict.systems import find_decoder


def resolve_settings(system: str, generation: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """Return the decoding settings of a system, by its name; `generation` are the model folder's.

    `speed` among the given settings names a preset, which the other given ones override.
    """
    settings_type = find_decoder(system).settings_type
    given = dict(given)
    speed = given.pop("speed", None)
    known = [field.name for field in fields(settings_type)]
    for name in given:
        if name not in known:
            raise UserError(f"{name} is not a setting of {system} models; they have {', '.join(known)}.")
    preset = {} if speed is None else preset_settings(speed, settings_type)
    try:
        return from_dict(settings_type, {**generation, **preset, **given})
    except UserError:
        _check_generation(settings_type, generation)
        raise


def _check_generation(settings_type: type, generation: Mapping[str, Any]) -> None:
    try:
        from_dict(settings_type, generation)
    except UserError as error:
        raise UserError(f"generation.json of the model cannot be used: {error}") from error
