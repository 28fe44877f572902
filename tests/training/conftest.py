"""A small data folder, and runs on it that take a second or two."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskpredict.config import from_dict
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.training.config import TrainConfig

TINY = {
    "width": 16,
    "hidden": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.1,
    "max_positions": 64,
}
TIMING = {"seconds", "tokens_per_second"}


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 training pairs of two corpora, the second of weight 2, and 40 for validation."""
    folder = tmp_path_factory.mktemp("data")
    chance = random.Random(1)
    words = [a + b for a in ("ba", "ko", "ti", "lu") for b in ("ne", "sa", "mo", "ri", "ke", "fu")]

    def corpus(name: str, pairs: int, weight: float = 1.0) -> CorpusConfig:
        sources = [" ".join(chance.choices(words, k=chance.randint(1, 9))) for _ in range(pairs)]
        targets = [" ".join(word[::-1].upper() for word in source.split()) for source in sources]
        for language, lines in (("xx", sources), ("yy", targets)):
            (folder / f"{name}.{language}").write_text("\n".join(lines) + "\n")
        return CorpusConfig(source=folder / f"{name}.xx", target=folder / f"{name}.yy", weight=weight)

    prepare(
        PrepareConfig(
            source_language="xx",
            target_language="yy",
            out=folder / "prepared",
            train=(corpus("one", 500), corpus("two", 100, weight=2.0)),
            valid=(corpus("valid", 40),),
            vocabulary=VocabularyConfig(size=100),
        )
    )
    return folder / "prepared"


@pytest.fixture
def make_config(data_folder: Path, tmp_path: Path) -> Callable[..., TrainConfig]:
    """A run of ten updates of two parts each in a folder of this name; keywords change it."""

    def make(run: str = "run", **changes: Any) -> TrainConfig:
        settings: dict[str, Any] = {
            "data": str(data_folder),
            "run": str(tmp_path / run),
            "preset": "tiny",
            "model": TINY,
            "steps": 10,
            "batch": {"tokens": 512, "part_tokens": 256, "max_length": 48},
            "optimizer": {"rate": 3e-3, "warmup": 4},
            "validation": {"every": 5},
            "checkpoint_every": 3,
            "keep_best": 2,
            "device": "cpu",
            "threads": 1,
        }
        return from_dict(TrainConfig, {**settings, **changes})

    return make


@pytest.fixture
def read_metrics() -> Callable[[Path | str], list[dict[str, Any]]]:
    """The records of a run without what depends on the clock."""

    def read(run: Path | str) -> list[dict[str, Any]]:
        lines = (Path(run) / "metrics.jsonl").read_text().splitlines()
        return [{key: value for key, value in json.loads(line).items() if key not in TIMING} for line in lines]

    return read
