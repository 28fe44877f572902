"""The model folder: what is written comes back, and what is damaged is refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder, is_model_folder
from maskpredict.model.module_weights import load_weights, weights_of
from maskpredict.model.safetensors_file import Precision
from maskpredict.model.transformer import Transformer
from maskpredict.systems import vocabulary_of
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import Tokenizers


@pytest.fixture
def contents(toy_tokenizers: Tokenizers) -> ModelFolder:
    """An untrained CMLM, in memory."""
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=32)
    system = CMLM(config, vocabulary_of(toy_tokenizers))
    return ModelFolder("cmlm", config, Languages("xx", "yy"), toy_tokenizers, weights_of(system))


@pytest.fixture
def folder(contents: ModelFolder, tmp_path: Path) -> Path:
    """A fresh copy to damage."""
    contents.write(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_folder_comes_back_as_it_was_written(contents: ModelFolder, tmp_path: Path) -> None:
    told = replace(contents, card="# A card\n", generation={"iterations": 4})
    told.write(tmp_path / "model")
    back = ModelFolder.read(tmp_path / "model")
    assert (back.system, back.config, back.languages) == (told.system, told.config, told.languages)
    assert (back.card, back.generation) == ("# A card\n", {"iterations": 4})
    assert back.tokenizers.source.encode("bane kosa.") == told.tokenizers.source.encode("bane kosa.")
    assert back.weights.keys() == told.weights.keys()
    assert all(np.array_equal(back.weights[name], told.weights[name]) for name in told.weights)
    assert is_model_folder(tmp_path / "model")


@pytest.mark.parametrize(("precision", "error"), [("float16", 1e-3), ("bfloat16", 1e-2)])
def test_half_precision_is_half_the_size_and_close(
    contents: ModelFolder, folder: Path, tmp_path: Path, precision: Precision, error: float
) -> None:
    contents.write(tmp_path / "half", precision=precision)
    sizes = [(where / "model.safetensors").stat().st_size for where in (folder, tmp_path / "half")]
    assert sizes[1] < 0.6 * sizes[0]
    for name, tensor in ModelFolder.read(tmp_path / "half").weights.items():
        assert tensor.dtype == np.float32
        torch.testing.assert_close(tensor, contents.weights[name], rtol=error, atol=error)


def test_tied_weights_are_stored_once_and_loaded_into_both_places(make_transformer: Callable[..., Transformer]) -> None:
    one, other = make_transformer(), make_transformer()
    assert len({array.ctypes.data for array in weights_of(one).values()}) == len(weights_of(one))
    torch.nn.init.zeros_(other.output.weight)
    load_weights(other, weights_of(one))
    assert torch.equal(other.output.weight, one.output.weight)
    assert torch.equal(other.source.tokens.weight, one.source.tokens.weight)


def test_weights_that_do_not_fit_are_refused(make_transformer: Callable[..., Transformer]) -> None:
    transformer = make_transformer()
    with pytest.raises(UserError, match=r"unknown encoder\.1\."):
        load_weights(make_transformer(encoder_layers=1), weights_of(transformer))
    with pytest.raises(UserError, match=r"missing encoder\.2\."):
        load_weights(make_transformer(encoder_layers=3), weights_of(transformer))
    with pytest.raises(UserError, match=r"has shape \[32, 16\], expected \[8, 16\]"):
        load_weights(make_transformer(hidden=8), weights_of(transformer))


def test_a_failed_write_leaves_the_earlier_model(contents: ModelFolder, folder: Path) -> None:
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(UserError, match="is not empty"):
        contents.write(folder)
    broken = replace(contents, generation={"iterations": object()})
    with pytest.raises(TypeError):
        broken.write(folder, overwrite=True)
    assert (folder / "model.safetensors").read_bytes() == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def _remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _truncate(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-200])


def _describe(**changes: object) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        description = json.loads((folder / "config.json").read_text())
        kept = {key: value for key, value in {**description, **changes}.items() if value is not None}
        (folder / "config.json").write_text(json.dumps(kept))

    return damage


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_remove("config.json"), "has no config.json, so it is not a model folder"),
        (_remove("model.safetensors"), "is missing; the model folder is incomplete"),
        (_remove("tokenizer.model"), "tokenizer"),
        (_truncate("model.safetensors"), "is damaged"),
        (_truncate("config.json"), "cannot be read as JSON"),
        (_truncate("tokenizer.model"), "tokenizer"),
        (_describe(format_version=99), "newer than the 1 this version reads; upgrade"),
        (_describe(format_version=None), "has no format_version"),
        (_describe(architecture=None), "'architecture' is missing"),
        (_describe(architecture={"widht": 3}), "did you mean 'width'"),
        (_describe(languages={"from": "xx"}), "is damaged"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "is not a JSON object"),
        (lambda folder: (folder / "generation.json").write_text("{"), "cannot be read as JSON"),
    ],
)
def test_a_damaged_folder_is_refused_with_a_sentence(
    folder: Path, damage: Callable[[Path], object], sentence: str
) -> None:
    damage(folder)
    with pytest.raises(UserError, match=sentence):
        ModelFolder.read(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no model folder"):
        ModelFolder.read(tmp_path / "nowhere")
