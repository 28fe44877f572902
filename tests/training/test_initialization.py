"""Starting from another model's weights, of another depth among others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.training.config import OptimizerConfig, TrainConfig
from maskpredict.training.initialization import matching_layers
from maskpredict.training.loop import train

from .conftest import TINY

MakeConfig = Callable[..., TrainConfig]
STILL = OptimizerConfig(rate=1e-12, warmup=1, weight_decay=0.0)
"""Moves nothing, so that a run ends with what it began with."""


def trained(config: TrainConfig) -> Path:
    model = train(config, quiet=True).model
    assert model is not None
    return model


def started(make_config: MakeConfig, start: Path, **changes: Any) -> dict[str, npt.NDArray[np.float32]]:
    config = make_config("started", steps=1, start_from=str(start), **changes)
    return dict(ModelFolder.read(trained(replace(config, optimizer=STILL))).weights)


def test_a_run_can_start_from_a_models_weights(make_config: MakeConfig) -> None:
    first = trained(make_config("first", steps=30))
    torch.testing.assert_close(started(make_config, first), dict(ModelFolder.read(first).weights))


def test_a_student_can_start_from_its_teachers_transformer(make_config: MakeConfig) -> None:
    teacher = trained(make_config("teacher", system="autoregressive", steps=5))
    weights, taken_over = ModelFolder.read(teacher).weights, started(make_config, teacher)
    assert taken_over.keys() - weights.keys() == {"length.table.weight"}
    torch.testing.assert_close({name: taken_over[name] for name in weights}, dict(weights))


def test_the_model_says_what_it_started_from(make_config: MakeConfig) -> None:
    teacher = trained(make_config("teacher", system="autoregressive", steps=5))
    student = trained(make_config("student", steps=2, start_from=str(teacher)))
    records = [ModelFolder.read(folder).training for folder in (teacher, student)]
    checksum = json.loads((teacher / "config.json").read_text())["weights_checksum"].removeprefix("crc32:")
    assert [record and record.start for record in records] == ["random", f"autoregressive {checksum}"]


def test_what_only_the_student_has_starts_from_random_weights(make_config: MakeConfig) -> None:
    teacher = trained(make_config("teacher", system="autoregressive", steps=5))
    weights, taken_over = ModelFolder.read(teacher).weights, started(make_config, teacher, system="fertility")
    torch.testing.assert_close({name: taken_over[name] for name in weights}, dict(weights))
    of_its_own = taken_over.keys() - weights.keys()
    assert {"fertility.weight", "transformer.decoder.0.positional.qk.weight"} <= of_its_own
    assert all(taken_over[name].any() for name in of_its_own if name.endswith("positional.qk.weight"))


def test_a_model_with_fewer_layers_takes_the_first_and_the_last_of_a_deeper_one(make_config: MakeConfig) -> None:
    deep = trained(make_config("deep", steps=5, model={**TINY, "decoder_layers": 4}))
    weights, shallow = ModelFolder.read(deep).weights, started(make_config, deep, model={**TINY, "decoder_layers": 2})
    assert {name.split(".")[2] for name in shallow if name.startswith("transformer.decoder.")} == {"0", "1"}
    for name, weight in shallow.items():
        of_deep = name.replace("transformer.decoder.1.", "transformer.decoder.3.")
        torch.testing.assert_close(weight, weights[of_deep])


def test_another_width_is_refused(make_config: MakeConfig) -> None:
    narrow = trained(make_config("narrow", steps=1))
    with pytest.raises(UserError, match="shape"):
        started(make_config, narrow, model={**TINY, "width": 32})


def test_an_alignment_model_takes_layers_of_its_deep_teacher_and_splits_states_by_itself(
    make_config: MakeConfig,
) -> None:
    teacher = trained(
        make_config(
            "teacher", system="autoregressive", steps=5, model={**TINY, "encoder_layers": 4, "decoder_layers": 3}
        )
    )
    shape = {**TINY, "encoder_layers": 3, "decoder_layers": 2, "ctc_positions": 2}
    student = started(make_config, teacher, system="alignment", model=shape)
    weights = ModelFolder.read(teacher).weights
    depths = {"encoder": {"0": "0", "1": "2", "2": "3"}, "decoder": {"0": "0", "1": "2"}}
    assert {name for name in student if not name.startswith("transformer.")} == {"split.weight", "split.bias"}
    for name, weight in student.items():
        _, side, depth, *_ = f"{name}...".split(".")
        if side in depths:
            name = name.replace(f"{side}.{depth}", f"{side}.{depths[side][depth]}")
        if not name.startswith("split"):
            torch.testing.assert_close(weight, weights[name])


def test_a_model_with_another_vocabulary_is_refused(make_config: MakeConfig, cmlm_folder: Path) -> None:
    with pytest.raises(UserError, match="has another vocabulary than the data; prepare the data with"):
        started(make_config, cmlm_folder)
    assert not Path(make_config("started").run).exists()


def test_layers_of_another_kind_are_refused(make_config: MakeConfig) -> None:
    post = trained(make_config("post", steps=1, model={**TINY, "norm": "post"}))
    with pytest.raises(UserError, match=r"with model\.norm=post, and this run has pre; set model\.norm to post"):
        started(make_config, post)


@pytest.mark.parametrize(
    ("available", "wanted", "chosen"),
    [
        (6, 6, [0, 1, 2, 3, 4, 5]),
        (6, 2, [0, 5]),
        (6, 1, [5]),
        (1, 1, [0]),
        (1, 2, [0, 0]),
        (6, 11, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
    ],
)
def test_layers_are_chosen_evenly_from_the_first_to_the_last(available: int, wanted: int, chosen: list[int]) -> None:
    assert matching_layers(available, wanted) == chosen
