"""Paragraphs of Office Open XML: runs of text, each with its format.

The format that most of a paragraph has is that of its text; stretches in other formats are marked by tags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial

from lxml import etree

from maskpredict.documents.block import Block, Item, Tag, TagKind, Text
from maskpredict.documents.package import Element

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True)
class RunMarkup:
    """Names of the elements of a format, each with its namespace."""

    paragraph: str
    run: str
    properties: str
    """The format of a run, inside it."""
    text: str
    heading: frozenset[str] = frozenset()
    """Elements in a paragraph that stay at its beginning."""
    trailer: frozenset[str] = frozenset()
    """Elements in a paragraph that stay at its end."""
    containers: frozenset[str] = frozenset()
    """Elements around runs, such as links."""
    breaks: frozenset[str] = frozenset()
    """Line breaks and tabs, beyond which no sentence goes."""
    dropped: frozenset[str] = frozenset()
    """Marks of the program that concern the old text alone."""
    field: str = ""
    """Begins and ends a field, whose result is text."""
    field_type: str = ""
    """Attribute that tells which of the two."""


@dataclass(frozen=True)
class _Atom:
    """The smallest part of a paragraph that is kept together."""

    element: Element
    """A child of a run or of the paragraph, or a container."""
    run: Element | None = None
    """The run that it is in."""
    edge: TagKind | None = None
    """For the beginning and the end of a container."""


class RunParagraph:
    """A paragraph of runs."""

    def __init__(self, element: Element, markup: RunMarkup) -> None:
        self._element, self._markup = element, markup
        self._atoms = list(self._found(element))
        sizes = Counter[bytes]()
        for atom in self._atoms:
            sizes[self._style(atom)] += len(atom.element.text or "") if self._is_text(atom) else 0
        self._base = sizes.most_common(1)[0][0] if sizes else b""
        self._payloads: list[list[_Atom]] = []

    @cached_property
    def block(self) -> Block:
        """As in `Paragraph`; the source of a tag or a break is the number of what it stands for."""
        found = self._fields()
        begins, ends = {field.begin: field for field in found}, {field.end: field for field in found}
        numbers: dict[_Field, int] = {}
        containers: list[int] = []
        items = _StyledItems(self._base)
        place = 0
        while place < len(self._atoms):
            atom, last = self._atoms[place], place
            if self._is_text(atom):
                items.add_text(atom.element.text or "", self._style(atom), partial(self._keep, atom))
            elif atom.element.tag in self._markup.breaks:
                items.add(Text("\n", self._keep(atom)))
            elif place in begins:
                field = begins[place]
                last = field.last
                number = numbers[field] = self._keep(*self._atoms[place : last + 1])
                items.add_edge(Tag(TagKind.POINT if field.end is None else TagKind.OPEN, number, number))
            elif place in ends:
                items.add_edge(Tag(TagKind.CLOSE, self._keep(atom), numbers[ends[place]]))
            elif atom.edge is TagKind.OPEN:
                containers.append(self._keep(atom))
                items.add_edge(Tag(TagKind.OPEN, containers[-1], containers[-1]))
            elif atom.edge is TagKind.CLOSE:
                items.add_edge(Tag(TagKind.CLOSE, None, containers.pop()))
            else:
                items.add(Tag(TagKind.POINT, self._keep(atom)))
            place = last + 1
        return items.finished()

    def fill(self, block: Block) -> None:
        """As in `Paragraph`."""
        _ = self.block  # numbers the atoms, before they move
        texts = [atom for atom in self._atoms if self._is_text(atom)]
        base = next((atom.run for atom in texts if self._style(atom) == self._base), None)
        writer = _Writer(self._element, self._markup, base, without_runs=all(atom.run is None for atom in texts))
        heading = [child for child in self._element if child.tag in self._markup.heading]
        trailer = [child for child in self._element if child.tag in self._markup.trailer]
        for child in list(self._element):
            self._element.remove(child)
        self._element.extend(heading)
        for item in block:
            if isinstance(item, Text):
                if item.source is None:
                    writer.write(item.text)
                else:
                    writer.add(self._payloads[item.source])
                continue
            opener = self._payloads[item.pair][0] if item.kind is not TagKind.POINT else None
            if opener is not None and self._is_text(opener):
                writer.change_style(opener.run if item.kind is TagKind.OPEN else base)
            elif opener is not None and opener.edge is not None:
                writer.enter(opener.element) if item.kind is TagKind.OPEN else writer.leave()
            else:
                writer.add(self._payloads[item.source])
        writer.flush()
        self._element.extend(trailer)

    def _found(self, parent: Element) -> Iterator[_Atom]:
        markup = self._markup
        for child in parent:
            if child.tag == markup.run:
                for part in child:
                    if part.tag != markup.properties and part.tag not in markup.dropped:
                        yield _Atom(part, child)
            elif child.tag in markup.containers:
                yield _Atom(child, edge=TagKind.OPEN)
                yield from self._found(child)
                yield _Atom(child, edge=TagKind.CLOSE)
            elif child.tag not in markup.heading | markup.trailer | markup.dropped:
                yield _Atom(child)

    def _is_text(self, atom: _Atom) -> bool:
        return bool(atom.element.tag == self._markup.text)

    def _style(self, atom: _Atom) -> bytes:
        """Return the format of an atom's run, to compare."""
        found = None if atom.run is None else atom.run.find(self._markup.properties)
        return b"" if found is None else etree.tostring(found, method="c14n")

    def _keep(self, *atoms: _Atom) -> int:
        self._payloads.append(list(atoms))
        return len(self._payloads) - 1

    def _fields(self) -> list[_Field]:
        fields: list[_Field] = []
        begun: list[_Field] = []
        for place, atom in enumerate(self._atoms):
            kind = atom.element.get(self._markup.field_type) if atom.element.tag == self._markup.field else None
            if atom.edge is not None:
                begun = []
            elif kind == "begin":
                begun.append(_Field(place))
            elif kind == "separate" and begun:
                begun[-1] = _Field(begun[-1].begin, place)
            elif kind == "end" and begun:
                field = begun.pop()
                fields.append(replace(field, end=place) if field.last else _Field(field.begin, place))
        return fields


@dataclass(frozen=True)
class _Field:
    """A field, by the numbers of its atoms."""

    begin: int
    last: int = 0
    """The last one in front of its result, or the end of a field without one."""
    end: int | None = None
    """The end of a field with a result."""


class _StyledItems:
    """Items of a block, with tags around the stretches that have another format than most of it."""

    def __init__(self, base: bytes) -> None:
        self._base = self._style = base
        self._items: list[Item] = []
        self._open: int = -1
        """Number of the open tag, if the present format is not the usual one."""

    def add_text(self, text: str, style: bytes, number: Callable[[], int]) -> None:
        """Add text in a format; `number` gives the number of what stands for the format."""
        if style != self._style:
            self._close()
            if style != self._base:
                self._open, self._style = number(), style
                self._items.append(Tag(TagKind.OPEN, self._open, self._open))
        self._items.append(Text(text))

    def add(self, item: Item) -> None:
        """Add what may be inside of a format."""
        self._items.append(item)

    def add_edge(self, tag: Tag) -> None:
        """Add a tag that no format goes across."""
        self._close()
        self._items.append(tag)

    def finished(self) -> list[Item]:
        """Return all items."""
        self._close()
        return self._items

    def _close(self) -> None:
        if self._style != self._base:
            self._items.append(Tag(TagKind.CLOSE, None, self._open))
            self._style = self._base


class _Writer:
    """Builds the runs of a paragraph."""

    def __init__(self, paragraph: Element, markup: RunMarkup, base: Element | None, *, without_runs: bool) -> None:
        self._parents, self._markup, self._style, self._without_runs = [paragraph], markup, base, without_runs
        self._text = ""

    def write(self, text: str) -> None:
        """Add text in the current format."""
        self._text += text

    def flush(self) -> None:
        """Write the text added since the last time as a run."""
        if self._text:
            parent = self._parents[-1] if self._without_runs else self._new_run(self._style)
            element = etree.SubElement(parent, self._markup.text)
            element.text = self._text
            element.set(_SPACE, "preserve")
            self._text = ""

    def change_style(self, run: Element | None) -> None:
        """Continue in the format of a run."""
        self.flush()
        self._style = run

    def add(self, atoms: Sequence[_Atom]) -> None:
        """Add what was in the paragraph before, as it was."""
        self.flush()
        last_run: Element | None = None
        for atom in atoms:
            if atom.run is None:
                self._parents[-1].append(atom.element)
                continue
            if last_run is not atom.run:
                new, last_run = self._new_run(atom.run), atom.run
            new.append(atom.element)

    def enter(self, container: Element) -> None:
        """Continue inside a container."""
        self.flush()
        for child in list(container):
            container.remove(child)
        self._parents[-1].append(container)
        self._parents.append(container)

    def leave(self) -> None:
        """Continue behind the container."""
        self.flush()
        self._parents.pop()

    def _new_run(self, like: Element | None) -> Element:
        run = etree.SubElement(self._parents[-1], self._markup.run)
        properties = None if like is None else like.find(self._markup.properties)
        if properties is not None:
            run.append(deepcopy(properties))
        return run
