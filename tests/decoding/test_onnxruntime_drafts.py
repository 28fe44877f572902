"""Drafts completed in one run of onnxruntime's graph against the same drafts pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch

from maskpredict.decoding.candidates import Finished
from maskpredict.decoding.finish import Finisher
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.onnxruntime.sessions import OnnxruntimeTransformer, is_available
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import own_weights, take_weights
from maskpredict.model.meta_init import unfilled
from maskpredict.systems import CMLM, Vocabulary
from maskpredict.tokenizer import SpecialIds

pytestmark = pytest.mark.skipif(not is_available(), reason="it takes onnxruntime")

CONFIG = ModelConfig(
    width=64, hidden=128, heads=4, encoder_layers=1, decoder_layers=2, max_positions=40, embeddings="separate"
)
VOCABULARY = Vocabulary(40, 40, SpecialIds())
REQUESTS = [Request((5, 6, 7, 2)), Request((8, 9, 30, 31, 32, 2)), Request((12, 2))]
LENGTHS, OWNER = [3, 20, 1, 9, 31, 2, 17], [0, 1, 2, 0, 1, 1, 2]
Ties = Literal["none", "positions", "all"]


@pytest.fixture(autouse=True)
def threads_put_back() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def system_of(ties: Ties, threads: int) -> CMLM:
    torch.manual_seed(3)
    plain = CMLM(CONFIG, VOCABULARY)
    for parameter in plain.parameters():
        if parameter.ndim > 1:  # layer norms stay as they are
            torch.nn.init.normal_(parameter, std=0.3)
    if ties == "positions":  # masks in a row are all the same to the model, so it is equally sure of each
        torch.nn.init.zeros_(plain.transformer.target.positions.weight)
    if ties == "all":  # every token is as likely as any other
        torch.nn.init.zeros_(plain.transformer.output.weight)
    with unfilled():
        system = CMLM(CONFIG, VOCABULARY)
    take_weights(system, own_weights(plain), int8=True)
    system.transformer = OnnxruntimeTransformer(system.transformer, threads)
    return system.eval()


def finished(system: CMLM, settings: MaskPredictSettings, rows: list[int]) -> list[Finished]:
    drafts = [[system.special.mask] * LENGTHS[row] for row in rows]
    finisher = Finisher(system.transformer, system.encode(REQUESTS), system.special, settings)
    return finisher.finish(drafts, [OWNER[row] for row in rows])


def is_open(system: CMLM, program: Literal["decoder_program", "draft_program"]) -> bool:
    """True once a graph was run."""
    return bool(getattr(system.transformer, program).sessions)


@torch.inference_mode()
@pytest.mark.parametrize("ties", ["none", "positions", "all"])
@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 1},
        {"iterations": 4},
        {"iterations": 10},
        {"iterations": "N"},
        {"strategy": "one_shot"},
        {"threshold": 0.5},
        {"threshold": 1.0},
        {"stop_when_stable": True},
        {"stop_when_stable": True, "threshold": 0.45, "iterations": 7},
        {"suppress_tokens": (2, 3, 4, 17)},
    ],
    ids=str,
)
def test_one_run_finds_what_pass_by_pass_finds(changes: dict[str, Any], ties: Ties) -> None:
    settings = MaskPredictSettings(**changes)
    system, rows = system_of(ties, threads=1), list(range(len(LENGTHS)))
    found = finished(system, settings, rows)
    # A trace is only to be had pass by pass.
    expected = [replace(row, history=[]) for row in finished(system, replace(settings, trace=True), rows)]
    assert found == expected
    assert is_open(system, "draft_program")
    assert is_open(system, "decoder_program")


@torch.inference_mode()
@pytest.mark.parametrize("threads", [1, 2])
def test_a_draft_comes_out_the_same_in_any_company(threads: int) -> None:
    settings = MaskPredictSettings(iterations=5, threshold=0.5)
    together = finished(system_of("none", threads=2), settings, list(range(len(LENGTHS))))
    assert len({row.passes for row in together}) > 1
    one_by_one = system_of("none", threads)
    assert [finished(one_by_one, settings, [row])[0] for row in range(len(LENGTHS))] == together


@torch.inference_mode()
def test_what_is_imposed_goes_pass_by_pass() -> None:
    system = system_of("none", threads=1)
    mask, settings = system.special.mask, MaskPredictSettings(iterations=3)
    finisher = Finisher(system.transformer, system.encode(REQUESTS), system.special, settings)
    (pinned,) = finisher.finish([[mask, mask, 9, mask]], [0])
    assert pinned.ids[2] == 9
    assert is_open(system, "decoder_program")
    assert not is_open(system, "draft_program")
