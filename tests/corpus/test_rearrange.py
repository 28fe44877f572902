"""Data folders can be turned around, cut down to some corpora, and joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.rearrange import join_datasets, reverse_dataset
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.errors import UserError

Pairs = list[tuple[list[int], list[int]]]


@pytest.fixture(params=["joint", "separate"])
def data(request: pytest.FixtureRequest, config: PrepareConfig, write_corpus: Callable[..., CorpusConfig]) -> Path:
    """A data folder with the corpora one, two and three."""
    (whole,) = config.train
    assert whole.source is not None
    pairs = list(zip(*(path.read_text().splitlines() for path in (whole.source, whole.target) if path), strict=True))
    corpora = tuple(
        replace(write_corpus(name, pairs[first : first + 100]), name=name, weight=weight)
        for name, first, weight in (("one", 0, 1.0), ("two", 100, 2.0), ("three", 200, 3.0))
    )
    vocabulary = VocabularyConfig(size=100, joint=request.param == "joint")
    prepare(replace(config, train=corpora, vocabulary=vocabulary))
    return config.out


def pairs_of(folder: Path, *, turned: bool = False) -> Pairs:
    train = Dataset(folder).split("train")
    sides = (train.target, train.source) if turned else (train.source, train.target)
    return [(sides[0][pair].tolist(), sides[1][pair].tolist()) for pair in range(len(train))]


def test_a_folder_turned_around_is_sound_and_turned_again_is_what_it_was(data: Path, tmp_path: Path) -> None:
    reverse_dataset(data, tmp_path / "turned")
    turned = Dataset(tmp_path / "turned")
    assert turned.check() == []
    assert (turned.languages.source, turned.languages.target) == ("yy", "xx")
    assert pairs_of(turned.folder, turned=True) == pairs_of(data)
    texts, before = turned.split("valid").texts, Dataset(data).split("valid").texts
    assert texts is not None
    assert before is not None
    assert (texts.source, texts.target) == (before.target, before.source)
    line = before.target[0]
    assert turned.tokenizers.source.encode(line) == Dataset(data).tokenizers.target.encode(line)
    reverse_dataset(turned.folder, tmp_path / "again")
    for path in data.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_only_some_corpora_can_be_taken_under_other_names(data: Path, tmp_path: Path) -> None:
    reverse_dataset(data, tmp_path / "some", ["one", "three"], suffix="-back")
    some = Dataset(tmp_path / "some")
    assert some.check() == []
    parts = [(part.name, part.first, part.pairs, part.weight) for part in some.split("train").corpora]
    assert parts == [("one-back", 0, 100, 1.0), ("three-back", 100, 100, 3.0)]
    everything = pairs_of(data)
    assert pairs_of(some.folder, turned=True) == everything[:100] + everything[200:]


def test_joined_folders_have_the_text_of_both(data: Path, tmp_path: Path) -> None:
    reverse_dataset(data, tmp_path / "turned", ["two"], suffix="-back")
    reverse_dataset(tmp_path / "turned", tmp_path / "more")
    join_datasets([data, tmp_path / "more"], tmp_path / "both")
    both = Dataset(tmp_path / "both")
    assert both.check() == []
    assert [part.name for part in both.split("train").corpora] == ["one", "two", "three", "two-back"]
    assert pairs_of(both.folder) == pairs_of(data) + pairs_of(data)[100:200]
    assert np.array_equal(both.split("test").source.flat, Dataset(data).split("test").source.flat)


def test_what_does_not_fit_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no corpus 'four'; it has one, two, three"):
        reverse_dataset(data, tmp_path / "turned", ["one", "four"])
    reverse_dataset(data, tmp_path / "turned")
    with pytest.raises(UserError, match="has other languages or another vocabulary"):
        join_datasets([data, tmp_path / "turned"], tmp_path / "both")
    assert not (tmp_path / "both").exists()
