"""Small transformers with weights large enough for every part to matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from maskpredict.model.config import ModelConfig
from maskpredict.model.transformer import Transformer

SMALL: dict[str, Any] = {
    "width": 16,
    "hidden": 32,
    "heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "max_positions": 32,
}

MakeTransformer = Callable[..., Transformer]


@pytest.fixture
def make_transformer() -> MakeTransformer:
    """Builds a transformer of 13 source and 13 target ids; keywords change its config."""

    def make(**changes: Any) -> Transformer:
        torch.manual_seed(1)
        transformer = Transformer(ModelConfig(**{**SMALL, **changes}), 13, 13)
        for parameter in transformer.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        return transformer.eval()

    return make
