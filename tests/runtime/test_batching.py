"""Which sources share a batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.engine import BatchPolicy
from maskpredict.decoding.hypothesis import Gap, Request
from maskpredict.decoding.masked import MaskedDecoder
from maskpredict.decoding.settings import BeamSettings, MaskPredictSettings
from maskpredict.engines.torch.engine import TorchEngine, gpu_batch_tokens
from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig
from maskpredict.runtime.batching import BatchType, batches
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import Vocabulary, find_system

LENGTHS = (5, 30, 40, 6, 60, 14, 33, 31)
"""Of sources; with the slot and filled up they are 8, 32, 48, 8, 64, 16, 40 and 32 wide."""
ONE_LENGTH = MaskPredictSettings(4, 1)
SAME, SIMILAR, ANY = BatchPolicy.SAME_WIDTH, BatchPolicy.SIMILAR_WIDTH, BatchPolicy.ANY


def decoder(policy: BatchPolicy, best: dict[int, int] | None = None) -> Decoder:
    """A decoder on an engine with this policy, for which so many sources of a width are best."""
    config = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1)
    engine = TorchEngine(find_system("cmlm")(config, Vocabulary(20, 20, SpecialIds())))
    engine.batch_policy = policy
    if best is not None:
        engine.batch_limit = lambda width, settings: best.get(width)  # type: ignore[method-assign]
    return MaskedDecoder("cmlm", engine)


def together(
    policy: BatchPolicy,
    size: int | None = 10_000,
    batch_type: BatchType = "tokens",
    settings: Any = ONE_LENGTH,
    best: dict[int, int] | None = None,
) -> list[list[int]]:
    """The lengths of the sources of each batch."""
    requests = [Request(tuple(range(length))) for length in LENGTHS]
    actual = batches(requests, settings, decoder(policy, best), size, batch_type)
    return [[LENGTHS[index] for index in batch] for batch in actual]


def test_sources_of_one_width() -> None:
    assert together(SAME) == [[60], [40], [33], [30, 31], [14], [5, 6]]


def test_sources_of_similar_lengths() -> None:
    assert together(SIMILAR) == [[60], [40, 33, 30, 31], [14], [5, 6]]


def test_any_sources() -> None:
    assert together(ANY) == [[60, 40, 33, 30, 31, 14, 5, 6]]


def test_what_is_filled_up_counts() -> None:
    assert together(SIMILAR, 4 * 48) == together(SIMILAR)
    assert together(SIMILAR, 4 * 48 - 1) == [[60], [40, 33, 30], [31], [14], [5, 6]]
    halves = [[60], [40, 33], [30, 31], [14], [5, 6]]
    assert together(SIMILAR, 4 * 48, settings=MaskPredictSettings(4, 2)) == halves
    assert together(SIMILAR, 4 * 48, settings=BeamSettings(beam_size=2)) == halves


def test_what_is_not_filled_up_does_not_count() -> None:
    assert together(ANY, 64 + 48 + 40) == [[60, 40, 33], [30, 31, 14, 5, 6]]


def test_sentences_may_be_counted_instead() -> None:
    assert together(ANY, 3, "examples") == [[60, 40, 33], [30, 31, 14], [5, 6]]


def test_an_engine_may_know_how_many_of_a_width_are_best() -> None:
    assert together(SIMILAR, best={48: 3, 32: 5}) == [[60], [40, 33, 30], [31], [14], [5, 6]]


def test_the_engine_has_a_size_of_its_own() -> None:
    assert together(ANY, None) == together(ANY, 2_048)
    assert together(ANY, None, "examples") == together(ANY, 32, "examples")


def test_a_source_that_is_too_large_is_alone() -> None:
    assert together(ANY, 1) == [[length] for length in (60, 40, 33, 30, 31, 14, 5, 6)]


def test_several_open_gaps_are_many_drafts() -> None:
    gaps = Request((5, 6, 2), template=((7,), Gap(), (8,), Gap()))
    plain = Request((5, 6, 2))
    actual = list(batches([gaps, plain, plain], MaskPredictSettings(4, 1), decoder(ANY), 8 * 24 + 8))
    assert actual == [[0, 1], [2]]


def test_sizes_and_types_that_there_are_not() -> None:
    with pytest.raises(UserError, match="use 1 or more"):
        together(ANY, 0)
    with pytest.raises(UserError, match="choose tokens or examples"):
        together(ANY, 1, "words")  # type: ignore[arg-type]


@pytest.mark.parametrize(("gigabytes", "tokens"), [(8, 20_000), (24, 60_000), (150, 262_144)])
def test_a_batch_takes_up_to_a_quarter_of_a_gpu(monkeypatch: pytest.MonkeyPatch, gigabytes: int, tokens: int) -> None:
    properties = SimpleNamespace(total_memory=gigabytes * 10**9)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    assert gpu_batch_tokens(torch.device("cuda")) == tokens
