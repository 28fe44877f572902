"""XLIFF 1.2 and 2 (.xliff, .xlf): segments without a translation get one, with their inline elements."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from maskpredict.documents.document import Document
from maskpredict.documents.mixed import MixedMarkup, MixedParagraph
from maskpredict.documents.package import Element, XmlFile

_MARKUPS = {
    namespace: MixedMarkup(around=frozenset(f"{{{namespace}}}{name}" for name in around.split()))
    for namespace, around in (
        ("urn:oasis:names:tc:xliff:document:1.2", "g mrk"),
        ("urn:oasis:names:tc:xliff:document:2.0", "pc mrk"),
        ("urn:oasis:names:tc:xliff:document:2.2", "pc mrk"),
    )
}


def read(content: bytes) -> Document[bytes]:
    """Read an XLIFF file."""
    return XmlFile(content, lambda root: list(_without_translation(root)), in_place=False)


def _without_translation(root: Element) -> Iterator[MixedParagraph]:
    """Yield the segments without a translation, whose targets are made if they are missing."""
    for namespace, markup in _MARKUPS.items():
        for source in list(root.iter(f"{{{namespace}}}source")):
            unit = source.getparent()
            if unit is None or etree.QName(unit).localname not in ("trans-unit", "segment"):
                continue  # such as an alternative translation
            target = unit.find(f"{{{namespace}}}target")
            if "no" in (unit.get("translate"), *(one.get("translate") for one in unit.iterancestors())):
                continue
            if target is None:
                target = etree.Element(f"{{{namespace}}}target", nsmap=source.nsmap)
                target.tail = source.tail
                source.addnext(target)
            if not "".join(target.itertext()).strip():
                yield MixedParagraph(source, markup, target)
