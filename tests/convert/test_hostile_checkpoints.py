"""Settings and tensors of a checkpoint are those of a stranger: they cost no more than the file is large."""

from __future__ import annotations

import argparse
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.convert.importing import import_model
from maskpredict.errors import UserError
from tests.convert.conftest import POSITIONS, MakeFolder, random_table

HUGE = 10**9


def tables() -> dict[str, torch.Tensor]:
    """What a small autoregressive model has besides its layers."""
    names = ("encoder", "decoder")
    words = {f"{side}.embed_tokens.weight": random_table(16, 1) for side in names}
    return words | {f"{side}.embed_positions.weight": random_table(POSITIONS + 2, 2) for side in names}


def refusal(folder: Path) -> str:
    """The sentence with which the import fails, in little memory."""
    tracemalloc.start()
    with pytest.raises(UserError) as error:
        import_model("fairseq-transformer", folder, folder.parent / "out")
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 50_000_000
    assert "\n" not in str(error.value)
    assert not (folder.parent / "out").exists()
    return str(error.value)


def test_the_folder_is_imported_as_it_is(make_folder: MakeFolder) -> None:
    folder = make_folder("transformer", tables())
    assert import_model("fairseq-transformer", folder, folder.parent / "out").system == "autoregressive"


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder_ffn_embed_dim": HUGE, "decoder_ffn_embed_dim": HUGE},
        {"encoder_embed_dim": HUGE, "decoder_embed_dim": HUGE},
        {"encoder_layers": HUGE},
        {"decoder_layers": -1},
        {"encoder_attention_heads": 0, "decoder_attention_heads": 0},
        {"encoder_layers": "many"},
        {"encoder_layers": [2]},
        {"dropout": "a lot"},
        {"dropout": math.nan},
        {"source_lang": "../../xx"},
        {"source_lang": 5},
        {"source_lang": "x\0x"},
    ],
)
def test_settings_that_cannot_be_are_refused(make_folder: MakeFolder, settings: dict[str, Any]) -> None:
    refusal(make_folder("transformer", tables(), **settings))


def test_positions_that_are_computed_are_not_too_many(make_folder: MakeFolder) -> None:
    words = {name: tensor for name, tensor in tables().items() if "positions" not in name}
    assert "1000000000 positions" in refusal(make_folder("transformer", words, max_source_positions=HUGE))


def test_a_tensor_that_repeats_one_number_is_refused(make_folder: MakeFolder) -> None:
    endless = torch.zeros(1, 1).expand(HUGE, 16)
    assert "fewer numbers than" in refusal(make_folder("transformer", {**tables(), "encoder.more": endless}))


@pytest.mark.parametrize("tensor", [torch.tensor(1.0), torch.zeros(0), torch.zeros(3, dtype=torch.complex64)])
def test_tensors_of_another_kind_are_refused(make_folder: MakeFolder, tensor: torch.Tensor) -> None:
    refusal(make_folder("transformer", {**tables(), "encoder.embed_tokens.weight": tensor}))


def test_a_name_may_be_anything(make_folder: MakeFolder) -> None:
    folder = make_folder("transformer", tables())
    with torch.serialization.safe_globals([argparse.Namespace]):
        content = torch.load(folder / "checkpoint_best.pt", weights_only=True)
    content["args"].arch = {"not": "a name"}
    torch.save(content, folder / "checkpoint_best.pt")
    assert "cannot be imported" in refusal(folder)
