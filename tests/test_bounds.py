"""Numbers outside the bounds of their settings are refused, wherever they come from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from maskpredict.bounds import Bounds, FiniteFloat, Fraction, NonNegativeInt, PositiveFloat, PositiveInt
from maskpredict.config import check_bounds, dump_config, load_config
from maskpredict.errors import UserError


@dataclass(frozen=True)
class Rates:
    peak: PositiveFloat = 0.1
    decay: Fraction = 0.9
    penalty: FiniteFloat = -1.0
    share: Annotated[float, Bounds(above=0, at_most=1)] = 1.0


@dataclass(frozen=True)
class Settings:
    steps: PositiveInt = 10
    patience: PositiveInt | None = None
    warmup: NonNegativeInt = 0
    rates: Rates = Rates()
    weights: dict[str, PositiveFloat] = field(default_factory=dict)
    widths: tuple[PositiveInt, ...] = ()

    def __post_init__(self) -> None:
        check_bounds(self)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("steps=0", "'steps' must be a whole number of at least 1, not 0"),
        (f"steps=5{'0' * 400}", f"'steps' must be a whole number of at least 1, not 5{'0' * 199}..."),
        ("patience=0", "'patience' must be a whole number of at least 1 or null, not 0"),
        ("warmup=-1", "'warmup' must be a whole number of at least 0, not -1"),
        ("rates.peak=0", "'rates.peak' must be a number above 0, not 0"),
        ("rates.peak=.inf", "'rates.peak' must be a number above 0, not .inf"),
        ("rates.decay=1", "'rates.decay' must be a number of at least 0 and below 1, not 1"),
        ("rates.decay=.nan", "'rates.decay' must be a number of at least 0 and below 1, not .nan"),
        ("rates.share=1.5", "'rates.share' must be a number above 0 and at most 1, not 1.5"),
        ("rates.penalty=.inf", "'rates.penalty' must be a finite number, not .inf"),
        ("weights={news: 0}", "'weights.news' must be a number above 0, not 0"),
        ("widths=[8, 0]", "'widths.1' must be a whole number of at least 1, not 0"),
        ("steps=many", "'steps' must be a whole number of at least 1, not many"),
    ],
)
def test_a_number_out_of_bounds_is_refused_with_its_key_and_its_bounds(override: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        load_config(Settings, None, [override])
    assert str(caught.value) == f"override {override!r}: {expected}"


def test_numbers_at_the_bounds_are_fine() -> None:
    overrides = ["steps=1", "patience=null", "rates={peak: 1e-9, decay: 0, share: 1}", "weights={a: 2}", "widths=[1]"]
    config = load_config(Settings, None, overrides)
    assert config == Settings(1, rates=Rates(1e-9, 0.0), weights={"a": 2.0}, widths=(1,))
    assert load_config(Settings, None, [], {"rates": {"penalty": -3}}).rates.penalty == -3.0


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"steps": 0}, "'steps'"),
        ({"patience": -1}, "'patience'"),
        ({"rates": Rates(peak=math.nan)}, "'rates.peak'"),
        ({"weights": {"news": 0.0}}, "'weights.news'"),
        ({"widths": (8, 0)}, "'widths.1'"),
    ],
)
def test_values_given_in_python_are_checked_alike(values: dict[str, object], key: str) -> None:
    with pytest.raises(UserError, match=rf"^{key} must be "):
        Settings(**values)  # type: ignore[arg-type]


def test_bounds_do_not_change_the_written_configuration() -> None:
    config = Settings(patience=3, weights={"news": 2.0})
    assert "patience: 3\n" in dump_config(config)
