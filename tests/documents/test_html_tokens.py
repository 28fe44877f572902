"""HTML is taken apart as browsers do it, without loss, and in linear time."""

from __future__ import annotations

import html
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from maskpredict.documents.html_tokens import HtmlToken, TokenKind, html_tokens

PIECES = [*"<>/!-=&;'\"? \nap", "<b>", "</b>", "<b ", "<p", "</p>", "<!--", "-->", "--!>", "<i a=", "<script>",
          "</script>", "<style>", "</style>", "<!doctype html>", "<?x", "</", "&amp;", "&lt", "word"]  # fmt: skip


def kinds(markup: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.source) for token in html_tokens(markup)]


def texts(markup: str) -> str:
    return html.unescape("".join(token.source for token in html_tokens(markup) if token.kind is TokenKind.TEXT))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("a <b>c</b>", [("text", "a "), ("start tag", "<b>"), ("text", "c"), ("end tag", "</b>")]),
        ("<!-- a > b --!>c", [("other", "<!-- a > b --!>"), ("text", "c")]),
        ("<!-->a<!--->b", [("other", "<!-->"), ("text", "a"), ("other", "<!--->"), ("text", "b")]),
        ("<!--[if IE]><p>a</p><![endif]-->b", [("other", "<!--[if IE]><p>a</p><![endif]-->"), ("text", "b")]),
        ("<![CDATA[a > b]]>c", [("other", "<![CDATA[a > b]]>"), ("text", "c")]),
        ("<![if !IE]>a<![endif]>", [("other", "<![if !IE]>"), ("text", "a"), ("other", "<![endif]>")]),
        ("<xmp><p></xmp>a", [("start tag", "<xmp>"), ("other", "<p>"), ("end tag", "</xmp>"), ("text", "a")]),
        ("<title>a<b></title>c", [("start tag", "<title>"), ("text", "a<b>"), ("end tag", "</title>"), ("text", "c")]),
        ("<a title='>'>b", [("start tag", "<a title='>'>"), ("text", "b")]),
        ("<a b='c>d", [("other", "<a b='c>d")]),
        ("<a b=c =d e==f>g", [("start tag", "<a b=c =d e==f>"), ("text", "g")]),
        ("a </> b </ c> d", [("text", "a "), ("other", "</>"), ("text", " b "), ("other", "</ c>"), ("text", " d")]),
        ("1 < 2 </", [("text", "1 < 2 </")]),
        ("a<!-- b", [("text", "a"), ("other", "<!-- b")]),
    ],
)  # fmt: skip
def test_markup_is_told_from_text(markup: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(markup) == expected


def test_a_script_inside_a_comment_inside_a_script_does_not_end_it() -> None:
    markup = "<script><!-- <script>a</script> --></script>b"
    assert texts(markup) == "b"


def test_attributes_are_found_with_their_places() -> None:
    (tag,) = html_tokens("<IMG alt='Ein &quot;Hund&quot;' hidden SRC=x/y.png title= \"b\" alt=no>")
    assert {name: one.value for name, one in tag.attributes.items()} == {
        "alt": 'Ein "Hund"', "hidden": "", "src": "x/y.png", "title": "b"
    }  # fmt: skip
    alt = tag.attributes["alt"]
    assert tag.source[alt.start : alt.end] == "Ein &quot;Hund&quot;"


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
@example("<!-- x --><p>Der Hund schläft.</p><![endif-->Die Katze auch.")
@example("<a\"='>x")
@example("<b<i>x")
@example("<script><!--<script></script>x")
def test_nothing_is_lost_and_the_text_is_that_of_a_browsers_parser(markup: str) -> None:
    assert "".join(token.source for token in html_tokens(markup)) == markup
    if "\0" not in markup and "\r" not in markup and "<![CDATA[" not in markup:
        assert texts(markup).replace("\n", "").split() == parsed_text(markup).replace("\n", "").split()


def parsed_text(markup: str) -> str:
    """Text of the tree that lexbor makes, without scripts and styles."""
    root = LexborHTMLParser(f"<!doctype html><body>{markup}").body
    assert root is not None
    for node in root.css("script, style, textarea"):
        node.decompose()
    return root.text()


@pytest.mark.parametrize(
    "unit",
    ["<a ", "x<", "<!--", "</", "<a b='", '<a b="x" ', "<a =", "<![CDATA[", "<title>", "<script>", "-", "<!", "&",
     "<a/", "<script><!--", "<script>-", "<a b=c ", "< ", "<?", "<!--->", "<b>"],
)  # fmt: skip
def test_no_input_takes_long(unit: str) -> None:
    start = time.process_time()
    found: list[HtmlToken] = list(html_tokens(unit * (100_000 // len(unit))))
    for token in found:
        _ = token.attributes
    assert time.process_time() - start < 3
