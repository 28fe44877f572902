"""Text is split where a reader would split it, and nothing is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.runtime.sentences import MAX_SENTENCE, cut_line, sentence_spans


def split(text: str, language: str = "de") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Das Haus ist alt. | Der Garten ist schön.", "de"),
        ("Kommst du mit? | Ja! | Gern.", "de"),
        ("Sie ging ... | Niemand sah es.", "de"),
        ("Er sagte: „Ich komme.“ | Dann legte er auf.", "de"),
        ("Sie rief: »Halt!« | Alle blieben stehen.", "de"),
        ("Das war 1989. | Danach wurde alles anders.", "de"),
        ("It was late. | We went home.", "en"),
        ('"Stop!" | He did not listen.', "en"),
        ("She is 12. | Her brother is 9.", "en"),
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
    begin = time.process_time()
    list(sentence_spans(unit * (100_000 // len(unit)), "de"))
    assert time.process_time() - begin < 2


@given(st.text(alphabet='aB3 .!?,…"„“)\t。é', max_size=120), st.sampled_from(["de", "en", "zh", "zz", "nowhere-x"]))
def test_every_character_of_a_line_is_in_one_sentence(line: str, language: str) -> None:
    spans = list(cut_line(line, language))
    assert "".join(line[start:end] for start, end in spans) == line


@given(st.text(alphabet="aB3 .!,\n\r\u2028é", max_size=120) | st.text(max_size=1_500))
def test_any_text_can_be_split_and_all_its_letters_are_in_sentences(text: str) -> None:
    found = split(text)
    assert all(piece.strip() == piece and len(piece) <= MAX_SENTENCE for piece in found)
    assert [c for piece in found for c in piece if c.isalpha()] == [c for c in text if c.isalpha()]
