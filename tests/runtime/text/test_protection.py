"""Translations keep what must not change, with real models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maskpredict import Translator, UserError


@pytest.mark.parametrize(
    "text",
    ["12345", "!!!", "+49 30 1234567", "DE89 3704 0044 0532 0130 00", "anna.mueller@beispiel.de", "{a} {b}", "日本"],
)
def test_a_line_with_nothing_to_translate_stays(german: Translator, text: str) -> None:
    assert german.translate([text])[0].text == text


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("Hallo {name}! Es gibt %s neue Nachrichten.", ["{name}", "%s"]),
        ("<title>Willkommen</title>", ["<title>Welcome</title>"]),
        ("Ich liebe dich ❤️😊", ["I love you ❤️😊"]),
        ("IBAN: DE89 3704 0044 0532 0130 00", ["DE89 3704 0044 0532 0130 00"]),
        ("Besuchen Sie https://www.beispiel.de/seite?x=1 noch heute!", ["https://www.beispiel.de/seite?x=1"]),
        ("Er sagte שלום zu mir.", ["שלום"]),
        ("Die Fläche beträgt 20 m².", ["20 m²"]),
        ("Es kostet 1.250,50 Euro.", ["1,250.50"]),
        ("Wir haben 750 ml Milch gekauft.", ["750 ml"]),
        ("# Einleitung", ["# "]),
        ("- [ ] Brot und Milch", ["- [ ] "]),
        ("   Der Satz ist eingerückt.  ", ["   ", ".  "]),
        (
            "{a}, {b}, {c}, {d}, {e}, {f}, {g}, {h}, {i}, {j}, {k} und {l} sind da.",
            [f"{{{c}}}" for c in "abcdefghijkl"],
        ),
    ],
)
def test_spans_numbers_and_frames_survive(german: Translator, source: str, kept: list[str]) -> None:
    (translation,) = german.translate([source])
    assert [span for span in kept if span not in translation.text] == []
    assert "⁇" not in translation.text


def test_a_name_stands_for_a_word_and_moves_with_it(english: Translator) -> None:
    (translation,) = english.translate(["Have you seen {film} yet?"])
    assert translation.text == "Hast du {film} schon gesehen?"
    assert "▁{film}" in translation.tokens


def test_capitals_come_back(german: Translator) -> None:
    danger, title = german.translate(["LEBENSGEFAHR", "Das Leben Der Anderen"])
    assert danger.text.isupper()
    assert title.text.istitle()


def test_a_heading_gets_no_full_stop_and_a_sentence_keeps_its_own(german: Translator) -> None:
    heading, sentence = german.translate(["Der Hund bellt", "Der Hund bellt."])
    assert sentence.text == f"{heading.text}."
    assert heading.text[-1].isalpha()


def test_plain_sentences_are_translated_exactly_as_without_protection(german: Translator) -> None:
    sentences = [
        "Der Ausschuss wird morgen über diesen Bericht abstimmen.",
        "Wo ist der Bahnhof?",
        "Im Jahr 1998 kamen drei Schiffe an, und 250 Gäste blieben.",
        "Fragen Sie Ihren Arzt.",
        "„Das ist gut“, sagte sie - und ging.",
    ]
    assert german.translate(sentences) == german.translate(sentences, raw=True)


def test_raw_gives_what_the_model_writes(german: Translator) -> None:
    (translation,) = german.translate(["Hallo {name}!"], raw=True)
    assert "{name}" not in translation.text


def test_a_run_on_sentence_keeps_its_clauses(german: Translator) -> None:
    animals = ["Hund", "Bär", "Fisch", "Wolf", "Vogel", "Hase"]
    clauses = [f"der {animals[place % 6]} Nummer {place} schläft" for place in range(101, 131)]
    (translation,) = german.translate(["Heute ist es so: " + ", ".join(clauses) + "."])
    assert re.findall(r"\d+", translation.text) == [str(place) for place in range(101, 131)]
    assert len(translation.parts) > 1


def test_every_hypothesis_is_protected(german: Translator) -> None:
    (translation,) = german.translate(["Hallo {name}, wir sehen uns um 14.30 Uhr."], num_hypotheses=3)
    assert translation.hypotheses
    assert all("{name}" in one.text and "14.30" in one.text for one in translation.hypotheses)


def test_an_autoregressive_model_keeps_them_too() -> None:
    translator = Translator("de-en-ar", device="cpu", intra_threads=1)
    sources = ["Die Datei {file} wurde in /home/anna gefunden.", "Die Nummer ist 83920174 ✅"]
    first, second = translator.translate(sources, beam_size=1)
    assert "{file}" in first.text
    assert "/home/anna" in first.text
    assert "83920174 ✅" in second.text


def test_a_vocabulary_without_names_keeps_spans_between_the_words(cmlm_folder: Path) -> None:
    cmlm = Translator(cmlm_folder)
    separate = [one.text.removesuffix(".") for one in cmlm.translate(["luri tisa.", "bane."])]
    (translation,) = cmlm.translate(["luri tisa 🙂 bane."])
    assert translation.text == f"{separate[0]} 🙂 {separate[1]}."


def test_a_gap_is_filled_around_a_placeholder(german: Translator) -> None:
    (filled,) = german.fill(["Die Datei {file} ist leer."], ["The ___ {file} is empty."])
    assert re.fullmatch(r"The .+ \{file\} is empty\.", filled.text)


def test_tokens_of_a_translation_can_be_given_back_as_a_template(german: Translator) -> None:
    from maskpredict.runtime.lines import Line

    (translation,) = german.translate(["Wir haben {name} gestern gesehen."])
    template = tuple(None if place == 1 else token for place, token in enumerate(translation.tokens))
    (again,) = german.translate_lines([Line("Wir haben {name} gestern gesehen.", template=template)])
    assert again.text == translation.text


@pytest.mark.parametrize("phrase", ["日本", "❤"])
def test_a_pin_outside_of_the_vocabulary_gets_a_sentence(german: Translator, phrase: str) -> None:
    with pytest.raises(UserError, match=f"the pin '{phrase}' has characters that the model's vocabulary lacks"):
        german.translate(["Guten Morgen."], pins=[[phrase]])


def test_a_pin_may_contain_a_placeholder_of_the_source(german: Translator) -> None:
    (translation,) = german.translate(["Hallo {name}, guten Morgen."], pins=[["dear {name}"]])
    assert "dear {name}" in translation.text


def test_a_plain_list_of_pins_gets_a_sentence(german: Translator) -> None:
    with pytest.raises(UserError, match="put the phrases of one text into a list of their own"):
        german.translate(["Guten Morgen."], pins=["morning"])


def test_a_pin_at_the_end_leaves_the_full_stop(german: Translator) -> None:
    source = "Der Ausschuss wird morgen über diesen Bericht abstimmen."
    for raw in (False, True):
        (translation,) = german.translate([source], pins=[["next week"]], raw=raw)
        assert translation.text.endswith("next week.")


def test_words_and_short_headings_are_translated_as_such(german: Translator) -> None:
    sources = ["Zusammenfassung", "Anhang", "Hund", "Schriftliche Erklärungen"]
    assert [one.text for one in german.translate(sources)] == ["Summary", "Annex", "Dog", "Written statements"]


def test_units_keep_their_distance_from_the_number(german: Translator) -> None:
    apart, together = german.translate(["Die Temperatur beträgt 23,5 °C.", "Die Temperatur beträgt 23,5°C."])
    assert "23.5 °C" in apart.text
    assert "23.5°C" in together.text


def test_headings_get_no_article_that_they_did_not_have(german: Translator) -> None:
    assert [one.text for one in german.translate(["Programm", "Ort", "Der Hund"])] == ["Programme", "Place", "The dog"]
