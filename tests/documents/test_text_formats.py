"""Text formats are translated with everything around the text kept to the letter."""

from __future__ import annotations

import io
import json
import zipfile

import polib
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from maskpredict.documents.formats import read_document
from maskpredict.documents.names import FORMATS
from maskpredict.errors import UserError
from tests.documents.office_files import archive
from tests.documents.translating import sentences, translated

MARKDOWN = """---
titel: Bleibt
---
# Ein Titel mit `code` #

- [ ] Eine Aufgabe

Der **schwarze Hund** schläft im [Garten](http://x.de/a_(b) "Titel").
Die *Katze* ist <b>da</b>. ![Bild](x.png) Siehe <http://example.org>.

> Ein Zitat
> geht weiter\\
> Neue Zeile

| Kopf | Wert |
|---|---|
| Zelle *eins* | `x` |

```python
bleibt
```

Fuß[^1] und 3 \\* 4.
"""
SRT = """1
00:00:01,000 --> 00:00:02,000
Der <i>schwarze</i> Hund
schläft heute sehr lange in seinem Korb.

2
00:00:03,000 --> 00:00:04,000
- Kommst du?
- {\\an8}Nein!
"""
VTT = """WEBVTT - Titel

NOTE bleibt

STYLE
::cue { color: red }

eins
00:01.000 --> 00:02.000 align:start
<v Anna>Der &amp; Hund
"""
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

# Ein Kommentar
#: a.c:1
msgid "Guten Morgen!"
msgstr ""

msgid "Ein Hund"
msgid_plural "Viele Hunde"
msgstr[0] ""
msgstr[1] ""

msgid "fertig"
msgstr "done"
"""
YAML = """# Kommentar
de:
  gruss: Hallo. Du da!  # hier
  lang: |
    Eine Zeile
    Noch eine
  zitat: &a "Ein \\"Hund\\""
  verweis: *a
  zahl: 3
"""
JSON = '{\n  "gruss": "Hallo!\\nDu \\u00fc da",\t"zahl": 3, "liste": ["Ein \\"Hund\\""]\n}\n'
XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="de" target-language="en"><body>
<trans-unit id="1"><source>Der <g id="1">schwarze</g> Hund<x id="2"/> bellt.</source></trans-unit>
<trans-unit id="2"><source>fertig</source><target>done</target></trans-unit>
<trans-unit id="3" translate="no"><source>Otto</source></trans-unit></body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="de" trgLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="u">
<segment><source>Der <pc id="1">schwarze</pc> Hund.</source></segment></unit></file></xliff>"""


def test_markdown_keeps_its_marks_and_its_code() -> None:
    assert (
        translated("a.md", MARKDOWN.encode()).decode()
        == """---
titel: Bleibt
---
# EIN TITEL MIT `code` #

- [ ] EINE AUFGABE

DER **SCHWARZE HUND** SCHLÄFT IM [GARTEN](http://x.de/a_(b) "Titel").
DIE *KATZE* IST <b>DA</b>. ![Bild](x.png) SIEHE <http://example.org>.

> EIN ZITAT GEHT WEITER\\
> NEUE ZEILE

| KOPF | WERT |
|---|---|
| ZELLE *EINS* | `x` |

```python
bleibt
```

FUSS[^1] UND 3 \\* 4.
"""
    )


def test_footnotes_stay_footnotes() -> None:
    text = "Ein Satz[^1] geht[^b] weiter.\n\n[^1]: Im Laden.\n\n[^b]: http://x.de\n"
    assert (
        translated("a.md", text.encode()).decode()
        == "EIN SATZ[^1] GEHT[^b] WEITER.\n\n[^1]: IM LADEN.\n\n[^b]: http://x.de\n"
    )


def test_a_translation_brings_no_marks_of_markdown() -> None:
    assert translated("a.md", b"Ja.", lambda _: "a *b* [c](d) <e>\n") == b"a \\*b\\* \\[c\\](d) \\<e>\n"


def test_subtitles_keep_times_and_lines() -> None:
    assert (
        translated("a.srt", SRT.encode()).decode()
        == """1
00:00:01,000 --> 00:00:02,000
DER <i>SCHWARZE</i> HUND SCHLÄFT HEUTE
SEHR LANGE IN SEINEM KORB.

2
00:00:03,000 --> 00:00:04,000
- KOMMST DU?
- {\\an8}NEIN!
"""
    )


def test_web_subtitles_keep_notes_styles_and_voices() -> None:
    assert translated("a.vtt", VTT.encode()).decode() == VTT.replace("Der &amp; Hund", "DER &amp; HUND")


def test_messages_without_a_translation_get_one() -> None:
    catalogue = polib.pofile(translated("a.po", PO.encode()).decode())
    assert [(entry.msgid, entry.msgstr) for entry in catalogue if not entry.msgid_plural] == [
        ("Guten Morgen!", "GUTEN MORGEN!"), ("fertig", "done")
    ]  # fmt: skip
    assert catalogue[1].msgstr_plural == {0: "EIN HUND", 1: "VIELE HUNDE"}
    assert catalogue[0].tcomment == "Ein Kommentar"


def test_only_the_translations_of_messages_are_new() -> None:
    text = PO.replace('"Guten Morgen!"\nmsgstr ""', '"Guten Morgen!"\nmsgstr "GUTEN MORGEN!"')
    text = text.replace('[0] ""\nmsgstr[1] ""', '[0] "EIN HUND"\nmsgstr[1] "VIELE HUNDE"')
    assert translated("a.po", PO.encode()).decode() == text


def test_yaml_keeps_names_comments_and_anchors() -> None:
    text = translated("a.yaml", YAML.encode()).decode()
    assert yaml.safe_load(text)["de"] == {
        "gruss": "HALLO. DU DA!", "lang": "EINE ZEILE\nNOCH EINE\n", "zitat": 'EIN "HUND"', "verweis": 'EIN "HUND"',
        "zahl": 3,
    }  # fmt: skip
    assert text.startswith("# Kommentar\nde:\n")
    assert "# hier\n" in text


def test_json_keeps_names_and_layout() -> None:
    text = translated("a.json", JSON.encode()).decode()
    assert json.loads(text) == {"gruss": "HALLO!\nDU Ü DA", "zahl": 3, "liste": ['EIN "HUND"']}
    assert text.startswith('{\n  "gruss": "')
    assert ',\t"zahl": 3' in text


@pytest.mark.parametrize(("markup", "inner"), [(XLIFF, "g"), (XLIFF_2, "pc")])
def test_segments_of_xliff_get_targets_with_their_inline_elements(markup: str, inner: str) -> None:
    root = etree.fromstring(translated("a.xliff", markup.encode()))
    target = next(root.iter("{*}target"))
    assert "".join(target.itertext()).startswith("DER SCHWARZE HUND")
    assert (etree.QName(target[0]).localname, target[0].text, target[0].get("id")) == (inner, "SCHWARZE", "1")
    assert "".join(next(root.iter("{*}source")).itertext()).startswith("Der schwarze Hund")


def test_translated_and_locked_segments_of_xliff_stay() -> None:
    text = translated("a.xlf", XLIFF.encode()).decode()
    assert "<target>done</target>" in text
    assert "OTTO" not in text


def test_the_chapters_of_a_book_are_translated() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><p>Ein <i>Wort</i>.</p></body></html>'
    chapter = f'<?xml version="1.0"?>{page}'
    contents = '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navLabel><text>Kapitel eins</text></navLabel></ncx>'
    book = {
        "mimetype": b"application/epub+zip",
        "a.xhtml": chapter.encode(),
        "toc.ncx": contents.encode(),
        "book.opf": b'<package xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Ein Buch</dc:title></package>',
        "x.css": b"p {}",
    }
    assert sentences("a.epub", archive(book)) == ["Ein Wort.", "Kapitel eins", "Ein Buch"]
    assert b"<p>EIN <i>WORT</i>.</p>" in translated_parts(archive(book))["a.xhtml"]


def translated_parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(translated("a.epub", content))) as package:
        return {name: package.read(name) for name in package.namelist()}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_encoding_of_a_text_is_kept(encoding: str) -> None:
    assert translated("a.txt", "Schöne Grüße\r\n".encode(encoding)).decode(encoding) == "SCHÖNE GRÜSSE\r\n"


def test_html_is_read_and_written_in_the_encoding_that_it_declares() -> None:
    page = '<meta charset="iso-8859-1"><p title="Grün">Schön</p>'.encode("latin-1")
    assert translated("a.html", page, lambda text: f"{text} 日") == (
        '<meta charset="iso-8859-1"><p title="Grün &#26085;">Schön &#26085;</p>'.encode("latin-1")
    )


TEXT_FILES = {
    "a.md": MARKDOWN,
    "a.srt": SRT,
    "a.vtt": VTT,
    "a.yaml": YAML,
    "a.json": JSON,
    "a.txt": "Ja. Nein.\n\n x",
    "a.html": "<p>Ja.",
}


@pytest.mark.parametrize("name", TEXT_FILES)
def test_what_is_not_translated_stays_to_the_letter(name: str) -> None:
    content = TEXT_FILES[name].encode()
    assert translated(name, content, str) == content


MARKS = [
    "# ",
    "*",
    "**",
    "_",
    "`",
    "[",
    "](x)",
    "![",
    "\n",
    "\n\n",
    "> ",
    "- ",
    "1. ",
    "| a | b |\n|---|---|\n",
    "~~",
    "<b>",
    "\\",
    "&amp;",
    "    ",
    "Ein Hund. ",
    "x",
    "<http://a.b>",
    "  \n",
]


@given(st.lists(st.sampled_from(MARKS), max_size=25).map("".join) | st.text(max_size=40))
def test_any_markdown_comes_back_to_the_letter(text: str) -> None:
    content = text.replace("\0", "").encode("utf-8", "replace")
    assert translated("a.md", content, str) == content


@given(st.sampled_from(sorted({*TEXT_FILES, "a.po", "a.xliff"})), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_in_a_sentence(name: str, content: bytes) -> None:
    refusal = ""
    try:
        read_document(name, content)
    except UserError as error:
        refusal = str(error)
    assert not refusal or refusal.endswith(".")


@pytest.mark.parametrize("ending", FORMATS)
def test_no_format_takes_bytes_that_are_no_text(ending: str) -> None:
    with pytest.raises(UserError):
        read_document(f"a{ending}", b"\xff\x00\xff")


def test_code_is_protected_also_where_it_is_made_of_words() -> None:
    assert sentences("a.md", b"Siehe `make test`.") == ["Siehe `make test`."]
    assert translated("a.md", b"Siehe `make test`.", lambda text: text.replace("Siehe", "See")) == b"See `make test`."
    page = b"<p>Siehe <code>make test</code>.</p>"
    assert (
        translated("a.html", page, lambda text: text.replace("Siehe", "See")) == b"<p>See <code>make test</code>.</p>"
    )
