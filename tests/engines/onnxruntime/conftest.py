"""Model folders that are trained on nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.systems import find_system, vocabulary_of


@pytest.fixture(scope="session")
def random_folder(cmlm_folder: Path) -> Callable[..., ModelFolder]:
    """A model folder with random weights, large enough for every part to matter."""

    def make(system: str = "cmlm", **changes: Any) -> ModelFolder:
        like = ModelFolder.read(cmlm_folder)
        values: dict[str, Any] = {"width": 64, "hidden": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
        config = ModelConfig(**{**values, "dropout": 0.0, "max_positions": 64, **changes})
        torch.manual_seed(1)
        module = find_system(system)(config, vocabulary_of(like.tokenizers))
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        return replace(like, system=system, config=config, weights=weights_of(module))

    return make
