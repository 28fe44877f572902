"""Byte-pair encoding with given merges; the expected cuts are worked out by hand."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskpredict.bpe import BytePairs
from maskpredict.errors import UserError

CODES = "#version: 0.2\nl o\nlo w\ne r</w>\ne s\nn e\nlow er</w>\n"


def read(folder: Path, text: str) -> BytePairs:
    path = folder / "codes"
    path.write_text(text, encoding="utf-8")
    return BytePairs.read(path)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("lower", ("lower",)),
        ("low", ("lo", "w")),  # its w ends the word, the w of the list does not
        ("lowest", ("low", "es", "t")),
        ("newer", ("ne", "w", "er")),
        ("lolo", ("lo", "l", "o")),
        ("ex", ("e", "x")),
        ("é", ("é",)),
    ],
)
def test_words_are_cut_by_the_earliest_merges(tmp_path: Path, word: str, parts: tuple[str, ...]) -> None:
    assert read(tmp_path, CODES).cut(word) == parts


def test_a_pair_is_merged_wherever_it_stands_from_the_left(tmp_path: Path) -> None:
    assert read(tmp_path, "#version: 0.2\na a\n").cut("aaaaab") == ("aa", "aa", "a", "b")


def test_of_a_merge_listed_twice_the_first_place_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "#version: 0.2\na b\nb c\na b\n").cut("abcd") == ("ab", "c", "d")


@pytest.mark.parametrize("header", ["", "#version: 0.1\n"])
def test_in_the_first_version_the_end_of_a_word_is_a_symbol_of_its_own(tmp_path: Path, header: str) -> None:
    pairs = read(tmp_path, f"{header}l o\nlo w\nlow </w>\nt </w>\n")
    assert pairs.cut("low") == ("low",)
    assert pairs.cut("lowt") == ("low", "t")
    assert pairs.cut("lo") == ("lo",)


def test_a_third_column_holds_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "l o 17\nlo w</w> 9\n").cut("low") == ("low",)


@given(word=st.text(alphabet="lowernst", min_size=1, max_size=12))
def test_nothing_is_lost_and_pickling_changes_nothing(word: str) -> None:
    pairs = BytePairs([("l", "o"), ("lo", "w"), ("e", "r</w>"), ("n", "e"), ("s", "t</w>")])
    assert "".join(pairs.cut(word)) == word
    assert pickle.loads(pickle.dumps(pairs)).cut(word) == pairs.cut(word)


@pytest.mark.parametrize("text", ["", "#version: 0.2\n", "one\n", "a b c d\n"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match="is not a file of BPE codes"):
        read(tmp_path, text)
