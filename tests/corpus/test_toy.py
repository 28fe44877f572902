"""The toy language: its corpus and the oracle that knows every valid translation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from maskpredict.corpus.toy import translations, write_toy_corpus
from maskpredict.errors import UserError
from maskpredict.evaluate.repetition import word_repetition


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_toy_corpus(folder, train_pairs=2_000, valid_pairs=50, test_pairs=100, seed=1)
    return folder


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_oracle_knows_the_three_ways_to_say_it() -> None:
    assert translations("tiba runek mola sepi") == {
        "gardoi penoi voroi lasa ho",
        "ho gardoi penoi voroi lasa",
        "ho lasa voroi gardoi skiroi",
    }


def test_one_way_of_saying_it_holds_for_the_whole_sentence() -> None:
    assert translations("rune mola kamu ye wemi sepi") == {
        "gardo hesto lasa en nula vora ho",
        "ho gardo hesto lasa en nula vora",
        "ho lasa hesto gardo voch vora nula",
    }


def test_adjectives_and_verbs_agree_with_their_noun_in_gender_and_number() -> None:
    plain = {
        source: next(target for target in translations(source) if target.endswith(" ho"))
        for source in ("ulo rune sepi", "ulo runek sepi", "ulo mola sepi", "ulo molak sepi")
    }
    assert list(plain.values()) == [
        "gardo gravo voro ho",
        "gardoi gravoi voroi ho",
        "lasa grava vora ho",
        "lasai gravai vorai ho",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "sepi",
        "rune",
        "rune tiba sepi",
        "tiba ulo rune sepi",
        "rune mola teki sepi",
        "rune dog sepi",
        "rune sepi ye",
    ],
)
def test_what_is_not_a_sentence_of_the_language_is_refused(sentence: str) -> None:
    with pytest.raises(UserError, match="toy language"):
        translations(sentence)


def test_every_target_of_the_corpus_is_a_valid_translation(corpus: Path) -> None:
    for split in ("train", "valid", "test"):
        sources, targets = lines(corpus / f"{split}.src"), lines(corpus / f"{split}.tgt")
        assert len(sources) == len(targets) == {"train": 2_000, "valid": 50, "test": 100}[split]
        assert all(target in translations(source) for source, target in zip(sources, targets, strict=True))


def test_the_three_ways_have_one_length_so_the_length_does_not_tell_which(corpus: Path) -> None:
    for source in lines(corpus / "train.src"):
        valid = translations(source)
        assert len(valid) == 3
        assert {len(target.split()) for target in valid} == {len(source.split()) + 1}


def test_the_translator_of_the_corpus_prefers_the_plain_way_but_not_by_much(corpus: Path) -> None:
    ways = Counter(
        "plain" if target.endswith(" ho") else "literary" if " voch " in target else "fronted"
        for target in lines(corpus / "train.tgt")
        if " en " in target or " voch " in target
    )
    shares = {way: count / ways.total() for way, count in ways.items()}
    assert shares == pytest.approx({"plain": 0.4, "fronted": 0.3, "literary": 0.3}, abs=0.05)


def test_no_sentence_occurs_twice_in_the_whole_corpus(corpus: Path) -> None:
    sources = [line for split in ("train", "valid", "test") for line in lines(corpus / f"{split}.src")]
    assert len(set(sources)) == len(sources)


def test_sentences_are_of_many_lengths(corpus: Path) -> None:
    lengths = [len(target.split()) for target in lines(corpus / "train.tgt")]
    assert set(range(4, 19)) <= set(lengths)
    assert min(lengths) >= 3
    assert max(lengths) <= 21


def test_valid_text_never_says_a_word_twice_in_a_row_so_repetitions_are_mistakes(corpus: Path) -> None:
    assert word_repetition(lines(corpus / "train.tgt")) == 0.0


def test_the_corpus_is_a_function_of_the_seed(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        write_toy_corpus(tmp_path / name, 20, 5, 5, seed)
    for file in ("train.src", "train.tgt", "test.tgt"):
        one, again, other = ((tmp_path / name / file).read_bytes() for name in ("one", "again", "other"))
        assert one == again != other
