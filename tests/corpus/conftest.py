"""Small parallel corpora of an invented language pair: every word of `xx` has one translation in `yy`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from maskpredict.corpus.prepare import PrepareConfig
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig

Sentences = Sequence[tuple[str, str]]


def invented_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    syllables = ["ba", "ko", "ti", "lu", "ne", "sa", "mo", "ri"]
    words = [a + b for a in syllables for b in syllables]
    pairs = []
    for _ in range(count):
        sentence = [chance.choice(words) for _ in range(chance.randint(3, 9))]
        pairs.append((" ".join(sentence), " ".join(word[::-1].upper() for word in sentence)))
    return pairs


@pytest.fixture
def pairs() -> list[tuple[str, str]]:
    """300 different pairs that no filter objects to."""
    return list(dict.fromkeys(invented_pairs(400, seed=1)))[:300]


@pytest.fixture
def write_corpus(tmp_path: Path) -> Callable[[str, Sentences], CorpusConfig]:
    """Writes pairs as two plain files."""

    def write(name: str, sentences: Sentences) -> CorpusConfig:
        corpus = CorpusConfig(source=tmp_path / f"{name}.xx", target=tmp_path / f"{name}.yy")
        for path, side in ((corpus.source, 0), (corpus.target, 1)):
            assert path is not None
            path.write_bytes("".join(f"{pair[side]}\n" for pair in sentences).encode())
        return corpus

    return write


@pytest.fixture
def config(tmp_path: Path, pairs: Sentences, write_corpus: Callable[..., CorpusConfig]) -> PrepareConfig:
    """A complete, small configuration for tests to vary with `dataclasses.replace`."""
    return PrepareConfig(
        source_language="xx",
        target_language="yy",
        out=tmp_path / "data",
        train=(write_corpus("train", pairs),),
        valid=(write_corpus("valid", pairs[:20]),),
        test=(write_corpus("test", pairs[20:30]),),
        vocabulary=VocabularyConfig(size=100),
    )
