"""A linear-time HTML tokenizer that keeps every character of its input.

It follows the tokenizer of the HTML standard (https://html.spec.whatwg.org/multipage/parsing.html#tokenization), errors
included, but decodes nothing: joined together, the tokens are the input again. Parsers that are free to use do not say
where in the input an element stood; tests compare the text found here with that of a browser's parser.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class TokenKind(Enum):
    """Kind of a token of HTML."""

    TEXT = "text"
    """Characters and character references."""
    START = "start tag"
    END = "end tag"
    OTHER = "other"
    """A comment, a doctype, the content of a script and the like, or a tag that never ends."""


@dataclass(frozen=True)
class HtmlToken:
    """A part of the input, as it is written there."""

    kind: TokenKind
    source: str
    name: str = ""
    """Lower-case name of a tag."""

    @cached_property
    def attributes(self) -> dict[str, HtmlAttribute]:
        """Attributes of a start tag by lower-case name; the first of several with the same name."""
        name = _TAG_NAME.match(self.source)
        attributes: dict[str, HtmlAttribute] = {}
        for match in _ATTRIBUTE.finditer(self.source, name.end() if name else 0):
            kind = next((kind for kind in ("double", "single", "bare") if match[kind] is not None), None)
            start, end = match.span(kind) if kind else (match.end(), match.end())
            attribute = HtmlAttribute(html.unescape(self.source[start:end]), start, end)
            attributes.setdefault(match["name"].lower(), attribute)
        return attributes


@dataclass(frozen=True)
class HtmlAttribute:
    """Value of an attribute, and where it stands in its tag."""

    value: str
    start: int
    end: int


# Possessive quantifiers keep every search linear: no part of a tag is read twice.
_SPACE = r"\t\n\f\r "
_NAME = rf"(?:=[^{_SPACE}/>=]*+|[^{_SPACE}/>=]++)"
_ATTRIBUTE = re.compile(
    rf"(?P<name>{_NAME})(?:[{_SPACE}]*+=[{_SPACE}]*+"
    rf"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^{_SPACE}>\"'][^{_SPACE}>]*+)|(?=>)))?+"
)
_TAG_NAME = re.compile(rf"</?([a-zA-Z][^{_SPACE}/>]*+)")
_TAG = re.compile(
    rf"{_TAG_NAME.pattern}(?:[{_SPACE}/]++"
    rf"|{_NAME}(?:[{_SPACE}]*+=[{_SPACE}]*+(?:\"[^\"]*+\"|'[^']*+'|[^{_SPACE}>\"'][^{_SPACE}>]*+|(?=>))"
    rf"|(?![{_SPACE}]*+=)))*+>"
)
_MARKUP = re.compile(r"<(?:[a-zA-Z!?]|/(?s:.))")
_COMMENT_END = re.compile(r"--!?>")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_RAW_TEXT = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "title", "textarea", "plaintext"})
"""Elements whose content has no tags but their own end tag."""
_WITH_REFERENCES = frozenset({"title", "textarea"})
"""Those of them whose content is text."""
_SCRIPT_STEP = re.compile(rf"<!--|(?<!-)--++>|<(?P<end>/?)script[{_SPACE}/>]", re.IGNORECASE)


def html_tokens(markup: str) -> Iterator[HtmlToken]:
    """Yield the tokens of any text as HTML; joined together, they are that text."""
    position, last_cdata_end = 0, markup.rfind(_CDATA_END)
    is_xml = markup[:100].lstrip("\ufeff\n\r\t ").startswith("<?xml")
    while (match := _MARKUP.search(markup, position)) is not None:
        if position < match.start():
            yield HtmlToken(TokenKind.TEXT, markup[position : match.start()])
        token = _markup_at(markup, match.start(), last_cdata_end)
        yield token
        position = match.start() + len(token.source)
        is_empty = is_xml and token.source.endswith("/>")
        if token.kind is TokenKind.START and token.name in _RAW_TEXT and not is_empty:
            end = _raw_text_end(markup, position, token.name)
            if position < end:
                kind = TokenKind.TEXT if token.name in _WITH_REFERENCES else TokenKind.OTHER
                yield HtmlToken(kind, markup[position:end])
            position = end
    if position < len(markup):
        yield HtmlToken(TokenKind.TEXT, markup[position:])


def _markup_at(markup: str, start: int, last_cdata_end: int) -> HtmlToken:
    """Return the tag, comment or the like that starts here; one that never ends takes all that follows."""
    match = _TAG.match(markup, start)
    if match is not None:
        kind = TokenKind.END if markup[start + 1] == "/" else TokenKind.START
        return HtmlToken(kind, match[0], match[1].lower())
    if markup.startswith("<!--", start):
        short = next((whole for whole in ("<!-->", "<!--->") if markup.startswith(whole, start)), None)
        close = _COMMENT_END.search(markup, start + 4)
        end = start + len(short) if short else close.end() if close else len(markup)
    elif markup.startswith(_CDATA, start) and start < last_cdata_end:  # as in XHTML
        end = markup.find(_CDATA_END, start) + len(_CDATA_END)
    elif _TAG_NAME.match(markup, start):
        end = len(markup)  # a tag that never ends
    else:
        end = markup.find(">", start) + 1 or len(markup)
    return HtmlToken(TokenKind.OTHER, markup[start:end])


def _raw_text_end(markup: str, start: int, name: str) -> int:
    """Return the position of the end tag of an element without tags inside, or the end of the input."""
    if name == "plaintext":
        return len(markup)
    if name == "script":
        return _script_end(markup, start)
    close = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(markup, start)
    return close.start() if close else len(markup)


def _script_end(markup: str, start: int) -> int:
    """Return the position of a script's end tag; one inside a script inside a comment does not count."""
    in_comment = in_inner_script = False
    position = start
    while (step := _SCRIPT_STEP.search(markup, position)) is not None:
        # The two hyphens of `<!--` may be those of `-->`.
        position = step.end() - 2 if step[0] == "<!--" else step.end()
        if step[0] == "<!--":
            in_comment = True
        elif step["end"] is None:
            in_comment = in_inner_script = False
        elif not step["end"]:
            in_inner_script = in_comment
        elif in_inner_script:
            in_inner_script = False
        else:
            return step.start()
    return len(markup)
