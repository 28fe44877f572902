"""Whole translations by kernels against the plain path."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from maskpredict.decoding.beam import BeamDecoder
from maskpredict.decoding.candidates import ranked
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import AlignmentSettings, BeamSettings, MaskPredictSettings
from maskpredict.engines.cuda.alignment_captures import FusedAlignment
from maskpredict.engines.cuda.capture import Capture, capture_inputs, finished, finished_alignments
from maskpredict.engines.cuda.capture_shape import CaptureShape
from maskpredict.engines.cuda.draft_step_reference import DraftOps
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.engines.cuda.fused_computation import FusedComputation
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.selfcheck import fused_if_equal
from maskpredict.kernels.reference import Ops
from maskpredict.model.config import ModelConfig
from maskpredict.systems import Vocabulary, find_system
from maskpredict.systems.alignment import Alignment
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import SpecialIds

CONFIG: dict[str, Any] = {"width": 32, "hidden": 64, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}
SUPPRESSED = (0, 1, 4)


def small(name: str, device: torch.device) -> Any:
    """A system in float32, whose rounding does not hide or make any difference."""
    torch.manual_seed(1)
    config = ModelConfig(**CONFIG, dropout=0.0, norm="pre", max_positions=32)
    system = find_system(name)(config, Vocabulary(150, 150, SpecialIds()))
    for parameter in system.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return system.eval().to(device)


def requests(count: int) -> list[Request]:
    chance = random.Random(3)
    return [Request((*(chance.randrange(5, 150) for _ in range(chance.randint(2, 6))), 2)) for _ in range(count)]


@torch.inference_mode()
def test_the_kernels_pass_the_self_check(gpu_ops: Ops, kernel_device: torch.device) -> None:
    assert isinstance(fused_if_equal(small("cmlm", kernel_device).half().transformer, gpu_ops), FusedTransformer)


@torch.inference_mode()
@pytest.mark.parametrize(
    "settings",
    [
        MaskPredictSettings(3, 1, suppress_tokens=SUPPRESSED),
        MaskPredictSettings(3, 3, threshold=0.5, prune_candidates=2, suppress_tokens=SUPPRESSED),
        MaskPredictSettings(1, 3, length_threshold=0.5, suppress_tokens=SUPPRESSED),
    ],
    ids=str,
)
def test_mask_predict(
    gpu_ops: Ops,
    gpu_draft_ops: DraftOps,
    kernel_device: torch.device,
    settings: MaskPredictSettings,
    decoder_of: Callable[[System], Decoder],
) -> None:
    system = small("cmlm", kernel_device)
    assert isinstance(system, CMLM)
    group = requests(2)
    shape = CaptureShape.of(group, settings, 32)
    assert shape is not None
    shape = replace(shape, target_width=32)  # an untrained model may take any length for likely
    computation = FusedComputation(system, FusedTransformer(system.transformer, gpu_ops), gpu_draft_ops, shape)
    capture = Capture(system, shape, computation)
    capture.begin(capture_inputs(group, shape, system.special.pad))
    actual = finished(capture.results(), shape, len(group), settings)
    for candidates, plain in zip(actual, decoder_of(system).translate(group, settings), strict=True):
        best = ranked(candidates, settings)[0]
        assert best.ids == plain[0].ids
        assert best.passes == plain[0].passes
        assert best.score == pytest.approx(plain[0].score, abs=1e-3)


@torch.inference_mode()
@pytest.mark.parametrize("settings", [AlignmentSettings(1), AlignmentSettings(3, threshold=0.5)], ids=str)
def test_mask_predict_over_alignments(
    gpu_ops: Ops,
    gpu_draft_ops: DraftOps,
    kernel_device: torch.device,
    settings: AlignmentSettings,
    decoder_of: Callable[[System], Decoder],
) -> None:
    system, settings = small("alignment", kernel_device), replace(settings, suppress_tokens=(0, 1))
    assert isinstance(system, Alignment)
    group = requests(2)
    shape = CaptureShape.of_alignments(group, settings, system.config.ctc_positions)
    assert shape is not None
    transformer = FusedTransformer(system.transformer, gpu_ops)
    capture = Capture(system, shape, FusedAlignment(system, transformer, gpu_draft_ops, shape))
    capture.begin(capture_inputs(group, shape, system.special.pad))
    actual = finished_alignments(capture.results(), shape, len(group))
    for (row,), (plain,) in zip(actual, decoder_of(system).translate(group, settings), strict=True):
        said = [token for place, token in enumerate(row.ids) if token != 1 and row.ids[:place][-1:] != [token]]
        assert said == plain.ids
        assert row.passes == plain.passes
        assert row.score == pytest.approx(plain.score, abs=1e-3)


@torch.inference_mode()
def test_beam_search(gpu_ops: Ops, kernel_device: torch.device) -> None:
    def decoder_of(system: System) -> Decoder:
        # On the CPU, too: what it searches with is chosen by the transformer.
        return BeamDecoder(system.name, CudaEngine(system, str(kernel_device), "float32"))

    system = small("autoregressive", kernel_device)
    assert isinstance(system, Autoregressive)
    settings = BeamSettings(2, max_length_ratio=0.01, suppress_tokens=SUPPRESSED)
    plain = decoder_of(system).translate(requests(2), settings)
    system.transformer = FusedTransformer(system.transformer, gpu_ops)
    for (one,), (other,) in zip(decoder_of(system).translate(requests(2), settings), plain, strict=True):
        assert one.ids == other.ids
        assert one.score == pytest.approx(other.score, abs=1e-3)
