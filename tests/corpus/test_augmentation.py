"""Augmentation: which pairs are changed, how, and that both sides stay translations of each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maskpredict.corpus.augmentation import CORPUS_NAME, AugmentationConfig, augmented
from maskpredict.corpus.dataset import DatasetDescription
from maskpredict.corpus.lexicon import lexicon
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig, Pair
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.errors import UserError

NUMBER = Pair("Im Jahr 1999 kamen 3 Gäste.", "In 1999, 3 guests came.")
NAME = Pair("Gestern hat Leverkusen gewonnen.", "Yesterday Leverkusen won.")
PLAIN = Pair("Das ist gut.", "That is good.")


def test_no_pair_is_repeated_by_default() -> None:
    assert list(augmented([NUMBER, NAME, PLAIN], AugmentationConfig())) == []


def test_a_number_of_both_sides_is_replaced_by_the_same_number() -> None:
    changed = list(augmented([NUMBER] * 20, AugmentationConfig(numbers=1.0)))
    years = [(re.findall(r"\d{2,}", pair.source), re.findall(r"\d{2,}", pair.target)) for pair in changed]
    assert all(source == target and len(source) == 1 for source, target in years)
    assert len({source[0] for source, _ in years}) > 10
    assert all(" 3 Gäste" in pair.source and " 3 guests" in pair.target for pair in changed)


@pytest.mark.parametrize(
    "pair",
    [
        Pair("Es kostet 1.500 Euro.", "It costs 1,500 euros."),  # written differently
        Pair("Es sind 12 von 12.", "It is 12 of 12."),  # which of them?
        Pair("Um 15 Uhr.", "At 3 p.m."),  # on one side only
        PLAIN,
    ],
)
def test_a_pair_without_one_number_in_common_is_left_out(pair: Pair) -> None:
    assert list(augmented([pair] * 5, AugmentationConfig(numbers=1.0))) == []


def test_a_name_of_both_sides_is_replaced_by_names_of_the_text_or_made_of_them() -> None:
    other = Pair("Bremen liegt an der Weser.", "Bremen is on the Weser.")
    changed = list(augmented([other, NAME] * 20, AugmentationConfig(names=1.0)))
    won = [pair for pair in changed if pair.target.endswith(" won.")]
    names = {pair.target.removeprefix("Yesterday ").removesuffix(" won.") for pair in won}
    assert "Bremen" in names
    assert names - {"Bremen", "Weser", "Leverkusen"}, "none is invented"
    assert all(f" {pair.target.split()[1]} " in pair.source for pair in won)


def test_placeholders_are_the_same_on_both_sides() -> None:
    changed = list(augmented([NAME] * 50, AugmentationConfig(placeholders=1.0)))
    strings = {pair.target.removeprefix("Yesterday ").removesuffix(" won.") for pair in changed}
    assert all(f"hat {pair.target.split()[1]} gewonnen" in pair.source for pair in changed)
    assert "%s" in strings
    assert len(strings) > 20


def test_capitals_change_both_sides_and_lower_case_the_source_alone() -> None:
    assert list(augmented([PLAIN], AugmentationConfig(capitals=1.0))) == [Pair("DAS IST GUT.", "THAT IS GOOD.")]
    assert list(augmented([PLAIN], AugmentationConfig(lower_case=1.0))) == [Pair("das ist gut.", "That is good.")]


def test_bare_pairs_lose_their_final_mark_if_both_sides_have_one() -> None:
    pairs = [Pair("Danke!", "Thank you."), Pair("Wer da", "Who is there?"), Pair("Nun ...", "Well ...")]
    assert list(augmented(pairs, AugmentationConfig(bare=1.0))) == [Pair("Danke", "Thank you")]


def test_shares_are_of_all_pairs_and_a_seed_gives_the_same_pairs() -> None:
    pairs = [Pair(f"Satz Nummer {n}.", f"Sentence number {n}.") for n in range(10, 2010)]
    config = AugmentationConfig(numbers=0.1, capitals=0.2)
    first, again = (list(augmented(pairs, config)) for _ in range(2))
    assert first == again
    assert first != list(augmented(pairs, AugmentationConfig(numbers=0.1, capitals=0.2, seed=2)))
    in_capitals = sum(pair.source.isupper() for pair in first)
    assert in_capitals == pytest.approx(400, rel=0.15)
    assert len(first) - in_capitals == pytest.approx(200, rel=0.2)


def test_shares_beyond_all_pairs_are_refused() -> None:
    with pytest.raises(UserError, match=r"add up to 1\.2; use at most 1"):
        AugmentationConfig(numbers=0.6, names=0.6)


def test_words_that_share_their_pairs_are_translations_of_each_other() -> None:
    things = [("Hund", "dog"), ("Katze", "cat"), ("Maus", "mouse")]
    pairs = [Pair(f"Das {a} {v}.", f"The {b} {w}.") for a, b in things for v, w in [("bellt", "barks"), *things]] * 4
    words = lexicon(pairs, 10)
    assert {*map(Pair._make, things)} <= {*words}
    assert Pair("Das", "The") not in words, "the first word of a sentence"
    assert lexicon(pairs, 2) == words[:2]


def test_words_of_few_or_long_pairs_are_no_lexicon() -> None:
    rare = [Pair("Der Hund bellt.", "The dog barks.")] * 3
    long = [Pair("Ein " * 9 + "Hund.", "A " * 9 + "dog.")] * 9
    assert lexicon(rare + long, 10) == []


def test_prepare_adds_the_changed_pairs_as_a_corpus_with_its_own_weight(tmp_path: Path) -> None:
    lines = [NUMBER, NAME, PLAIN, *(Pair(f"Tag {n} von 77.", f"Day {n} of 77.") for n in range(10, 60))]
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in lines), encoding="utf-8")
    prepare(
        PrepareConfig(
            "de",
            "en",
            tmp_path / "data",
            train=(CorpusConfig(name="pairs", tsv=corpus),),
            vocabulary=VocabularyConfig(size=70),
            augmentation=AugmentationConfig(capitals=1.0, words=1, weight=0.5),
        )
    )
    train = DatasetDescription.read(tmp_path / "data").splits["train"]
    assert [(part.name, part.pairs, part.weight) for part in train.corpora] == [
        ("pairs", 53, 1.0),
        (CORPUS_NAME, 54, 0.5),
    ]
