"""JSON files of texts, such as those of an app: values are translated, names and everything else stay."""

from __future__ import annotations

import json
import re

from maskpredict.documents.block import Block, Text
from maskpredict.documents.document import Document
from maskpredict.documents.encoded import read_encoded
from maskpredict.documents.parted import PartedText
from maskpredict.errors import UserError

_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"(?P<name>\s*+:)?')


def read(content: bytes) -> Document[bytes]:
    """Read a .json file."""
    return read_encoded(content, _parted)


def _parted(source: str) -> PartedText:
    try:
        json.loads(source)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the document is not JSON ({error}); mend it first.") from None
    parts: list[str | int] = []
    blocks: list[Block] = []
    position = 0
    for match in _STRING.finditer(source):
        if match["name"] is None:
            parts += [source[position : match.start(1)], len(blocks)]
            blocks.append([Text(json.loads(f'"{match[1]}"'), match[1])])
            position = match.end(1)
    return PartedText([*parts, source[position:]], blocks, _spelled, whole=True)


def _spelled(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
