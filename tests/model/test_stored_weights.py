"""Weights on disk: any precision comes back, eight bits exactly as they were stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from maskpredict.engines.int8.linear import Int8Matrix
from maskpredict.errors import UserError
from maskpredict.model.folder import own_weights, take_weights
from maskpredict.model.meta_init import unfilled
from maskpredict.model.stored_weights import StoredWeights, int8_matrix, write_weights
from maskpredict.model.transformer import Transformer

WEIGHTS = {"a.weight": torch.randn(24, 40), "a.bias": torch.randn(24), "norm.weight": torch.ones(24)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_weights(WEIGHTS, tmp_path / "model.safetensors", "int8")
    return tmp_path / "model.safetensors"


def test_eight_bits_take_a_quarter_of_the_room(tmp_path: Path) -> None:
    weights = {"weight": torch.randn(256, 512)}
    sizes = []
    for precision in ("float32", "int8"):
        write_weights(weights, tmp_path / precision, precision)
        sizes.append((tmp_path / precision).stat().st_size)
    assert sizes[1] < 0.26 * sizes[0]


def test_matrices_are_rounded_and_the_rest_is_kept(path: Path) -> None:
    stored = StoredWeights(path)
    assert sorted(stored) == sorted(WEIGHTS)
    assert len(stored) == 3
    assert all(tensor.dtype == torch.float32 for tensor in stored.values())
    assert torch.equal(stored["a.bias"], WEIGHTS["a.bias"])
    assert torch.equal(stored["a.weight"], Int8Matrix.of(WEIGHTS["a.weight"]).restored())


def test_stored_numbers_are_used_as_they_are(path: Path) -> None:
    rounded, stored = Int8Matrix.of(WEIGHTS["a.weight"]), int8_matrix(StoredWeights(path), "a.weight")
    assert torch.equal(stored.numbers, rounded.numbers)
    assert torch.equal(stored.scales, rounded.scales)


def test_storing_what_was_stored_gives_the_same_file(path: Path, tmp_path: Path) -> None:
    write_weights(StoredWeights(path), tmp_path / "again", "int8")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_weights_do_not_change_with_the_file(path: Path) -> None:
    write_weights(WEIGHTS, path, "float32")
    tensor = StoredWeights(path)["a.weight"]
    path.write_bytes(bytes(path.stat().st_size))
    assert torch.equal(tensor, WEIGHTS["a.weight"])


def test_the_file_may_be_read_by_those_who_may_read_its_neighbours(path: Path) -> None:
    (path.parent / "neighbour").touch()
    assert path.stat().st_mode == (path.parent / "neighbour").stat().st_mode


def test_a_name_that_is_not_there_is_missing(path: Path) -> None:
    stored = StoredWeights(path)
    assert "b.weight" not in stored
    assert "a.weight.scales" not in stored
    with pytest.raises(KeyError):
        stored["b.weight"]


@pytest.mark.parametrize("int8", [False, True])
def test_a_module_without_weights_takes_them(make_transformer: Callable[..., Transformer], int8: bool) -> None:
    full = make_transformer()
    with unfilled():
        empty = Transformer(full.config, 13, 13)
    assert all(parameter.is_meta for parameter in empty.parameters())
    take_weights(empty, own_weights(full), int8=int8)
    assert not any(parameter.is_meta for parameter in empty.parameters())
    own = dict(full.named_parameters())
    assert all(torch.equal(parameter, own[name]) for name, parameter in empty.named_parameters())
    assert empty.source.tokens.weight is empty.target.tokens.weight
    if not int8:
        assert empty.output.weight is empty.target.tokens.weight


@pytest.mark.parametrize("int8", [False, True])
def test_weights_that_do_not_fit_are_refused(make_transformer: Callable[..., Transformer], int8: bool) -> None:
    weights = own_weights(make_transformer())
    with unfilled():
        other = Transformer(make_transformer(hidden=8).config, 13, 13)
        deeper = Transformer(make_transformer(encoder_layers=3).config, 13, 13)
    with pytest.raises(UserError, match=r"has shape \[32, 16\], expected \[8, 16\]"):
        take_weights(other, weights, int8=int8)
    with pytest.raises(UserError, match=r"missing encoder\.2\."):
        take_weights(deeper, weights, int8=int8)
