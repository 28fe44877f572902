"""The computation of a captured alignment, run uncaptured, against the plain path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict.decoding.alignment import AlignmentDecoder
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Pin, Request
from maskpredict.decoding.settings import AlignmentSettings, OnePassSettings
from maskpredict.engines.cuda import draft_step_reference
from maskpredict.engines.cuda.alignment_captures import AlignmentCaptures, FusedAlignment, PlainAlignment
from maskpredict.engines.cuda.capture import Capture, capture_inputs
from maskpredict.engines.cuda.capture_shape import BEST_POSITIONS, MAX_POSITIONS, CaptureShape, best_alignment_count
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.torch.loading import load_system
from maskpredict.kernels import reference
from maskpredict.model.folder import ModelFolder
from maskpredict.systems import find_decoder
from maskpredict.systems.base import System
from maskpredict.systems.ctc import CTC
from maskpredict.tokenizer import Tokenizers

SUPPRESSED = (0, 1, 4)


@pytest.fixture(scope="module")
def system(alignment_folder: Path) -> CTC:
    system = load_system(ModelFolder.read(alignment_folder))
    assert isinstance(system, CTC)
    return system


@pytest.fixture(scope="module")
def requests(toy_tokenizers: Tokenizers, sentences: list[str], system: CTC) -> list[Request]:
    encoded = [toy_tokenizers.source.encode(sentence) for sentence in sentences]
    return [Request((*ids, system.special.eos)) for ids in encoded]


class CapturingDecoder(AlignmentDecoder):
    """Decodes by one computation of a capture."""

    def __init__(self, system: CTC, *, fused: bool) -> None:
        super().__init__(system.name, CudaEngine(system, "cpu", "float32"))
        assert isinstance(self.engine, CudaEngine)
        self.engine.captures = FusedCaptures(system) if fused else AlignmentCaptures(system, fusing=False)


class FusedCaptures(AlignmentCaptures):
    """Runs the fused computation on the plain functions that its kernels have to agree with."""

    def plain_computation(self, shape: CaptureShape) -> FusedAlignment:
        """A CPU cannot verify kernels, so this is what is captured."""
        transformer = FusedTransformer(self.system.transformer, reference)
        return FusedAlignment(self.system, transformer, draft_step_reference, shape)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        AlignmentSettings(1),
        AlignmentSettings(2),
        AlignmentSettings(5),
        AlignmentSettings(40),
        AlignmentSettings(6, threshold=0.9),
        AlignmentSettings(strategy="one_shot"),
    ],
    ids=str,
)
def test_a_capture_gives_the_results_of_the_uncaptured_path(
    system: CTC,
    requests: list[Request],
    decoder_of: Callable[[System], Decoder],
    settings: AlignmentSettings,
    together: int,
    fused: bool,
) -> None:
    settings = replace(settings, suppress_tokens=SUPPRESSED)
    capturing, plain = CapturingDecoder(system, fused=fused), decoder_of(system)
    for first in range(0, 18, together):
        group = requests[first : first + together]
        for (one,), (other,) in zip(
            capturing.translate(group, settings), plain.translate(group, settings), strict=True
        ):
            assert one.ids == other.ids
            assert one.passes == other.passes
            # Many positions are certain within rounding, which then decides which of them are predicted again.
            assert one.score == pytest.approx(other.score, abs=1e-4 if other.passes == 1 else 0.01)
    assert isinstance(capturing.engine, CudaEngine)
    assert capturing.engine.captures is not None
    assert capturing.engine.captures.made


def test_one_capture_serves_other_sentences_of_its_shape(
    system: CTC, requests: list[Request], decoder_of: Callable[[System], Decoder]
) -> None:
    settings = AlignmentSettings(3, suppress_tokens=(0, 1))
    shape = CaptureShape.of_alignments(requests[:1], settings, system.config.ctc_positions)
    assert shape is not None
    capture, plain = Capture(system, shape, PlainAlignment(system, shape)), decoder_of(system)
    captures = AlignmentCaptures(system)
    alike = [request for request in requests if len(request.source) <= shape.source_width]
    assert len(alike) > 3
    for request in alike:
        capture.begin(capture_inputs([request], shape, system.special.pad))
        ((row,),) = captures.finished(capture.results(), shape, 1, settings)
        ((best,),) = plain.translate([request], settings)
        assert row.score == pytest.approx(best.score, abs=1e-4)
        assert len(row.ids) == system.config.ctc_positions * len(request.source)


def test_ctc_models_are_captured_in_one_pass(
    ctc_folder: Path, requests: list[Request], decoder_of: Callable[[System], Decoder]
) -> None:
    system = load_system(ModelFolder.read(ctc_folder))
    engine = CudaEngine(system, "cpu", "float32")
    settings = OnePassSettings(suppress_tokens=SUPPRESSED)
    captured = find_decoder("ctc")("ctc", engine).translate(requests[:8], settings)
    plain = decoder_of(system).translate(requests[:8], settings)
    assert [best.ids for (best,) in captured] == [best.ids for (best,) in plain]
    assert engine.captures is not None
    assert [shape.iterations for shape in engine.captures.made] == [1]


@pytest.mark.parametrize(
    "settings",
    [
        AlignmentSettings(2, trace=True),
        AlignmentSettings("N"),
        AlignmentSettings(2, stop_when_stable=True),
        AlignmentSettings(2, strategy="blocks"),
        AlignmentSettings(2, strategy="mask_predict"),
        AlignmentSettings(1, strategy="easy_first"),
    ],
    ids=str,
)
def test_settings_that_need_the_host_between_passes_are_not_captured(
    settings: AlignmentSettings, requests: list[Request]
) -> None:
    assert CaptureShape.of_alignments(requests[:1], settings, 2) is None
    assert best_alignment_count(24, settings, 2) is None


def test_pins_and_large_batches_are_not_captured(requests: list[Request]) -> None:
    settings = AlignmentSettings(2)
    assert CaptureShape.of_alignments([replace(requests[0], pins=(Pin((7,)),))], settings, 2) is None
    assert CaptureShape.of_alignments(requests[:1] * MAX_POSITIONS, settings, 2) is None


@pytest.mark.parametrize("width", [8, 24, 40, 128])
def test_batches_of_the_best_size_are_captured_without_padding(width: int) -> None:
    settings = AlignmentSettings(2)
    most = best_alignment_count(width, settings, 2)
    assert most is not None
    shape = CaptureShape.of_alignments([Request((7,) * width)] * most, settings, 2)
    assert shape is not None
    assert shape.sentences == most
    assert BEST_POSITIONS / 2 < shape.positions <= BEST_POSITIONS
