"""A capture's computation, run uncaptured, against the plain path: a CPU has no graphs to capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict.decoding.candidates import ranked
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Hypothesis, Pin, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda import captures, draft_step_reference
from maskpredict.engines.cuda.capture import Capture, TargetTooLong, capture_inputs, finished
from maskpredict.engines.cuda.capture_shape import BEST_POSITIONS, MAX_POSITIONS, CaptureShape, best_sentence_count
from maskpredict.engines.cuda.captures import Candidates, CMLMCaptures
from maskpredict.engines.cuda.fused_computation import FusedComputation, suits
from maskpredict.engines.cuda.fused_transformer import FusedTransformer
from maskpredict.engines.cuda.plain_computation import PlainComputation
from maskpredict.engines.torch.loading import load_system
from maskpredict.kernels import reference
from maskpredict.model.folder import ModelFolder
from maskpredict.systems.base import System
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import Tokenizers


@pytest.fixture(scope="module")
def system(cmlm_folder: Path) -> CMLM:
    system = load_system(ModelFolder.read(cmlm_folder))
    assert isinstance(system, CMLM)
    return system


@pytest.fixture(scope="module")
def pass_by_pass(system: CMLM, decoder_of: Callable[[System], Decoder]) -> Decoder:
    """What captures have to agree with."""
    return decoder_of(system)


@pytest.fixture(scope="module")
def requests(toy_tokenizers: Tokenizers, sentences: list[str], system: CMLM) -> list[Request]:
    encoded = [toy_tokenizers.source.encode(sentence) for sentence in sentences]
    return [Request((*ids, system.special.eos)) for ids in encoded]


def shape_of(requests: list[Request], settings: MaskPredictSettings, system: CMLM) -> CaptureShape:
    """The shape of these requests, with room for the unlikeliest of their lengths."""
    shape = CaptureShape.of(requests, settings, system.config.max_positions)
    assert shape is not None
    return replace(shape, target_width=shape.target_width + 16)


def capture_of(system: CMLM, shape: CaptureShape, *, fused: bool) -> Capture:
    if not fused:
        return Capture(system, shape, PlainComputation(system, shape))
    transformer = FusedTransformer(system.transformer, reference)
    return Capture(system, shape, FusedComputation(system, transformer, draft_step_reference, shape))


def translated(capture: Capture, group: list[Request], settings: MaskPredictSettings) -> Candidates:
    capture.begin(capture_inputs(group, capture.shape, capture.system.special.pad))
    return finished(capture.results(), capture.shape, len(group), settings)


def finish(wait: Callable[[], Candidates | None] | None) -> Candidates | None:
    assert wait is not None
    return wait()


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        MaskPredictSettings(1, 1),
        MaskPredictSettings(4, 1),
        MaskPredictSettings(4, 3),
        MaskPredictSettings(10, 5),
        MaskPredictSettings(4, 1, threshold=0.75),
        MaskPredictSettings(10, 5, threshold=0.95),
        MaskPredictSettings(1, 3, prune_candidates=3),
        MaskPredictSettings(6, 5, prune_candidates=5),
        MaskPredictSettings(4, 5, threshold=0.9, prune_candidates=5),
    ],
    ids=str,
)
def test_a_capture_gives_the_results_of_the_uncaptured_path(
    system: CMLM,
    pass_by_pass: Decoder,
    requests: list[Request],
    together: int,
    settings: MaskPredictSettings,
    fused: bool,
) -> None:
    settings = replace(settings, num_hypotheses=settings.length_candidates, suppress_tokens=(0, 1, 4))
    for first in range(0, 24, together):
        group = requests[first : first + together]
        shape = shape_of(group, settings, system)
        assert suits(shape)
        actual = translated(capture_of(system, shape, fused=fused), group, settings)
        for request, candidates in zip(group, actual, strict=True):
            (plain,) = pass_by_pass.translate([request], settings)
            assert_same(ranked(candidates, settings), plain)


def assert_same(actual: list[Hypothesis], plain: list[Hypothesis]) -> None:
    assert [one.ids for one in actual] == [one.ids for one in plain]
    assert [one.passes for one in actual] == [one.passes for one in plain]
    assert [one.lengths for one in actual] == [one.lengths for one in plain]
    for one, other in zip(actual, plain, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-3)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        MaskPredictSettings(4, 4, threshold=0.9, prune_candidates=2),
        MaskPredictSettings(4, 4, threshold=0.9, prune_candidates=3),
        MaskPredictSettings(4, 5, length_threshold=0.1),
        MaskPredictSettings(4, 5, length_threshold=0.5, num_hypotheses=3),
        MaskPredictSettings(4, 5, length_weight=0.3, num_hypotheses=3),
    ],
    ids=str,
)
def test_one_capture_serves_other_sentences_of_its_shape(
    system: CMLM, pass_by_pass: Decoder, requests: list[Request], fused: bool, settings: MaskPredictSettings
) -> None:
    alike = [r for r in requests if shape_of([r], settings, system) == shape_of(requests[:1], settings, system)]
    capture = capture_of(system, shape_of(requests[:1], settings, system), fused=fused)
    assert len(alike) > 3
    for request in alike:
        actual = translated(capture, [request], settings)
        assert_same(ranked(actual[0], settings), pass_by_pass.translate([request], settings)[0])


@pytest.mark.parametrize("fused", [False, True])
def test_a_target_longer_than_the_capture_is_refused(
    system: CMLM, pass_by_pass: Decoder, requests: list[Request], fused: bool
) -> None:
    settings = MaskPredictSettings(2, 1)
    lengths = [actual[0].lengths[0] for actual in pass_by_pass.translate(requests, settings)]
    long = requests[lengths.index(max(lengths))]
    shape = replace(shape_of([long], settings, system), target_width=8)
    with pytest.raises(TargetTooLong) as error:
        translated(capture_of(system, shape, fused=fused), [long], settings)
    assert error.value.length == max(lengths)


def test_longer_targets_get_a_wider_capture(system: CMLM, pass_by_pass: Decoder, requests: list[Request]) -> None:
    """Their sources are shorter than what the model makes of them."""
    captures_made, settings = CMLMCaptures(system, fusing=False), MaskPredictSettings(3, 5)
    for request in requests:
        actual = finish(captures_made.start([request], settings))
        assert actual is not None
        assert_same(ranked(actual[0], settings), pass_by_pass.translate([request], settings)[0])
    of_source: dict[int, set[int]] = {}
    for shape in captures_made.made:
        of_source.setdefault(shape.source_width, set()).add(shape.target_width)
    assert any(len(widths) > 1 for widths in of_source.values())


def test_targets_too_wide_for_a_capture_have_no_shape(requests: list[Request]) -> None:
    shape = CaptureShape.of(requests[:1], MaskPredictSettings(4, 5), 512)
    assert shape is not None
    assert shape.widened(100, 512) == replace(shape, target_width=112)
    assert shape.widened(500, 510) == replace(shape, target_width=504)
    assert shape.widened(505, 510) is None
    assert replace(shape, sentences=128).widened(112, 512) is None
    assert replace(shape, sentences=64).widened(100, 512) is not None


@pytest.mark.parametrize(
    "settings",
    [
        MaskPredictSettings(trace=True),
        MaskPredictSettings(iterations="N"),
        MaskPredictSettings(stop_when_stable=True),
        MaskPredictSettings(length_threshold=0.1, prune_candidates=2),
        MaskPredictSettings(strategy="easy_first"),
    ],
    ids=str,
)
def test_settings_that_need_the_host_between_passes_are_not_captured(
    settings: MaskPredictSettings, requests: list[Request]
) -> None:
    assert CaptureShape.of(requests[:1], settings, 512) is None


def test_constrained_requests_and_large_batches_are_not_captured(requests: list[Request]) -> None:
    settings = MaskPredictSettings()
    assert CaptureShape.of([replace(requests[0], length=4)], settings, 512) is None
    assert CaptureShape.of([replace(requests[0], pins=(Pin((7,), 0),))], settings, 512) is None
    assert CaptureShape.of(requests[:1] * MAX_POSITIONS, settings, 512) is None


def test_many_or_long_drafts_are_not_fused(requests: list[Request]) -> None:
    shape = CaptureShape.of(requests[:1], MaskPredictSettings(4, 1), 512)
    assert shape is not None
    assert suits(replace(shape, sentences=16, target_width=48))
    assert not suits(replace(shape, sentences=16, target_width=64))
    assert not suits(replace(shape, sentences=1, target_width=136))


def test_the_least_recently_used_capture_is_dropped_first(
    system: CMLM, requests: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "MAX_CAPTURES", 2)
    captures_made, settings = (
        CMLMCaptures(system, fusing=False),
        [MaskPredictSettings(passes, 1) for passes in (1, 2, 3)],
    )
    for passes in (1, 2, 1, 3):
        finish(captures_made.start(requests[:1], settings[passes - 1]))
    assert [shape.iterations for shape in captures_made.made] == [1, 3]


def test_a_large_shape_is_captured_at_its_second_use(
    system: CMLM, pass_by_pass: Decoder, requests: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "CAPTURE_AT_ONCE_POSITIONS", 100)
    captures_made, settings = CMLMCaptures(system, fusing=False), MaskPredictSettings(2, 1)
    assert captures_made.start(requests[:1], settings) is not None
    large = sorted(requests, key=lambda request: len(request.source))[:16]
    assert captures_made.start(large, settings) is None
    actual = finish(captures_made.start(large, settings))
    assert actual is not None
    for candidates, plain in zip(actual, pass_by_pass.translate(large, settings), strict=True):
        assert_same(ranked(candidates, settings), plain)


@pytest.mark.parametrize(("source_length", "widths"), [(16, [24, 24, 32]), (20, [24, 32, 32])])
def test_more_drafts_get_more_extra_positions(source_length: int, widths: list[int]) -> None:
    request = Request((7,) * source_length)
    shapes = [CaptureShape.of([request] * many, MaskPredictSettings(4, 1), 512) for many in (16, 32, 256)]
    assert [shape and shape.target_width for shape in shapes] == widths


def test_results_survive_the_start_of_another_translation(
    system: CMLM, pass_by_pass: Decoder, requests: list[Request]
) -> None:
    """A capture has one place for its results, and the second batch is of the same shape."""
    captures_made, settings = CMLMCaptures(system, fusing=False), MaskPredictSettings(3, 2)
    waits = [captures_made.start([request], settings) for request in requests[:12]]
    assert len(captures_made.made) < len(waits)
    for request, wait in zip(requests, waits, strict=False):
        actual = finish(wait)
        assert actual is not None
        assert_same(ranked(actual[0], settings), pass_by_pass.translate([request], settings)[0])


@pytest.mark.parametrize("candidates", [1, 5])
@pytest.mark.parametrize("width", [8, 24, 40, 128])
def test_batches_of_the_best_size_are_captured_without_padding(width: int, candidates: int) -> None:
    settings = MaskPredictSettings(4, candidates)
    most = best_sentence_count(width, settings)
    assert most is not None
    shape = CaptureShape.of([Request((7,) * (width - 1))] * most, settings, 512)
    assert shape is not None
    assert shape.sentences == most
    assert BEST_POSITIONS / 2 < shape.positions <= BEST_POSITIONS
