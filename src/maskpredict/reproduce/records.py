"""WORK/STAGE.json: record of the values that a stage depends on, so that a later call detects changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError
from maskpredict.json_file import json_text, read_json
from maskpredict.new_file import new_file


@dataclass(frozen=True)
class Record:
    """State of a stage; field names are JSON keys."""

    fingerprint: str
    """SHA-256 of its values and of the stages before it."""
    values: dict[str, Any]
    """Values that its result depends on."""
    finished: bool = False
    seconds: float = 0.0
    """Time spent on it so far, over all calls."""
    machine: str = ""
    """Device that worked on it last."""

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """Read the record of a stage; None if it was never started."""
        try:
            return cls(**read_json(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{path} is damaged; copy it again, or delete it if its stage is not finished.") from error

    def write(self, path: Path) -> None:
        """Save the record; a killed process leaves the one before."""
        with new_file(path) as file:
            file.write(json_text(asdict(self)).encode())

    def can_continue(self, values: Mapping[str, Any], before: str, growing: Sequence[str]) -> bool:
        """True if some of the `growing` values have grown since then and nothing else has changed."""
        if fingerprint(self.values, before) != self.fingerprint:
            return False  # a stage before it has changed
        grown = {name: values[name] for name in growing if _is_more(values[name], self.values[name])}
        return _difference("", {**self.values, **grown}, json.loads(json.dumps(values))) is None

    def difference(self, values: Mapping[str, Any]) -> str:
        """Sentence on the first changed value."""
        difference = _difference("", self.values, json.loads(json.dumps(values)))
        return difference or "a stage before it has changed"


def fingerprint(values: Mapping[str, Any], before: str) -> str:
    """SHA-256 of a stage's values and of the fingerprint of the stage before it."""
    text = json.dumps([values, before], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def set_aside(paths: list[Path]) -> str:
    """Rename earlier results with a common number; returns the new name of the first."""
    number = 1
    while any(_old(path, number).exists() for path in paths):
        number += 1
    for path in paths:
        if path.exists():
            path.rename(_old(path, number))
    return _old(paths[0], number).name


def _old(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.old-{number}")


def _is_more(now: float | None, before: float | None) -> bool:
    """True if the limit has grown; None is no limit."""
    return before is not None and (now is None or now > before)


def _difference(key: str, before: Any, now: Any) -> str | None:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in {**before, **now}:
            inner = f"{key}.{name}" if key else name
            if difference := _difference(inner, before.get(name), now.get(name)):
                return difference
        return None
    return None if before == now else f"{key} was {json.dumps(before)} and is {json.dumps(now)} now"
