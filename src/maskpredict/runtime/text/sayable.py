"""Characters that a model's vocabulary can say."""

from __future__ import annotations

import unicodedata

from maskpredict.tokenizer import Tokenizer

_ALWAYS = frozenset("…\u2011\u00ad")
"""Changed by SentencePiece's normalization, but harmlessly."""

_BYTE = "<0x"
"""Start of a subword that is a byte of an otherwise unknown character: such words are not copied reliably."""


class SayableCharacters:
    """Tells which characters a tokenizer can encode; remembers the answers."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, bool] = {}

    def __call__(self, character: str) -> bool:
        """Return True unless the character is unknown, or a symbol that comes back as another, such as ²."""
        known = self._known.get(character)
        if known is None:
            known = self._known[character] = self._look_up(character)
        return known

    def _look_up(self, character: str) -> bool:
        if character.isspace() or character in _ALWAYS:
            return True
        ids = self._tokenizer.encode(character)
        if unicodedata.category(character)[0] in "LMC":
            in_bytes = any(piece.startswith(_BYTE) for piece in self._tokenizer.pieces(ids))
            return self._tokenizer.special.unk not in ids and not in_bytes
        return self._tokenizer.decode(ids).strip() == character
