"""WORK/STAGE.json: what a stage was made from, so that a later call knows whether it still holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError


@dataclass(frozen=True)
class Record:
    """Where a stage stands."""

    fingerprint: str
    """Of its values and of the stages before it."""
    values: dict[str, Any]
    """The values that its result depends on."""
    finished: bool = False
    seconds: float = 0.0
    """Time spent on it so far, over all pieces."""

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record of a stage; None if it was never begun."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{path} is damaged; copy it again, or delete it if its stage is not finished.") from error

    def write(self, path: Path) -> None:
        """Save the record, whole or not at all."""
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(path)

    def can_continue(self, values: Mapping[str, Any], before: str, growing: Sequence[str]) -> bool:
        """Whether the only change since then is that some of the `growing` values have grown."""
        if fingerprint(self.values, before) != self.fingerprint:
            return False  # a stage before it has changed
        grown = {name: values[name] for name in growing if _is_more(values[name], self.values[name])}
        return _difference("", {**self.values, **grown}, json.loads(json.dumps(values))) is None

    def difference(self, values: Mapping[str, Any]) -> str:
        """Which value is another now, in words."""
        found = _difference("", self.values, json.loads(json.dumps(values)))
        return found or "a stage before it has changed"


def fingerprint(values: Mapping[str, Any], before: str) -> str:
    """SHA-256 of a stage's values and of the fingerprint of the stage before it."""
    text = json.dumps([values, before], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def set_aside(paths: list[Path]) -> str:
    """Rename earlier results, all with one number; returns how the first is called now."""
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
    """None is no limit at all."""
    return before is not None and (now is None or now > before)


def _difference(key: str, before: Any, now: Any) -> str | None:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in {**before, **now}:
            inner = f"{key}.{name}" if key else name
            if found := _difference(inner, before.get(name), now.get(name)):
                return found
        return None
    return None if before == now else f"{key} was {json.dumps(before)} and is {json.dumps(now)} now"
