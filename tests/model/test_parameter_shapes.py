"""Names and shapes of weights without PyTorch are those of the PyTorch modules."""

from __future__ import annotations

from typing import Any

import pytest

from maskpredict.model.config import ModelConfig
from maskpredict.model.parameter_shapes import parameter_shapes
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import SYSTEMS, Vocabulary, find_system

SHAPES: list[dict[str, Any]] = [
    {"norm": "pre"},
    {"norm": "post", "embeddings": "target"},
    {"embeddings": "separate", "length_classes": 24, "ctc_positions": 2, "encoder_layers": 3},
]


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "fertility"])
def test_parameter_shapes_are_those_of_the_modules(system: str, changes: dict[str, Any]) -> None:
    values = {"width": 16, "hidden": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "max_positions": 32}
    config = ModelConfig(**{**values, **changes})
    sizes = (13, 13) if config.embeddings == "shared" else (13, 17)
    module = find_system(system)(config, Vocabulary(*sizes, SpecialIds()))
    expected = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    assert parameter_shapes(system, config, *sizes) == expected


def test_of_a_system_that_is_not_known_the_weights_of_its_transformer_are() -> None:
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=32)
    module = find_system("fertility")(config, Vocabulary(13, 13, SpecialIds()))
    actual = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    expected = parameter_shapes("fertility", config, 13, 13)
    assert expected
    assert expected.items() < actual.items()
    assert all(name.startswith("transformer.") for name in expected)
