"""Glossary files: tab- or comma-separated values, and TBX-Basic."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.parsers import expat

from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.runtime.glossary.glossary import Glossary, Term

SOFT = "soft"
"""Note of terms that the model may inflect."""
MAX_BYTES, MAX_TERMS = 10_000_000, 100_000


def read_glossary(path: Path, languages: Languages) -> Glossary:
    """Read a glossary of a file's kind: .csv, .tbx or .xml, or else tab-separated."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"the glossary {path} cannot be read: {error.strerror}.") from error
    kind = {".csv": "csv", ".tbx": "tbx", ".xml": "tbx"}.get(path.suffix.lower(), "tsv")
    try:
        return parse_glossary(content, kind, languages)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def parse_glossary(content: bytes, kind: str, languages: Languages) -> Glossary:
    """Read a glossary from the content of a tsv, csv or tbx file."""
    if len(content) > MAX_BYTES:
        raise UserError(f"a glossary of {len(content)} bytes is too large; use at most {MAX_BYTES}.")
    terms = _tbx_terms(content, languages) if kind == "tbx" else _table_terms(content, kind)
    if not terms:
        raise UserError(f"the glossary has no terms from {languages.source} to {languages.target}; add some.")
    if len(terms) > MAX_TERMS:
        raise UserError(f"a glossary of {len(terms)} terms is too large; use at most {MAX_TERMS}.")
    return Glossary(terms, languages.source, languages.target)


def _table_terms(content: bytes, kind: str) -> list[Term]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("the glossary is not UTF-8; convert it with iconv.") from None
    terms = []
    if kind == "csv":
        try:
            rows = list(csv.reader(io.StringIO(text, newline="")))
        except csv.Error as error:
            raise UserError(f"the glossary is not CSV ({error}); check its quotes.") from None
    else:
        rows = [line.rstrip("\r").split("\t") for line in text.split("\n")]
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) < 2 or not cells[0] or not cells[1]:
            raise UserError(f"line {number} of the glossary has no source and target; write both, and a tab between.")
        terms.append(Term(cells[0], cells[1], soft=SOFT in cells[2:]))
    return terms


class _TbxReader:
    """Collects the terms of a TBX document by concept and language. Entities are refused, so none can expand."""

    def __init__(self) -> None:
        self.concepts: list[dict[str, str]] = []
        self._language = ""
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity

    def read(self, content: bytes) -> list[dict[str, str]]:
        try:
            self._parser.Parse(content, True)
        except (expat.ExpatError, ValueError, LookupError, TypeError) as error:  # the others: strange encodings
            raise UserError(f"the glossary is not well-formed XML: {error}.") from None
        return self.concepts

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("termEntry", "conceptEntry"):
            self.concepts.append({})
        elif name in ("langSet", "langSec"):
            self._language = attributes.get("xml:lang", "").lower().partition("-")[0]
        elif name == "term":
            self._text = []

    def _end(self, name: str) -> None:
        if name == "term" and self._text is not None and self.concepts:
            self.concepts[-1].setdefault(self._language, "".join(self._text).strip())
            self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse_entity(self, *_: object) -> None:
        raise UserError("the glossary declares XML entities, which are not read; write the terms out.")


def _tbx_terms(content: bytes, languages: Languages) -> list[Term]:
    concepts = _TbxReader().read(content)
    pairs = [(concept.get(languages.source, ""), concept.get(languages.target, "")) for concept in concepts]
    return [Term(source, target) for source, target in pairs if source and target]
