"""Small systems with weights large enough for predictions to differ, and sources to feed them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from maskpredict.model.batch import Tokens
from maskpredict.model.config import ModelConfig
from maskpredict.model.layout import Packed
from maskpredict.systems import System, Vocabulary, find_system
from maskpredict.tokenizer import SpecialIds

VOCABULARY = Vocabulary(source_size=20, target_size=20, special=SpecialIds())
CONFIG: dict[str, Any] = {
    "width": 16,
    "hidden": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.0,
    "norm": "pre",
    "max_positions": 32,
}


@pytest.fixture
def make_system() -> Callable[..., System]:
    """Builds a system by name; keywords change the model's config."""

    def make(name: str, *, seed: int = 1, **changes: Any) -> System:
        torch.manual_seed(seed)
        system = find_system(name)(ModelConfig(**{**CONFIG, **changes}), VOCABULARY)
        for parameter in system.parameters():
            torch.nn.init.normal_(parameter, std=0.35)
        return system.eval()

    return make


@pytest.fixture
def sources() -> list[tuple[int, ...]]:
    """Twenty sources of at most seven positions, so that all have one padded width, with a slot or without."""
    chance = random.Random(3)
    return [(*(chance.randrange(5, 20) for _ in range(chance.randint(1, 6))), 2) for _ in range(20)]


@pytest.fixture
def pack() -> Callable[..., Tokens]:
    """Lays rows end to end, then rows of filling of the given sizes; with `slot`, a position in front of each."""

    def make(rows: list[list[int]], filling: list[int], *, slot: bool = False) -> Tokens:
        front = [0] if slot else []
        lines = [front + row for row in rows] + [front + [0] * size for size in filling]
        starts = torch.tensor([0, *map(len, lines)]).cumsum(0).int()
        ids = torch.tensor([token for line in lines for token in line])
        return Tokens(ids, Packed.of(starts, torch.tensor(len(rows)), len(ids), 12))

    return make
