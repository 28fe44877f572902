"""Message catalogues of gettext (.po, .pot): messages without a translation get one."""

from __future__ import annotations

from collections.abc import Sequence

import polib

from maskpredict.documents.block import Block, Text
from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.errors import UserError


class Catalogue:
    """A message catalogue."""

    def __init__(self, text: str) -> None:
        self._source = text
        self.blocks: Sequence[Block] = [
            [Text(message)] for entry in _open(self._read()) for message in _messages(entry)
        ]
        """As in `Document`: singular and plural are blocks of their own."""

    def render(self, blocks: Sequence[Block]) -> str:
        """As in `Document`."""
        catalogue = self._read()
        remaining = iter(blocks)
        for entry in _open(catalogue):
            translations = ["".join(item.text for item in next(remaining)) for _ in _messages(entry)]
            if entry.msgid_plural:
                forms = sorted(entry.msgstr_plural) or [0, 1]
                entry.msgstr_plural = {form: translations[min(form, 1)] for form in forms}
            else:
                entry.msgstr = translations[0]
        # For a file that does not begin with a comment, polib writes an empty one.
        return str(catalogue) if catalogue.header else str(catalogue).removeprefix("#\n")

    def _read(self) -> polib.POFile:
        try:
            # polib takes the name of a file for that file; no name begins with a line break.
            return polib.pofile(f"\n{self._source}", wrapwidth=0)
        except (OSError, ValueError, IndexError, AttributeError) as error:
            raise UserError(f"the message catalogue is damaged ({error}); check it with msgfmt.") from error


def read(content: bytes) -> Document[bytes]:
    """Read a .po or .pot file in UTF-8."""
    return read_encoded(content, Catalogue)


def _open(catalogue: polib.POFile) -> list[polib.POEntry]:
    """Return the messages without a translation."""
    return [entry for entry in catalogue if not entry.obsolete and not entry.translated()]


def _messages(entry: polib.POEntry) -> list[str]:
    return [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
