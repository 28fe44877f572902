"""Text is split where a reader would split it, and nothing is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.serve.text.sentences import MAX_SENTENCE, split_sentences


def split(text: str, language: str = "de") -> list[str]:
    return [segment.text for segment in split_sentences(text, language) if segment.is_sentence]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Haus ist alt. | Der Garten ist schön.", "de"),
        ("Kommst du mit? | Ja! | Gern.", "de"),
        ("Er zögerte … | Dann ging er.", "de"),
        ("Sie ging ... | Niemand sah es.", "de"),
        ("Er sagte: „Ich komme.“ | Dann legte er auf.", "de"),
        ("Sie rief: »Halt!« | Alle blieben stehen.", "de"),
        ("Das war 1989. | Danach wurde alles anders.", "de"),
        ("Er kam um acht Uhr. | 20 Leute warteten schon.", "de"),
        ("Wir brauchen Brot, Milch usw. | Das Geld reicht.", "de"),
        ("It was late. | We went home.", "en"),
        ('"Stop!" | He did not listen. | (Nobody did.) | Then it rained.', "en"),
        ("She is 12. | Her brother is 9.", "en"),
        ("He is taller than I. | Nobody cares.", "en"),
        ("The shop opens at 8 a.m. | It closes late.", "en"),
        ("I said no. | Then he left.", "en"),
        ("World War II. | That was the topic.", "en"),
        ("Use version 2.0. | It is faster.", "en"),
        ("今天下雨。|我在家！|你呢？", "zh"),
        ("¿Vienes? | ¡Claro!", "es"),
        ("Really?! | You bet.", "en"),
    ],
)
def test_sentences_end_where_a_reader_would_say(text: str, language: str) -> None:
    expected = [part.strip() for part in text.split("|")]
    joined = text.replace("|", "") if language == "zh" else text.replace(" | ", " ")
    assert split(joined, language) == expected


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Er mag Tiere, z. B. Hunde und Katzen.", "de"),
        ("Er mag Tiere, z.B. Hunde und Katzen.", "de"),
        ("Das heißt, d. h. Anna kommt nicht.", "de"),
        ("Morgen kommt Dr. Weber mit Prof. Dr. med. Lang.", "de"),
        ("Fragen Sie Hrn. Dipl.-Ing. Kurz.", "de"),
        ("Am 3. Oktober ist Feiertag.", "de"),
        ("Die Feier ist am 12. Mai um 8 Uhr.", "de"),
        ("Im 19. Jahrhundert gab es das nicht.", "de"),
        ("Der II. Weltkrieg dauerte sechs Jahre.", "de"),
        ("Siehe Abb. 4 und Kap. 2 auf S. 17.", "de"),
        ("Nach Art. 5 Abs. 2 ist das verboten.", "de"),
        ("Das kostet ca. 30 Euro bzw. Dollar.", "de"),
        ("Sie wohnt in St. Gallen in der Langen Str. 7.", "de"),
        ("J. S. Bach spielte Orgel.", "de"),
        ("„Wirklich?“ fragte er leise.", "de"),
        ("Sie wartete … und schwieg.", "de"),
        ("1. Einleitung", "de"),
        ("2. How it began", "en"),
        ("Mr. Smith met Mrs. Jones and Dr. Brown.", "en"),
        ("See Fig. 3 and No. 5, pp. 12 to 20.", "en"),
        ("It was the U.S. Senate.", "en"),
        ("She was born on Jan. 5 in St. Louis.", "en"),
        ("Cats vs. Dogs, again.", "en"),
        ("It costs 3.50 at www.example.org today.", "en"),
        ("Wait... what?", "en"),
    ],
)
def test_a_point_that_ends_no_sentence_cuts_nothing(sentence: str, language: str) -> None:
    assert split(sentence, language) == [sentence]


def test_line_breaks_and_blank_lines_are_boundaries_that_stay() -> None:
    text = "  Titel\n\n\nErster Satz. Zweiter Satz.  \r\n\tEnde\n"
    assert split(text) == ["Titel", "Erster Satz.", "Zweiter Satz.", "Ende"]
    assert [segment.text for segment in split_sentences(text, "de") if not segment.is_sentence] == [
        "  ", "\n", "\n", "\n", " ", "  ", "\r\n", "\t", "\n",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "12.03.2024", "---", "* * *", "🙂", "1 + 1 = 2"])
def test_text_without_letters_is_not_translated(text: str) -> None:
    assert split(text) == []


def test_a_very_long_sentence_is_cut_behind_a_comma() -> None:
    clause = "und dann gingen wir weiter, "
    pieces = split((clause * 60).strip())
    assert all(len(piece) <= MAX_SENTENCE for piece in pieces)
    assert all(piece.endswith(",") for piece in pieces)
    assert len(pieces) == 3


def test_a_very_long_sentence_without_commas_is_cut_at_a_space() -> None:
    pieces = split("immer " * 400)
    assert all(set(piece.split()) == {"immer"} for piece in pieces)


def test_a_very_long_word_is_cut_anywhere() -> None:
    assert [len(piece) for piece in split("a" * (2 * MAX_SENTENCE + 5))] == [MAX_SENTENCE, MAX_SENTENCE, 5]


@pytest.mark.parametrize("unit", [".", '."', "a. ", "A. ", "a", ". ", "。", '"', " ", "3. "])
def test_no_text_takes_long(unit: str) -> None:
    begin = time.perf_counter()
    split_sentences(unit * (100_000 // len(unit)), "de")
    assert time.perf_counter() - begin < 2


@given(st.text(alphabet='aB3 .!?,…"„“)\n\r\t。é', max_size=120), st.sampled_from(["de", "en", "zz"]))
def test_nothing_is_lost_or_changed(text: str, language: str) -> None:
    found = split_sentences(text, language)
    assert "".join(segment.text for segment in found) == text
    assert all(segment.text.strip() == segment.text for segment in found if segment.is_sentence)


@given(st.text(max_size=1_500))
def test_any_text_can_be_split(text: str) -> None:
    found = split_sentences(text, "de")
    assert "".join(segment.text for segment in found) == text
    assert all(len(segment.text) <= MAX_SENTENCE for segment in found if segment.is_sentence)
