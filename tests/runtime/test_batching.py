"""Which sources share a batch."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.errors import UserError
from maskpredict.runtime.batching import BatchType, batch_tokens, batches
from maskpredict.systems.base import Sharing

LENGTHS = (5, 30, 40, 6, 60, 14, 33, 31)
"""Of sources; with the slot and filled up they are 8, 32, 48, 8, 64, 16, 40 and 32 wide."""


def together(
    sharing: Sharing, size: int = 10_000, batch_type: BatchType = "tokens", candidates: int = 1
) -> list[list[int]]:
    """The lengths of the sources of each batch."""
    requests = [Request(tuple(range(length))) for length in LENGTHS]
    settings = MaskPredictSettings(4, candidates)
    found = batches(requests, settings, size, batch_type, slot=True, sharing=sharing)
    return [[LENGTHS[index] for index in batch] for batch in found]


def test_sources_of_one_width() -> None:
    assert together("same width") == [[60], [40], [33], [30, 31], [14], [5, 6]]


def test_sources_of_similar_lengths() -> None:
    assert together("alike") == [[60], [40, 33, 30, 31], [14], [5, 6]]


def test_any_sources() -> None:
    assert together("any") == [[60, 40, 33, 30, 31, 14, 5, 6]]


def test_what_is_filled_up_counts() -> None:
    assert together("alike", 4 * 48) == together("alike")
    assert together("alike", 4 * 48 - 1) == [[60], [40, 33, 30], [31], [14], [5, 6]]
    assert together("alike", 4 * 48, candidates=2) == [[60], [40, 33], [30, 31], [14], [5, 6]]


def test_what_is_not_filled_up_does_not_count() -> None:
    assert together("any", 64 + 48 + 40) == [[60, 40, 33], [30, 31, 14, 5, 6]]


def test_sentences_may_be_counted_instead() -> None:
    assert together("any", 3, "examples") == [[60, 40, 33], [30, 31, 14], [5, 6]]


def test_a_system_may_know_how_many_of_a_width_are_best() -> None:
    requests = [Request(tuple(range(length))) for length in LENGTHS]
    best = {48: 3, 32: 5}
    found = batches(
        requests,
        MaskPredictSettings(4, 1),
        10_000,
        "tokens",
        slot=True,
        sharing="alike",
        most=lambda width, settings: best.get(width),
    )
    assert [[LENGTHS[index] for index in batch] for batch in found] == [[60], [40, 33, 30], [31], [14], [5, 6]]


def test_a_source_that_is_too_large_is_alone() -> None:
    assert together("any", 1) == [[length] for length in (60, 40, 33, 30, 31, 14, 5, 6)]


def test_sizes_and_types_that_there_are_not() -> None:
    with pytest.raises(UserError, match="use 1 or more"):
        together("any", 0)
    with pytest.raises(UserError, match="choose tokens or examples"):
        together("any", 1, "words")  # type: ignore[arg-type]


@pytest.mark.parametrize(("gigabytes", "tokens"), [(8, 20_000), (24, 60_000), (150, 262_144)])
def test_a_batch_takes_up_to_a_quarter_of_a_gpu(monkeypatch: pytest.MonkeyPatch, gigabytes: int, tokens: int) -> None:
    device = SimpleNamespace(total_memory=gigabytes * 10**9)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: device)
    assert batch_tokens(torch.device("cuda")) == tokens
    assert batch_tokens(torch.device("cpu")) == 2_048
