"""Documents that are zip archives of XML files, such as those of office programs; damaged and hostile ones are refused."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

from maskpredict.documents.block import Block
from maskpredict.errors import UserError

MAX_ENTRIES, MAX_BYTES, MAX_RATIO = 10_000, 256_000_000, 200
"""Files in an archive, their size together, and that size in relation to the archive's."""

Element = etree._Element
"""An element of lxml, which does not export its type."""


class Paragraph(Protocol):
    """A part of an XML file whose text is a block."""

    @property
    def block(self) -> Block:
        """The text with its tags."""

    def fill(self, block: Block) -> None:
        """Replace the content in the XML file by a translation of the block."""


FindParagraphs = Callable[[Element], Sequence[Paragraph]]
"""Finds the paragraphs below the root of an XML file, always in the same order."""


class XmlPackage:
    """A zip archive, some of whose XML files have text."""

    def __init__(self, content: bytes, kinds: Mapping[str, FindParagraphs]) -> None:
        """`kinds` says, by the beginning of a file's name, how its paragraphs are found; the first that fits counts."""
        self._entries = _entries(content)
        self._kinds = kinds
        self.blocks: Sequence[Block] = [
            paragraph.block for part in self._parts() for paragraph in part.paragraphs
        ]
        """As in `Document`."""

    def render(self, blocks: Sequence[Block]) -> bytes:
        """As in `Document`."""
        remaining = iter(blocks)
        changed: dict[str, bytes] = {}
        for part in self._parts():
            replaced = [(paragraph, next(remaining)) for paragraph in part.paragraphs]
            differing = [(paragraph, block) for paragraph, block in replaced if list(paragraph.block) != list(block)]
            for paragraph, block in differing:
                paragraph.fill(block)
            if differing:
                changed[part.name] = serialised(part.root)
        return _archive(self._entries, changed)

    def _parts(self) -> list[_Part]:
        """Read the XML files anew, since `fill` changes them."""
        parts = []
        for info, data in self._entries:
            if info.filename.endswith((".xml", ".rels")):
                find = next((find for start, find in self._kinds.items() if info.filename.startswith(start)), None)
                if find is not None:
                    root = parsed(data)
                    parts.append(_Part(info.filename, root, find(root)))
        return parts


@dataclass(frozen=True)
class _Part:
    name: str
    root: Element
    paragraphs: Sequence[Paragraph]


def parsed(content: bytes) -> Element:
    """Return the root of an XML file; entities are not expanded, and a file that declares some is refused."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UserError(f"the document is damaged: {error.msg}; save it again.") from error
    internal = root.getroottree().docinfo.internalDTD
    if internal is not None and next(internal.iterentities(), None) is not None:
        raise UserError("the document declares XML entities, which documents do not need; save it again without them.")
    return root


def serialised(root: Element) -> bytes:
    """Return an XML file in UTF-8."""
    tree = root.getroottree()
    data: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=tree.docinfo.standalone)
    return data


def _entries(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            total = sum(info.file_size for info in infos)
            if len(infos) > MAX_ENTRIES or total > MAX_BYTES or total > MAX_RATIO * max(len(content), 10_000):
                raise UserError("the document is too large once unpacked; split it.")
            if len({info.filename for info in infos}) < len(infos):
                raise UserError("the document is damaged: it has two files of one name; save it again.")
            return [(info, _read(archive, info)) for info in infos]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise UserError("the document is damaged, encrypted or of another format; save it again.") from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read a file of an archive, but no more than it announced."""
    with archive.open(info) as stream:
        data = stream.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(info.filename)
    return data


def _archive(entries: Sequence[tuple[zipfile.ZipInfo, bytes]], changed: Mapping[str, bytes]) -> bytes:
    """Return an archive with the same files in the same order, some of them changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for old, data in entries:
            info = zipfile.ZipInfo(old.filename, old.date_time)
            info.compress_type, info.external_attr = old.compress_type, old.external_attr
            archive.writestr(info, changed.get(old.filename, data))
    return buffer.getvalue()
