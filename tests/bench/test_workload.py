"""The sentences that come with the package."""

from __future__ import annotations

import pytest

from maskpredict import UserError
from maskpredict.bench.config import BenchConfig
from maskpredict.bench.sentences import SENTENCES
from maskpredict.bench.workload import built_in_sentences, choose_sentences
from maskpredict.languages import Languages
from maskpredict.tokenizer import Tokenizers


def test_there_are_forty_different_pairs_from_short_to_long() -> None:
    assert len({pair.de for pair in SENTENCES}) == len({pair.en for pair in SENTENCES}) == 40
    for language in ("de", "en"):
        words = sorted(len(getattr(pair, language).split()) for pair in SENTENCES)
        assert words[0] <= 4
        assert words[-1] >= 30
        assert 19 <= sum(words) / 40 <= 24


def test_both_sides_of_a_pair_are_about_equally_long_and_end_alike() -> None:
    for pair in SENTENCES:
        assert 0.6 < len(pair.de) / len(pair.en) < 1.6, pair
        assert pair.de[-1] == pair.en[-1], pair


def test_they_can_be_raced_in_both_directions() -> None:
    there, back = built_in_sentences(Languages("de", "en")), built_in_sentences(Languages("en", "de"))
    assert there.source is not None
    assert there.source.texts == back.references[0].texts
    assert there.target_language == "en"


def test_models_of_other_languages_need_sentences_of_their_own() -> None:
    with pytest.raises(UserError, match="translates xx to yy; give a data folder"):
        built_in_sentences(Languages("xx", "yy"))


def test_the_same_sentences_are_drawn_with_the_same_seed(toy_tokenizers: Tokenizers) -> None:
    test_set = built_in_sentences(Languages("de", "en"))

    def drawn(seed: int) -> list[str]:
        config = BenchConfig(model="any", sentences=10, seed=seed)
        return choose_sentences(test_set, toy_tokenizers.source, 1_000, config).raced

    assert drawn(1) == drawn(1)
    assert len(drawn(1)) == 10
    assert set(drawn(1)) != set(drawn(2))


def test_sentences_are_raced_in_order_of_length_and_scored_against_their_own_references(
    toy_tokenizers: Tokenizers,
) -> None:
    config = BenchConfig(model="any", sentences=10, bleu_sentences=15)
    workload = choose_sentences(built_in_sentences(Languages("en", "de")), toy_tokenizers.source, 1_000, config)
    lengths = [len(toy_tokenizers.source.encode(text)) for text in workload.raced]
    assert lengths == sorted(lengths)
    assert workload.mean_subwords == sum(lengths) / 10
    assert len(workload.scored) == 15
    german = {pair.en: pair.de for pair in SENTENCES}
    assert workload.references == [[german[text] for text in workload.scored]]


def test_sentences_of_one_length_can_be_asked_for(toy_tokenizers: Tokenizers) -> None:
    config = BenchConfig(model="any", sentences=3, subwords=1)
    workload = choose_sentences(built_in_sentences(Languages("en", "de")), toy_tokenizers.source, 1_000, config)
    assert "The water is boiling." in workload.raced
    assert workload.scored == workload.raced


def test_sentences_too_long_for_a_model_are_not_raced(toy_tokenizers: Tokenizers) -> None:
    test_set = built_in_sentences(Languages("en", "de"))
    workload = choose_sentences(test_set, toy_tokenizers.source, 60, BenchConfig(model="any"))
    assert 0 < len(workload.raced) < 40
    assert all(len(toy_tokenizers.source.encode(text)) <= 60 for text in workload.raced)
    with pytest.raises(UserError, match="no sentence between 1 and 2 subwords"):
        choose_sentences(test_set, toy_tokenizers.source, 2, BenchConfig(model="any"))
