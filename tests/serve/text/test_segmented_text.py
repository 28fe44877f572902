"""Every sentence of text and HTML is replaced, and everything else stays unchanged."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maskpredict.serve.text.markup import split_markup
from maskpredict.serve.text.segmented_text import SegmentedText


def shouted(text: SegmentedText) -> str:
    return text.replace_sentences([sentence.upper() for sentence in text.sentences])


def shouted_html(markup: str) -> str:
    return shouted(SegmentedText.from_html(markup, "de"))


def test_text_keeps_its_lines_and_spaces() -> None:
    text = " Hallo.  Wer da?\n\n\t– ich\r\n"
    assert shouted(SegmentedText.from_text(text, "de")) == " HALLO.  WER DA?\n\n\t– ICH\r\n"


def test_a_whole_text_is_one_sentence() -> None:
    assert SegmentedText.from_sentence("Eins. Zwei.\nDrei.", "de").sentences == ["Eins. Zwei.\nDrei."]


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
        ("<pre>a<pre>b</pre>c</pre>d", "<pre>a<pre>b</pre>c</pre>D"),
        ('<span translate="no">Otto</span> ja', '<span translate="no">Otto</span> JA'),
        ('<br translate="no">ja', '<br translate="no">JA'),
        ("f&uuml;r &amp; wider &#60;ja&#62;", "FÜR &amp; WIDER &lt;JA&gt;"),
        ("&nbsp;gut&nbsp;", "&nbsp;GUT&nbsp;"),
        ("&lt;3 &amp; &copy;", "&lt;3 &amp; ©"),
        ("3 < 4 und 5 > 4", "3 &lt; 4 UND 5 &gt; 4"),
        ("<ul><li>eins<li>zwei</ul>", "<ul><li>EINS<li>ZWEI</ul>"),
        ("<b>offen", "<b>OFFEN"),
        ("zu</b></i>", "ZU</b></i>"),
        ('gut <a href="x', 'GUT <a href="x'),
        ("A &amp", "A &amp;"),
        ("gut <![=x]> so", "GUT <![=x]> so"),
        ("gut <!-- nie zu", "GUT <!-- nie zu"),
        ("", ""),
    ],
)
def test_the_text_between_tags_is_replaced_and_the_tags_stay_to_the_letter(markup: str, expected: str) -> None:
    assert shouted_html(markup) == expected


def test_a_translation_cannot_bring_tags_of_its_own() -> None:
    segmented = SegmentedText.from_html("<p>Hallo</p>", "de")
    assert segmented.replace_sentences(["<script>alert(1)</script>"]) == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


@given(st.text(alphabet="<>/!-=&;#'\" \naBp1ä?[]x", max_size=60))
@example("<![CDATA[x]]>")
@example("<?php x ?>")
@example("&#xD800;")
@example("<a<b")
@example("<!")
@example("</")
@example("&a")
@example("<b>&a")
def test_any_markup_at_all_is_taken_apart_without_loss(markup: str) -> None:
    assert "".join(part.source for part in split_markup(markup)) == markup
    tags = [part.source for part in split_markup(markup) if not part.is_text]
    assert all(tag in shouted_html(markup) for tag in tags)
