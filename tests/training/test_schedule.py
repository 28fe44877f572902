"""The learning rate over a run."""

from __future__ import annotations

import pytest

from maskpredict.training.config import OptimizerConfig
from maskpredict.training.schedule import learning_rate


def test_the_papers_schedule_warms_up_to_the_peak_then_falls_with_the_inverse_square_root() -> None:
    paper = OptimizerConfig()
    assert (paper.rate, paper.warmup, paper.beta1, paper.beta2, paper.epsilon) == (5e-4, 10_000, 0.9, 0.999, 1e-6)
    rates = {update: learning_rate(paper, update, 0.0) for update in (1, 5_000, 10_000, 40_000, 160_000)}
    assert rates == pytest.approx({1: 5e-8, 5_000: 2.5e-4, 10_000: 5e-4, 40_000: 2.5e-4, 160_000: 1.25e-4})


def test_the_linear_schedule_falls_to_zero_with_the_share_of_the_run_that_is_done() -> None:
    linear = OptimizerConfig(rate=1e-3, warmup=10, schedule="linear")
    assert learning_rate(linear, 5, 0.0) == pytest.approx(5e-4)
    assert learning_rate(linear, 5, 0.1) == pytest.approx(4.5e-4)
    assert [learning_rate(linear, 11, done) for done in (0.0, 0.25, 1.0, 1.1)] == pytest.approx([1e-3, 7.5e-4, 0, 0])


def test_a_run_without_warm_up_starts_at_the_peak() -> None:
    for schedule in ("linear", "inverse_sqrt"):
        config = OptimizerConfig(rate=1e-3, warmup=0, schedule=schedule)
        assert learning_rate(config, 1, 0.0) == pytest.approx(1e-3)


def test_a_run_without_warm_up_falls_from_its_first_update_on() -> None:
    config = OptimizerConfig(rate=1e-3, warmup=0)
    rates = [learning_rate(config, update, 0.0) for update in (1, 2, 4, 100)]
    assert rates == pytest.approx([1e-3, 1e-3 / 2**0.5, 5e-4, 1e-4])


def test_the_linear_schedule_warms_up_by_updates_and_falls_by_the_share_of_the_run() -> None:
    linear = OptimizerConfig(rate=2e-3, warmup=4, schedule="linear")
    rates = [learning_rate(linear, update, (update - 1) / 10) for update in range(1, 11)]
    assert rates == pytest.approx([5e-4, 9e-4, 1.2e-3, 1.4e-3, 1.2e-3, 1e-3, 8e-4, 6e-4, 4e-4, 2e-4])
