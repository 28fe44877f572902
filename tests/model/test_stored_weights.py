"""Weights on disk: any precision comes back, eight bits exactly as they were stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from maskpredict.model.int8_matrix import Int8Matrix
from maskpredict.model.safetensors_file import Precision
from maskpredict.model.stored_weights import StoredWeights, int8_matrix, parameter_count, write_weights

CHANCE = np.random.default_rng(1)
WEIGHTS = {
    "a.weight": CHANCE.normal(size=(24, 40)).astype(np.float32),
    "a.bias": CHANCE.normal(size=24).astype(np.float32),
    "norm.weight": np.ones(24, np.float32),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_weights(WEIGHTS, tmp_path / "model.safetensors", "int8")
    return tmp_path / "model.safetensors"


def test_int8_takes_a_quarter_of_the_size(tmp_path: Path) -> None:
    weights = {"weight": CHANCE.normal(size=(256, 512)).astype(np.float32)}
    sizes = []
    for precision in ("float32", "int8"):
        write_weights(weights, tmp_path / precision, precision)
        sizes.append((tmp_path / precision).stat().st_size)
    assert sizes[1] < 0.26 * sizes[0]


def test_matrices_are_rounded_and_the_rest_is_kept(path: Path) -> None:
    stored = StoredWeights(path)
    assert sorted(stored) == sorted(WEIGHTS)
    assert len(stored) == 3
    assert all(array.dtype == np.float32 for array in stored.values())
    assert np.array_equal(stored["a.bias"], WEIGHTS["a.bias"])
    assert np.array_equal(stored["a.weight"], Int8Matrix.of(WEIGHTS["a.weight"]).restored())


def test_stored_numbers_are_used_as_they_are(path: Path) -> None:
    rounded, stored = Int8Matrix.of(WEIGHTS["a.weight"]), int8_matrix(StoredWeights(path), "a.weight")
    assert np.array_equal(stored.numbers, rounded.numbers)
    assert np.array_equal(stored.scales, rounded.scales)


def test_storing_what_was_stored_gives_the_same_file(path: Path, tmp_path: Path) -> None:
    write_weights(StoredWeights(path), tmp_path / "again", "int8")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_weights_do_not_change_with_the_file(path: Path) -> None:
    write_weights(WEIGHTS, path, "float32")
    array = StoredWeights(path)["a.weight"]
    path.write_bytes(bytes(path.stat().st_size))
    assert np.array_equal(array, WEIGHTS["a.weight"])


def test_the_file_has_the_permissions_of_other_files(path: Path) -> None:
    (path.parent / "neighbour").touch()
    assert path.stat().st_mode == (path.parent / "neighbour").stat().st_mode


def test_a_name_that_is_not_there_is_missing(path: Path) -> None:
    stored = StoredWeights(path)
    assert "b.weight" not in stored
    assert "a.weight.scales" not in stored
    with pytest.raises(KeyError):
        stored["b.weight"]


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 0.0), ("float16", 1e-3), ("bfloat16", 8e-3)])
def test_every_precision_comes_back(tmp_path: Path, precision: Precision, tolerance: float) -> None:
    write_weights(WEIGHTS, tmp_path / "file", precision)
    stored = StoredWeights(tmp_path / "file")
    for name, wanted in WEIGHTS.items():
        np.testing.assert_allclose(stored[name], wanted, rtol=tolerance)
    if precision == "bfloat16":  # rounds as PyTorch does, which reads the same file
        there = load_file(tmp_path / "file")
        assert torch.equal(there["a.weight"], torch.from_numpy(WEIGHTS["a.weight"]).bfloat16())
        assert np.array_equal(stored["a.weight"], there["a.weight"].float().numpy())


def test_sizes_are_known_without_reading(path: Path) -> None:
    stored = StoredWeights(path)
    assert stored.shape("a.weight") == (24, 40)
    assert parameter_count(stored) == parameter_count(WEIGHTS) == 24 * 40 + 24 + 24
