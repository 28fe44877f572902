"""Glossaries: how files are read, how terms are found, and translations that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict import Translator, UserError
from maskpredict.languages import Languages
from maskpredict.runtime.glossary.glossary import Glossary, Term
from maskpredict.runtime.glossary.reading import parse_glossary, read_glossary

GERMAN = Languages("de", "en")
TBX = """<?xml version="1.0"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><text><body>
<termEntry id="1"><langSet xml:lang="de-DE"><tig><term>Bericht</term></tig></langSet>
<langSet xml:lang="en"><tig><term>dossier</term></tig></langSet></termEntry>
<termEntry id="2"><langSet xml:lang="fr"><tig><term>chien</term></tig></langSet></termEntry>
</body></text></martif>"""


@pytest.fixture(scope="module")
def german() -> Translator:
    """Translates German into English."""
    return Translator("de-en-shallow", device="cpu", intra_threads=1)


def found(terms: dict[str, str], text: str) -> list[str]:
    glossary = Glossary((Term(source, target) for source, target in terms.items()), "de", "en")
    return [f"{text[match.start : match.end]}={match.term.target}" for match in glossary.find(text)]


@pytest.mark.parametrize(
    ("terms", "text", "matches"),
    [
        (
            {"Haus": "residence"},
            "Die Häuser und das Haus, nicht das Haushaltsbuch.",
            ["Häuser=residence", "Haus=residence"],
        ),
        ({"Bericht": "dossier"}, "Die Berichtigung des Berichts", ["Berichts=dossier"]),
        ({"Hund": "hound", "schwarzer Hund": "shuck"}, "Ein schwarzer Hund!", ["schwarzer Hund=shuck"]),
        ({"Morgen": "dawn"}, "Am Morgen, nicht morgen.", ["Morgen=dawn"]),
        ({"laufen": "jog"}, "Laufen hilft, also laufen wir.", ["Laufen=jog", "laufen=jog"]),
        ({"IT": "IT department"}, "Die IT sagt: it geht.", ["IT=IT department"]),
    ],
)
def test_terms_are_found_by_words_in_their_forms(terms: dict[str, str], text: str, matches: list[str]) -> None:
    assert found(terms, text) == matches


def test_a_form_with_a_term_of_its_own_is_that_term() -> None:
    terms = {"Haus": "residence", "Häuser": "residences"}
    for in_order in (terms, dict(reversed(terms.items()))):
        assert found(in_order, "Häuser und ein Haus") == ["Häuser=residences", "Haus=residence"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Bericht\tdossier\tfrom the old days\n\n", "tsv"),
        ("\ufeffBericht\tdossier\r\n", "tsv"),
        ('"Bericht","dossier"\n', "csv"),
        (TBX, "tbx"),
    ],
)
def test_files_are_read(content: str, kind: str) -> None:
    glossary = parse_glossary(content.encode(), kind, GERMAN)
    assert glossary.terms == (Term("Bericht", "dossier"),)


def test_a_note_makes_a_term_soft() -> None:
    assert parse_glossary(b"Bericht\tdossier\tsoft\n", "tsv", GERMAN).terms[0].soft


@pytest.mark.parametrize(
    ("content", "kind", "sentence"),
    [
        (b"", "tsv", "has no terms from de to en"),
        (b"Bericht\n", "tsv", "line 1 of the glossary has no source and target"),
        (b"Bericht\t \n", "tsv", "line 1 of the glossary has no source and target"),
        (b"...\tdossier\n", "tsv", "is empty; delete the entry"),
        (b"Bericht\tdossier\nBericht\treport\n", "tsv", "keep one of them"),
        ("Bücher\tbooks\n".encode("latin-1"), "tsv", "is not UTF-8"),
        (b"<martif><text>", "tbx", "is not well-formed XML"),
        (b'<!DOCTYPE m [<!ENTITY a "aaaa">]><m><term>&a;</term></m>', "tbx", "declares XML entities"),
    ],
)
def test_a_bad_file_gets_one_sentence(content: bytes, kind: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        parse_glossary(content, kind, GERMAN)


def test_the_sentence_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"missing\.tsv cannot be read"):
        read_glossary(tmp_path / "missing.tsv", GERMAN)
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(UserError, match=r"empty\.tsv: the glossary has no terms"):
        read_glossary(tmp_path / "empty.tsv", GERMAN)


def test_a_term_takes_the_place_of_the_word_it_translates(german: Translator, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("Bericht\tdossier\nSitzung\tplenary session\nHund\thound\n")
    texts = ["Der Bericht ist sehr lang.", "Die nächste Sitzung findet im Mai statt.", "Wo ist der Bahnhof?"]
    report, session, station = german.translate(texts, glossary=path)
    assert report.text == "The dossier is very long."
    assert "next plenary session" in session.text
    assert session.text.endswith(".")
    assert station == german.translate(texts)[2]


def test_a_term_of_several_words_leaves_none_of_them_behind(german: Translator) -> None:
    terms = [
        Term("Europäische Zentralbank", "ECB"),
        Term("Rat der Europäischen Union", "Council"),
        Term("öffentliche Sitzung", "plenary"),
        Term("nächste Woche", "soon"),
    ]
    texts = [
        "Der Präsident der Europäischen Zentralbank hat heute gesprochen.",
        "Die Europäische Zentralbank und der Rat der Europäischen Union sind sich einig.",
        "Wir hatten gestern eine öffentliche Sitzung.",
        "Ich komme nächste Woche wieder.",
    ]
    translations = [one.text for one in german.translate(texts, glossary=Glossary(terms, "de", "en"))]
    for translation, wanted in zip(translations, [["ECB"], ["ECB", "Council"], ["plenary"], ["soon"]], strict=True):
        assert all(word in translation for word in wanted)
        assert not any(word in translation for word in ("Central", "Bank", "Union", "public", "meeting", "week"))


def test_a_term_at_the_start_gets_a_capital(german: Translator) -> None:
    glossary = Glossary([Term("Hunde", "hounds")], "de", "en")
    (translation,) = german.translate(["Hunde haben Hunger."], glossary=glossary)
    assert translation.text.startswith("Hounds ")


def test_a_soft_term_may_be_inflected(german: Translator) -> None:
    texts = ["Zwei Hunde spielen im Schnee."]
    hard, soft = (Glossary([Term("Hund", "dog", is_soft)], "de", "en") for is_soft in (False, True))
    assert german.translate(texts, glossary=soft) == german.translate(texts)
    assert "dogs" in german.translate(texts, glossary=soft)[0].text
    assert "dogs" not in german.translate(texts, glossary=hard)[0].text


def test_terms_and_placeholders_share_a_sentence(german: Translator) -> None:
    glossary = Glossary([Term("Kunde", "client")], "de", "en")
    (translation,) = german.translate(["Der Kunde {name} hat 17 Briefe geschickt ✅"], glossary=glossary)
    assert [part for part in ("client", "{name}", "17", "✅") if part not in translation.text] == []


def test_a_term_outside_of_the_vocabulary_gets_a_sentence(german: Translator) -> None:
    with pytest.raises(UserError, match="the term '日本' has characters that the model's vocabulary lacks"):
        german.open_glossary(Glossary([Term("Japan", "日本")], "de", "en"))


def test_a_glossary_of_other_languages_gets_a_sentence(german: Translator) -> None:
    with pytest.raises(UserError, match="the glossary is from en to de, and the model from de to en"):
        german.open_glossary(Glossary([Term("dog", "Hund")], "en", "de"))


def test_a_model_that_cannot_pin_gets_a_sentence(autoregressive_folder: Path) -> None:
    translator = Translator(autoregressive_folder)
    with pytest.raises(UserError, match="cannot use a glossary; use a CMLM"):
        translator.translate(["luri."], glossary=Glossary([Term("luri", "IRUL")], "xx", "yy"))


def test_a_glossary_and_raw_exclude_each_other(german: Translator) -> None:
    with pytest.raises(UserError, match="leave out raw or pretokenized, or the glossary"):
        german.translate(["Guten Morgen."], glossary=Glossary([Term("Hund", "hound")], "de", "en"), raw=True)
