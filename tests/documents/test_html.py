"""Every sentence of HTML is replaced, and everything else stays unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maskpredict.documents.document import SegmentedDocument
from maskpredict.documents.html import HtmlMarkup
from maskpredict.documents.html_tokens import TokenKind, html_tokens
from maskpredict.runtime.translation import Translation


def replaced(markup: str, change: Callable[[str], str], *, attributes: bool = False) -> str:
    """The markup after a translation that changes every sentence in this way."""
    segmented = SegmentedDocument.split(HtmlMarkup(markup, attributes=attributes), "de")
    texts = [change(sentence.text) for sentence in segmented.sentences]
    return segmented.replace([Translation(text, [], 0.0, [], 0) for text in texts])


def shouted(markup: str, *, attributes: bool = False) -> str:
    return replaced(markup, str.upper, attributes=attributes)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>Hallo.</p>", "<p>HALLO.</p>"),
        ('<P CLASS=x id="Foto">Hallo <B>du</B> da.</P>', '<P CLASS=x id="Foto">HALLO <B>DU</B> DA.</P>'),
        ("<a href='?a=1&b=2' title=\"Ein Titel\">Hier</a>", "<a href='?a=1&b=2' title=\"Ein Titel\">HIER</a>"),
        ("eins<br/>zwei<br>drei", "EINS<br/>ZWEI<br>DREI"),
        ("<p>\n  viel Platz \n</p>\n", "<p>\n  VIEL PLATZ \n</p>\n"),
        ("<!doctype html><!-- nicht dies --><p>ja", "<!doctype html><!-- nicht dies --><p>JA"),
        ("<script>var a = '<p>nein</p>';</script>ja", "<script>var a = '<p>nein</p>';</script>JA"),
        ("<style>p { color: red }</style>ja", "<style>p { color: red }</style>JA"),
        ("<pre>so <b>nicht</b></pre>ja <code>nein()</code>", "<pre>so <b>nicht</b></pre>JA <code>nein()</code>"),
        ("Rufe <code>f(x)</code> auf", "RUFE <code>f(x)</code> AUF"),
        ("<!-- x --><p>Der Hund.</p><![endif-->Die Katze.", "<!-- x --><p>DER HUND.</p><![endif-->DIE KATZE."),
        ("<!--[if IE]><p>nein</p><![endif]--><p>ja", "<!--[if IE]><p>nein</p><![endif]--><p>JA"),
        ("<![CDATA[nein > nein]]>ja", "<![CDATA[nein > nein]]>JA"),
        ("<title>ja</title><textarea>nein</textarea>", "<title>JA</title><textarea>nein</textarea>"),
        (
            'Ein <b>guter</b> <a href="x">Hund <!-- x -->hier</a>',
            'EIN <b>GUTER</b> <a href="x">HUND <!-- x -->HIER</a>',
        ),
        ("<pre>a<pre>b</pre>c</pre>d", "<pre>a<pre>b</pre>c</pre>D"),
        ('<span translate="no">Otto</span> ja', '<span translate="no">Otto</span> JA'),
        ('<br translate="no">ja', '<br translate="no">JA'),
        ("f&uuml;r &amp; wider &#60;ja&#62;", "FÜR &amp; WIDER &lt;JA&gt;"),
        ("&nbsp;gut&nbsp;", "&nbsp;GUT&nbsp;"),
        ("&lt;3 &amp; &copy;", "&lt;3 &amp; &copy;"),
        ("3 < 4 und 5 > 4", "3 &lt; 4 UND 5 &gt; 4"),
        ("<ul><li>eins<li>zwei</ul>", "<ul><li>EINS<li>ZWEI</ul>"),
        ("<b>offen", "<b>OFFEN"),
        ("zu</b></i>", "ZU</b></i>"),
        ('gut <a href="x', 'GUT <a href="x'),
        ("a &amp", "A &amp;"),
        ("gut <![=x]> so", "GUT <![=x]> SO"),
        ("gut <!-- nie zu", "GUT <!-- nie zu"),
        ("", ""),
    ],
)
def test_the_text_between_tags_is_replaced_and_the_tags_stay_to_the_letter(markup: str, expected: str) -> None:
    assert shouted(markup) == expected


def test_a_translation_cannot_bring_tags_of_its_own() -> None:
    evil = "<script>alert(1)</script>"
    assert replaced("<p>Hallo</p>", lambda _: evil) == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"
    assert '"' not in replaced("<img alt='Hallo'>", lambda _: "\"' onload=x", attributes=True)[10:-2]


def test_a_sentence_goes_on_through_inline_tags_and_ends_at_blocks() -> None:
    markup = "<div>Der <b>alte</b> Hund<p>bellt <i>laut.</i> Er <u>schläft</u> nie.</p></div>"
    segmented = SegmentedDocument.split(HtmlMarkup(markup), "de")
    assert [sentence.text for sentence in segmented.sentences] == ["Der alte Hund", "bellt laut.", "Er schläft nie."]


def test_attributes_for_readers_are_translated_on_request() -> None:
    markup = (
        "<img alt='Ein &quot;Hund&quot;' src=hund.png> <a title=\"Mehr\">hier</a> <input placeholder='Name' value='x'>"
    )
    assert "Ein" in shouted(markup)
    assert shouted(markup, attributes=True) == (
        "<img alt='EIN &quot;HUND&quot;' src=hund.png> <a title=\"MEHR\">HIER</a> <input placeholder='NAME' value='x'>"
    )


ANY_MARKUP = st.text(alphabet="<>/!-=&;#'\" \naBp1ä?[]x", max_size=60) | st.lists(
    st.sampled_from(
        ["<b>", "</b>", "<i>", "</i>", "<p>", "<br>", "<code>", "</code>", "<!--", "-->", "&amp;", "Ein Hund. ", "a"]
    ),
    max_size=20,
).map("".join)


@given(ANY_MARKUP, st.booleans())
@example("<![CDATA[x]]>", False)
@example("&#xD800;", False)
@example("<b>&a", False)
@example("a</b>b<b>c", False)
def test_untranslated_text_comes_back_byte_for_byte(markup: str, attributes: bool) -> None:
    assert replaced(markup, lambda text: text, attributes=attributes) == markup


@given(ANY_MARKUP)
def test_no_tag_is_lost_or_doubled_whatever_the_translation(markup: str) -> None:
    tags = [token.source for token in html_tokens(markup) if token.kind is not TokenKind.TEXT]
    translated = replaced(markup, lambda text: "Yes one two three")
    assert sorted(t.source for t in html_tokens(translated) if t.kind is not TokenKind.TEXT) == sorted(tags)


@pytest.mark.parametrize(
    "unit",
    ["<a ", "x<", "<!--", "</", "<b>x", "x</b>", "<b>x</b> ", "<code>x</code> ", "<code>", "&amp;", "x <i>", "&a"],
)
def test_no_markup_takes_long(unit: str) -> None:
    start = time.process_time()
    shouted(unit * (100_000 // len(unit)))
    assert time.process_time() - start < 8
