"""Glossaries that clients have sent, kept as files under unguessable names; several processes may share the folder."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from maskpredict.errors import UserError
from maskpredict.new_file import new_file
from maskpredict.runtime.glossary.glossary import Glossary, Term
from maskpredict.serve.http.errors import ApiError

MAX_GLOSSARIES = 1_000
MAX_TERMS = 10_000
"""Terms of one glossary, in all its directions."""
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class StoredDirection:
    """The terms of a glossary for one direction."""

    source: str
    target: str
    terms: tuple[Term, ...]

    @property
    def glossary(self) -> Glossary:
        """The terms to translate with; a `UserError` if some are empty or contradict each other."""
        return _glossary(self)


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary with terms for one or more directions."""

    id: str
    name: str
    created: str
    directions: tuple[StoredDirection, ...]

    def direction(self, source: str, target: str) -> Glossary:
        """Return the glossary of a direction, or raise a `UserError` if it has none."""
        for direction in self.directions:
            if (direction.source, direction.target) == (source, target):
                return direction.glossary
        raise UserError(f"the glossary {self.id} has no terms from {source} to {target}.")


class GlossaryStore:
    """A folder of glossaries, each visible to the API key that it was sent with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def add(self, key: str, name: str, directions: Sequence[StoredDirection]) -> StoredGlossary:
        """Keep a new glossary."""
        if sum(1 for _ in self.folder.iterdir()) >= MAX_GLOSSARIES:
            raise ApiError(503, "The server keeps too many glossaries; delete some.", 60)
        hexadecimal = secrets.token_hex(16)
        parts = (hexadecimal[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        created = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        glossary = StoredGlossary("-".join(parts), name, created, tuple(directions))
        self.write(key, glossary)
        return glossary

    def write(self, key: str, glossary: StoredGlossary) -> None:
        """Keep a glossary in place of the one with the same id."""
        if sum(len(direction.terms) for direction in glossary.directions) > MAX_TERMS:
            raise ApiError(413, f"A glossary has at most {MAX_TERMS} terms.")
        for direction in glossary.directions:
            _ = direction.glossary  # refuses empty and conflicting terms
        record = {"owner": _owner(key), **asdict(glossary)}
        try:
            with new_file(self.folder / f"{glossary.id}.json") as file:
                file.write(json.dumps(record).encode())
        except (OSError, UserError) as error:
            raise ApiError(503, "The server has no room for glossaries.", 60) from error

    def find(self, key: str, glossary_id: str) -> StoredGlossary:
        """Return a glossary by its id."""
        path = self.folder / f"{glossary_id}.json"
        glossary = _read(path, _owner(key)) if _ID.fullmatch(glossary_id) else None
        if glossary is None:
            raise ApiError(404, "There is no glossary with this id.")
        return glossary

    def all(self, key: str) -> list[StoredGlossary]:
        """Return the glossaries of a key, the oldest first."""
        glossaries = [_read(path, _owner(key)) for path in self.folder.glob("*.json")]
        return sorted((one for one in glossaries if one is not None), key=lambda one: (one.created, one.id))

    def delete(self, key: str, glossary_id: str) -> None:
        """Forget a glossary."""
        self.find(key, glossary_id)
        (self.folder / f"{glossary_id}.json").unlink(missing_ok=True)


def _owner(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _read(path: Path, owner: str) -> StoredGlossary | None:
    """Return a stored glossary; None if there is none, or another key's."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if record["owner"] != owner:
        return None
    directions = tuple(
        StoredDirection(one["source"], one["target"], tuple(Term(**term) for term in one["terms"]))
        for one in record["directions"]
    )
    return StoredGlossary(record["id"], record["name"], record["created"], directions)


@lru_cache(maxsize=64)
def _glossary(direction: StoredDirection) -> Glossary:
    return Glossary(direction.terms, direction.source, direction.target)
