"""Vocabularies: special ids, sampling, joint and separate ones, reuse, and impossible sizes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from maskpredict.corpus.reading import Pair
from maskpredict.corpus.vocabulary import (
    VocabularyConfig,
    learn_tokenizers,
    reuse_tokenizers,
    sample_pairs,
)
from maskpredict.errors import UserError
from maskpredict.tokenizer import SpecialIds


@pytest.fixture
def sample(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(*pair) for pair in pairs]


def test_a_joint_vocabulary_is_one_tokenizer_for_both_sides(sample: list[Pair]) -> None:
    tokenizers = learn_tokenizers(sample, VocabularyConfig(size=100))
    assert tokenizers.source is tokenizers.target
    assert tokenizers.source.vocab_size == 100
    for text in sample[0]:
        assert tokenizers.source.decode(tokenizers.source.encode(text)) == text


def test_separate_vocabularies_know_their_own_side_only(sample: list[Pair]) -> None:
    tokenizers = learn_tokenizers(sample, VocabularyConfig(size=60, joint=False))
    assert SpecialIds().unk not in tokenizers.source.encode(sample[0].source)
    assert SpecialIds().unk in tokenizers.source.encode(sample[0].target)
    assert SpecialIds().unk not in tokenizers.target.encode(sample[0].target)


def test_learning_twice_gives_the_same_file(sample: list[Pair], tmp_path: Path) -> None:
    for name in ("a", "b"):
        learn_tokenizers(sample, VocabularyConfig(size=100)).source.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_size_beyond_the_text_is_refused_with_the_largest_possible_one(sample: list[Pair]) -> None:
    with pytest.raises(UserError, match=r"at most \d+ subwords, not 50000") as refused:
        learn_tokenizers(sample, VocabularyConfig(size=50_000))
    largest = int(str(refused.value).split("at most ")[1].split()[0])
    assert learn_tokenizers(sample, VocabularyConfig(size=largest)).source.vocab_size == largest
    with pytest.raises(UserError, match=f"at most {largest} "):
        learn_tokenizers(sample, VocabularyConfig(size=largest + 1))


def test_a_size_below_the_alphabet_is_refused_with_the_smallest_possible_one(sample: list[Pair]) -> None:
    with pytest.raises(UserError, match=r"ask for at least \d+") as refused:
        learn_tokenizers(sample, VocabularyConfig(size=9))
    smallest = int(str(refused.value).split("at least ")[1].split(",")[0])
    assert learn_tokenizers(sample, VocabularyConfig(size=smallest)).source.vocab_size == smallest


def test_normalization_can_be_switched_off(sample: list[Pair]) -> None:
    text = "ba ﬁ ba"
    with_it = [*sample, Pair(text, text)]
    folded = learn_tokenizers(with_it, VocabularyConfig(size=100)).source
    exact = learn_tokenizers(with_it, VocabularyConfig(size=100, normalization="identity")).source
    assert folded.decode(folded.encode(text)) == "ba fi ba"
    assert exact.decode(exact.encode(text)) == text


def test_byte_fallback_spells_what_the_vocabulary_lacks(sample: list[Pair]) -> None:
    lossy = learn_tokenizers(sample, VocabularyConfig(size=400)).source
    spelling = learn_tokenizers(sample, VocabularyConfig(size=400, byte_fallback=True)).source
    assert lossy.decode(lossy.encode("ba 😀")).split() == ["ba", "⁇"]
    assert spelling.decode(spelling.encode("ba 😀")) == "ba 😀"


def test_rare_characters_can_be_left_out(sample: list[Pair]) -> None:
    with_rare = [*sample, Pair("ба", "ба")]
    covered = learn_tokenizers(with_rare, VocabularyConfig(size=100)).source
    uncovered = learn_tokenizers(with_rare, VocabularyConfig(size=100, character_coverage=0.995)).source
    assert SpecialIds().unk not in covered.encode("б")
    assert SpecialIds().unk in uncovered.encode("б")


def test_the_sample_is_reproducible_and_depends_on_the_seed() -> None:
    stream = [Pair(str(i), str(i)) for i in range(1_000)]
    drawn = sample_pairs(stream, 50, seed=1)
    assert drawn == sample_pairs(stream, 50, seed=1)
    assert drawn != sample_pairs(stream, 50, seed=2)
    assert len(set(drawn)) == 50
    assert sample_pairs(stream[:7], 50, seed=1) == stream[:7]


def test_every_pair_is_equally_likely_to_be_sampled() -> None:
    stream = [Pair(str(i), "") for i in range(20)]
    counts = Counter(pair.source for seed in range(2_000) for pair in sample_pairs(stream, 5, seed))
    # Expected 500 each, standard deviation 19.4: five of them either way.
    assert len(counts) == 20
    assert all(400 < count < 600 for count in counts.values())


def test_a_joint_vocabulary_is_reused_from_a_file_or_a_folder(sample: list[Pair], tmp_path: Path) -> None:
    learned = learn_tokenizers(sample, VocabularyConfig(size=100))
    (file,) = learned.save(tmp_path)
    for place in (file, tmp_path):
        reused = reuse_tokenizers(place, "xx", "yy")
        assert reused.joint
        assert reused.source.encode(sample[0].source) == learned.source.encode(sample[0].source)


@pytest.mark.parametrize("description", ["dataset.json", "config.json"])
def test_separate_vocabularies_change_sides_for_the_opposite_direction(
    sample: list[Pair], tmp_path: Path, description: str
) -> None:
    learned = learn_tokenizers(sample, VocabularyConfig(size=60, joint=False))
    learned.save(tmp_path)
    languages = {"languages": {"source": "xx", "target": "yy"}}
    (tmp_path / description).write_text(json.dumps(languages))
    text = sample[0].source
    assert reuse_tokenizers(tmp_path, "xx", "yy").source.encode(text) == learned.source.encode(text)
    assert reuse_tokenizers(tmp_path, "yy", "xx").target.encode(text) == learned.source.encode(text)


def test_reusing_from_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no vocabulary to reuse at"):
        reuse_tokenizers(tmp_path / "nowhere", "xx", "yy")
    with pytest.raises(UserError, match="has no tokenizer"):
        reuse_tokenizers(tmp_path, "xx", "yy")
