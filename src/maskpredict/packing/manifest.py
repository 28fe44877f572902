"""Manifest of a packed folder: its parts and its files, with checksums."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from maskpredict.errors import UserError

FORMAT_VERSION = 1
SUFFIX = ".manifest.json"
BLOCK = 1 << 20
"""Bytes per read or write."""

Encoding = Literal["stored", "xz"]


@dataclass(frozen=True)
class PartFile:
    """One part of a packed folder."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Member:
    """One file of the packed folder."""

    path: str
    """Relative to the folder, with forward slashes."""
    size: int
    """Size of the unpacked file."""
    sha256: str
    """SHA-256 of the unpacked file."""
    encoding: Encoding
    packed_size: int
    """Bytes in the parts."""

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.path).parts
        if not parts or parts[0] == "/" or ".." in parts or "\\" in self.path:
            raise UserError(f"the manifest names a file {self.path!r} outside its folder; do not trust these parts.")


@dataclass(frozen=True)
class Manifest:
    """Contents of a packed folder, enough to restore it."""

    name: str
    parts: tuple[PartFile, ...]
    members: tuple[Member, ...]

    @property
    def packed_size(self) -> int:
        """Total size of all parts in bytes."""
        return sum(part.size for part in self.parts)

    def write(self, folder: Path) -> None:
        """Write the manifest to the folder of its parts."""
        content = {"format_version": FORMAT_VERSION, **asdict(self)}
        (folder / f"{self.name}{SUFFIX}").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest; raises `UserError` if it cannot be used."""
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = content["format_version"]
            if isinstance(version, int) and version > FORMAT_VERSION:
                raise UserError(
                    f"{path} has pack format {version}, newer than the {FORMAT_VERSION} this version reads; "
                    "upgrade maskpredict."
                )
            return cls(
                content["name"],
                tuple(PartFile(**part) for part in content["parts"]),
                tuple(Member(**member) for member in content["members"]),
            )
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged; transfer it again.") from error
