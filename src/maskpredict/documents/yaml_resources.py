"""YAML files of texts, such as those of an app: values are translated; names, comments and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml

from maskpredict.documents.block import Block, Text
from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.parted import PartedText
from maskpredict.errors import UserError

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
"""An anchor and a tag in front of a value."""
_TEXT = "tag:yaml.org,2002:str"


def read(content: bytes) -> Document[bytes]:
    """Read a .yaml or .yml file."""
    return read_encoded(content, _parted)


def _parted(source: str) -> PartedText:
    try:
        roots = list(yaml.compose_all(source, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UserError(f"the document is not YAML ({' '.join(str(error).split())}); mend it first.") from None
    parts: list[str | int] = []
    blocks: list[Block] = []
    position = 0
    for value in sorted((value for root in roots for value in _values(root)), key=lambda value: value.start_mark.index):
        start, end = value.start_mark.index, value.end_mark.index
        properties = _PROPERTIES.match(source, start, end)
        start = properties.end() if properties else start
        end = start + len(source[start:end].rstrip())
        parts += [source[position:start], len(blocks)]
        blocks.append([Text(value.value, source[start:end])])
        position = end
    return PartedText([*parts, source[position:]], blocks, _spelled, whole=True)


def _values(root: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Yield the texts that are values; an alias is the same node again."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode) and node.tag == _TEXT:
            yield node
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]


def _spelled(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
