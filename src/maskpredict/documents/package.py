"""Documents that are zip archives of XML files, such as those of office programs.

Damaged ones are refused, and so are those that would become huge or whose XML declares entities.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Protocol, TypeAlias

from lxml import etree

from maskpredict.documents.block import Block, is_changed
from maskpredict.documents.document import Document
from maskpredict.errors import UserError

MAX_ENTRIES, MAX_BYTES, MAX_RATIO = 10_000, 256_000_000, 200
"""Files in an archive, their size together, and that size in relation to the archive's."""

Element: TypeAlias = etree._Element
"""An element of lxml, which does not export its type."""


ReadPart = Callable[[bytes], Document[bytes]]
"""Reads a file of an archive."""


class Package:
    """A zip archive, some of whose files are documents themselves."""

    def __init__(self, content: bytes, readers: Mapping[str, ReadPart]) -> None:
        """`readers` are by patterns of names, such as `word/header*.xml`; the first that fits counts."""
        self._entries = read_archive(content)
        self._parts: dict[str, Document[bytes]] = {}
        for info, data in self._entries:
            read = next((read for pattern, read in readers.items() if fnmatchcase(info.filename, pattern)), None)
            if read is not None:
                self._parts[info.filename] = read(data)
        self.blocks: Sequence[Block] = [block for part in self._parts.values() for block in part.blocks]
        """As in `Document`."""

    def render(self, blocks: Sequence[Block]) -> bytes:
        """As in `Document`."""
        remaining = iter(blocks)
        changed = {name: part.render(list(islice(remaining, len(part.blocks)))) for name, part in self._parts.items()}
        return written_archive(self._entries, changed)


class Paragraph(Protocol):
    """A part of an XML file whose text is a block."""

    @property
    def block(self) -> Block:
        """The text with its tags."""

    def fill(self, block: Block) -> None:
        """Write a translation of the block into the XML."""


class XmlFile:
    """An XML file with paragraphs."""

    def __init__(
        self, content: bytes, find: Callable[[Element], Sequence[Paragraph]], *, in_place: bool = True
    ) -> None:
        """`find` returns the paragraphs below the root, always in the same order.

        Without `in_place`, translations go elsewhere, so even those that equal their source are written.
        """
        self._content, self._find, self._in_place = content, find, in_place
        self.blocks: Sequence[Block] = [paragraph.block for paragraph in find(parsed(content))]
        """As in `Document`."""

    def render(self, blocks: Sequence[Block]) -> bytes:
        """As in `Document`."""
        root = parsed(self._content)
        paragraphs = zip(self._find(root), self.blocks, blocks, strict=True)
        changed = [(paragraph, new) for paragraph, old, new in paragraphs if not self._in_place or is_changed(old, new)]
        for paragraph, block in changed:
            paragraph.fill(block)
        return serialised(root) if changed else self._content


def parsed(content: bytes) -> Element:
    """Return the root of an XML file; entities are not expanded, and a file that declares some is refused."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        reason = " ".join(error.msg.split())
        raise UserError(f"the document is damaged: {reason}; save it again.") from error
    internal = root.getroottree().docinfo.internalDTD
    if internal is not None and next(internal.iterentities(), None) is not None:
        raise UserError("the document declares XML entities, which documents do not need; save it again without them.")
    return root


def serialised(root: Element) -> bytes:
    """Return an XML file in UTF-8."""
    tree = root.getroottree()
    data: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=tree.docinfo.standalone)
    return data


def read_archive(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Return the files of a zip archive, within limits."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            total = sum(info.file_size for info in infos)
            if len(infos) > MAX_ENTRIES or total > MAX_BYTES or total > MAX_RATIO * max(len(content), 10_000):
                raise UserError("the document is too large once unpacked; split it.")
            if len({info.filename for info in infos}) < len(infos):
                raise UserError("the document is damaged: it has two files of one name; save it again.")
            return [(info, _read(archive, info)) for info in infos]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise UserError("the document is damaged, encrypted or of another format; save it again.") from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read a file of an archive, but no more than it announced."""
    with archive.open(info) as stream:
        data = stream.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(info.filename)
    return data


def written_archive(entries: Sequence[tuple[zipfile.ZipInfo, bytes]], changed: Mapping[str, bytes]) -> bytes:
    """Return an archive with the same files in the same order, some of them changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for old, data in entries:
            info = zipfile.ZipInfo(old.filename, old.date_time)
            info.compress_type, info.external_attr = old.compress_type, old.external_attr
            archive.writestr(info, changed.get(old.filename, data))
    return buffer.getvalue()
