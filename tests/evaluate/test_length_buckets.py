"""BLEU by the length of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict.errors import UserError
from maskpredict.evaluate.length_buckets import bleu_by_length
from maskpredict.evaluate.scores import score_corpus


def sentence(words: int) -> str:
    return " ".join(f"w{place}" for place in range(words))


def test_bounds_belong_to_the_longer_bucket() -> None:
    texts = [sentence(words) for words in (1, 9, 10, 19, 20, 29, 30, 39, 40, 200)]
    buckets = bleu_by_length(texts, texts)
    assert [(bucket.shortest, bucket.below, bucket.sentences) for bucket in buckets] == [
        (1, 10, 2), (10, 20, 2), (20, 30, 2), (30, 40, 2), (40, None, 2),
    ]  # fmt: skip
    assert [bucket.bleu for bucket in buckets] == pytest.approx([100] * 5)


def test_a_bucket_is_scored_by_its_own_sentences_alone(texts: Path) -> None:
    hypotheses = (texts / "good.txt").read_text().splitlines()
    references = (texts / "ref.txt").read_text().splitlines()
    chosen = [row for row, text in enumerate(references) if 10 <= len(text.split()) + 1 < 20]  # and a full stop
    wanted = score_corpus([hypotheses[row] for row in chosen], [[references[row] for row in chosen]], metrics=["bleu"])
    bucket = bleu_by_length(hypotheses, references)[1]
    assert (bucket.sentences, bucket.bleu) == (len(chosen), wanted["bleu"])


def test_the_hypotheses_length_does_not_matter() -> None:
    buckets = bleu_by_length([sentence(50)], [sentence(5)])
    assert [bucket.sentences for bucket in buckets] == [1, 0, 0, 0, 0]
    assert buckets[1].bleu is None


def test_chinese_words_are_counted_as_bleu_does() -> None:
    text = "红色的船慢慢过河没有人看见"
    assert [bucket.sentences for bucket in bleu_by_length([text], [text], target_language="zh")] == [0, 1, 0, 0, 0]


def test_an_empty_reference_is_in_no_bucket() -> None:
    assert sum(bucket.sentences for bucket in bleu_by_length(["a", "b"], ["", "b"])) == 1


def test_bounds_must_increase() -> None:
    with pytest.raises(UserError, match="give increasing numbers"):
        bleu_by_length(["a"], ["a"], bounds=(1, 10, 10))
