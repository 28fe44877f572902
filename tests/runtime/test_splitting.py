"""Where a line that is too long is cut: nothing is lost, and the cuts hurt as little as possible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maskpredict.runtime.splitting import pieces_of


def encode(text: str) -> list[int]:
    """A tokenizer in which every character but the space is a subword."""
    return [ord(character) for character in text if not character.isspace()]


def split(text: str, limit: int, language: str = "en") -> list[str]:
    return ["".join(map(chr, ids)) for ids in pieces_of(text, language, encode, limit)]


def test_what_fits_stays_whole() -> None:
    assert split("One. Two.", 8) == ["One.Two."]


def test_cuts_are_at_sentence_ends() -> None:
    assert split("One! Two? Three… Four.", 7) == ["One!", "Two?", "Three…", "Four."]


def test_a_closing_quote_stays_with_its_sentence() -> None:
    assert split('He said "no." Then he left.', 15) == ['Hesaid"no."', "Thenheleft."]


def test_a_point_inside_a_number_is_no_end() -> None:
    assert split("It is 3.14 now. Yes.", 12) == ["Itis3.14now.", "Yes."]


def test_chinese_sentences_end_without_a_space() -> None:
    assert split("今天下雨。我在家！", 5, "zh") == ["今天下雨。", "我在家！"]


def test_a_long_sentence_is_cut_at_commas_and_packed_again() -> None:
    assert split("aa, bb, cc, dd.", 6) == ["aa,bb,", "cc,dd."]


def test_a_long_clause_is_cut_at_spaces() -> None:
    assert split("aaa bbb ccc", 6) == ["aaabbb", "ccc"]


def test_a_long_word_is_cut_anywhere() -> None:
    assert split("abcdefgh", 3) == ["abc", "def", "gh"]


def test_no_text_is_no_piece() -> None:
    assert split("   ", 3) == []


@given(st.text(alphabet='ab.,;! 。"', max_size=80), st.integers(1, 20))
def test_nothing_is_lost_and_nothing_is_too_long(text: str, limit: int) -> None:
    pieces = pieces_of(text, "en", encode, limit)
    assert [token for piece in pieces for token in piece] == encode(text)
    assert all(0 < len(piece) <= limit for piece in pieces)
