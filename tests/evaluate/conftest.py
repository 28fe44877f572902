"""Translations of different quality in files, made from references by replacing words."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

WORDS = [
    first + second for first in ("bo", "ri", "sla", "dro", "ken", "wu") for second in ("at", "ver", "pt", "gs", "m")
]
SENTENCES = 50


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ref.txt, another.txt (a second reference), good.txt, fair.txt and bad.txt."""
    folder = tmp_path_factory.mktemp("texts")
    chance = random.Random(3)
    references = [" ".join(chance.choices(WORDS, k=chance.randint(2, 20))).capitalize() + "." for _ in range(SENTENCES)]

    def changed(share: float) -> list[str]:
        return [
            " ".join(chance.choice(WORDS) if chance.random() < share else word for word in reference.split())
            for reference in references
        ]

    for name, sentences in (
        ("ref", references),
        ("another", changed(0.2)),
        ("good", changed(0.3)),
        ("fair", changed(0.35)),
        ("bad", changed(0.6)),
    ):
        (folder / f"{name}.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return folder
