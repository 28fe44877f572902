"""The direction of a translation: a source and a target language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from maskpredict.errors import UserError


@dataclass(frozen=True)
class Languages:
    """The codes of the two languages, as used in file names."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} to {self.target}"

    @property
    def reversed(self) -> Languages:
        """The opposite direction."""
        return Languages(self.target, self.source)

    def check(self) -> None:
        """Refuse codes that cannot be part of file names, and a translation of a language into itself."""
        for code in (self.source, self.target):
            if not re.fullmatch(r"[\w-]+", code):
                raise UserError(f"The language code {code!r} is part of file names; use letters, digits, - and _.")
        if self.source == self.target:
            raise UserError(f"Both languages are {self.source!r}; name source and target differently.")
