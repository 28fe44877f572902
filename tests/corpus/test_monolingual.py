"""Text of one language becomes a data folder with sources alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.monolingual import write_monolingual
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.errors import UserError


@pytest.fixture
def data(config: PrepareConfig, pairs: Sequence[tuple[str, str]], write_corpus: Callable[..., CorpusConfig]) -> Path:
    """A data folder that learns from 250 pairs and is tested on others."""
    cut = {"train": pairs[:250], "valid": pairs[250:260], "test": pairs[260:270]}
    train, valid, test = ((write_corpus(split, own),) for split, own in cut.items())
    prepare(replace(config, train=train, valid=valid, test=test))
    return config.out


def test_what_is_new_becomes_sources_without_targets(
    data: Path, pairs: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    new = [source for source, _ in pairs[270:280]]
    long = " ".join(new)
    seen, held_out = pairs[0][0], [pairs[250][0], pairs[260][0].title() + "!"]
    (tmp_path / "first").write_text("\n".join([*new[:5], seen, *held_out, "", long, new[0]]) + "\n")
    (tmp_path / "second").write_text("\n".join([new[0], *new[5:]]) + "\n")
    write_monolingual(data, {"one": tmp_path / "first", "two": tmp_path / "second"}, 40, tmp_path / "out")
    out = Dataset(tmp_path / "out")
    assert out.check() == []
    train = out.split("train")
    assert [(part.name, part.first, part.pairs) for part in train.corpora] == [("one", 0, 5), ("two", 5, 5)]
    encode = out.tokenizers.source.encode
    assert len(encode(long)) > 40
    assert [train.source[pair].tolist() for pair in range(10)] == [encode(line) for line in new]
    assert train.target.lengths.tolist() == [0] * 10
    assert out.split("test").texts == Dataset(data).split("test").texts


def test_text_with_nothing_new_is_refused(data: Path, pairs: Sequence[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "old").write_text(f"{pairs[0][0]}\n")
    with pytest.raises(UserError, match=r"old has no sentence that .* does not have; leave it out"):
        write_monolingual(data, {"old": tmp_path / "old"}, 40, tmp_path / "out")
    assert not (tmp_path / "out").exists()
