"""Matrices in int8: each row close to the one it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from maskpredict.model.int8_matrix import MAX_INT8, Int8Matrix

CHANCE = np.random.default_rng(1)


def numbers(*shape: int) -> npt.NDArray[np.float32]:
    return CHANCE.normal(size=shape).astype(np.float32)


def error(got: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def test_each_row_is_rounded_to_127_steps_of_its_own() -> None:
    weight = numbers(5, 40) * np.array([[1e-6], [0.1], [1.0], [30.0], [1e6]], np.float32)
    matrix = Int8Matrix.of(weight)
    assert matrix.numbers.dtype == np.int8
    assert (np.abs(matrix.numbers).max(1) == MAX_INT8).all()
    assert (np.abs(matrix.restored() - weight) <= 0.501 * matrix.scales[:, None]).all()


def test_rounding_a_second_time_changes_nothing() -> None:
    once = Int8Matrix.of(numbers(30, 64))
    np.testing.assert_array_equal(Int8Matrix.of(once.restored()).numbers, once.numbers)


def test_a_row_of_zeros_stays_one() -> None:
    np.testing.assert_array_equal(Int8Matrix.of(np.zeros((2, 4))).restored(), np.zeros((2, 4)))


def test_a_matrix_in_seven_bits_is_half_as_exact() -> None:
    weight = numbers(40, 96)
    eight = Int8Matrix.of(weight)
    seven = eight.in_seven_bits()
    assert np.abs(seven.numbers).max() == 64
    assert error(eight.restored(), weight) < error(seven.restored(), weight) < 0.02
