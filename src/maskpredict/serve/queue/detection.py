"""Language detection among the served languages, by the library py3langid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from py3langid.langid import MODEL_FILE, LanguageIdentifier

MAX_CHARACTERS = 2_000
"""The detector reads only this many characters of a text."""
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Detection:
    """A language, and how likely a text is in it."""

    language: str
    confidence: int
    """From 0 to 100."""


class LanguageDetector:
    """Ranks the served languages by how likely a text is in each."""

    def __init__(self, codes: Sequence[str]) -> None:
        """`codes` are those of the served languages; those that py3langid does not know are never found."""
        self._codes = codes
        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(self, text: str) -> list[Detection]:
        """Return all languages with their confidences, the likeliest first; all are 0 for a text without words."""
        beginning = text[:MAX_CHARACTERS].replace("’", "'")
        likely = dict(self._identifier.rank(beginning)) if _LETTER.search(beginning) else {}
        shares = {code: likely.pop(code.partition("-")[0], 0.0) for code in self._codes}
        # A text in none of the languages is most likely in one of the others.
        total = sum(shares.values()) + max(likely.values(), default=1.0)
        ordered = sorted(self._codes, key=lambda code: -shares[code])
        return [Detection(code, round(100 * shares[code] / total)) for code in ordered]
