"""Counts of sentences give sacreBLEU's scores again, for the whole test set and for any resample of it."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu

from maskpredict.evaluate.sentence_counts import Counts, bleu, count_sentences, draws, repeated

REFERENCES = [
    "The bakery is closed today.",
    "He sold 3,917 bicycles to the town.",
    "No.",
    "It rains, and it rains more.",
]
GOOD = ["The bakery is closed now.", "He sold 3,917 bikes to the town.", "No.", "It rains and rains more."]
POOR = ["bakery bakery closed", "he sold sold", "yes", ""]


def counts(hypotheses: list[str]) -> Counts:
    return count_sentences(hypotheses, REFERENCES, [text.split() for text in hypotheses], target_language="en")


@pytest.mark.parametrize("hypotheses", [GOOD, POOR, REFERENCES, ["", "", "", ""], ["one", "two", "three", "four"]])
def test_bleu_of_counts_is_sacrebleus(hypotheses: list[str]) -> None:
    once = np.ones((1, len(REFERENCES)))
    wanted = sacrebleu.corpus_bleu(hypotheses, [REFERENCES]).score
    assert bleu(counts(hypotheses), once)[0] == pytest.approx(wanted, abs=1e-9)


def test_bleu_of_a_resample_is_that_of_its_sentences() -> None:
    drawn = draws(len(REFERENCES), resamples=20)
    for row, score in zip(drawn, bleu(counts(GOOD), drawn), strict=True):
        chosen = [number for number, times in enumerate(row) for _ in range(int(times))]
        assert len(chosen) == len(REFERENCES)
        texts, references = ([lines[number] for number in chosen] for lines in (GOOD, REFERENCES))
        assert score == pytest.approx(sacrebleu.corpus_bleu(texts, [references]).score, abs=1e-9)


def test_chinese_words_are_those_of_its_own_tokenizer() -> None:
    texts, references = ["我喜欢猫。", "今天下雨。"], ["我喜欢小猫。", "今天下大雨。"]
    found = count_sentences(texts, references, [list(text) for text in texts], target_language="zh")
    wanted = sacrebleu.corpus_bleu(texts, [references], tokenize="zh").score
    assert bleu(found, np.ones((1, 2)))[0] == pytest.approx(wanted, abs=1e-9)


def test_repeated_tokens_are_counted_in_every_resample() -> None:
    assert repeated(counts(POOR), np.ones((1, 4)))[0] == pytest.approx(2 / 7)
    assert repeated(counts(POOR), np.array([[0, 1, 0, 0], [0, 0, 0, 4]])).tolist() == [pytest.approx(1 / 3), 0.0]


def test_all_systems_are_resampled_alike_and_always_the_same() -> None:
    assert np.array_equal(draws(7, 5), draws(7, 5))
    assert not np.array_equal(draws(7, 5), draws(7, 5, seed=1))
    assert draws(7, 5).sum(1).tolist() == [7.0] * 5
