"""Decoding settings of a call: the system's own, over the model folder's, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from maskpredict.config import from_dict
from maskpredict.errors import UserError
from maskpredict.systems.base import System


def resolve_settings(system: System, generation: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """The system's settings object; `generation` is what the model folder says, `given` what the caller does."""
    known = [field.name for field in fields(system.settings_type)]
    for name in given:
        if name not in known:
            raise UserError(f"{name} is not a setting of {system.name} models; they have {', '.join(known)}.")
    try:
        from_dict(system.settings_type, generation)
    except UserError as error:
        raise UserError(f"generation.json of the model cannot be used: {error}") from error
    return from_dict(system.settings_type, {**generation, **given})
