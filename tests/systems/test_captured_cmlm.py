"""A recording's computation, run without recording it, against the plain path: a CPU has no graphs to record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from maskpredict.decoding.candidates import ranked
from maskpredict.decoding.hypothesis import Hypothesis, Pin, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.model.folder import ModelFolder
from maskpredict.systems import build_system
from maskpredict.systems.captured_cmlm import MOST_POSITIONS, Recording, Shape
from maskpredict.systems.cmlm import CMLM
from maskpredict.tokenizer import Tokenizers


@pytest.fixture(scope="module")
def system(cmlm_folder: Path) -> CMLM:
    system = build_system(ModelFolder.read(cmlm_folder))
    assert isinstance(system, CMLM)
    return system


@pytest.fixture(scope="module")
def requests(toy_tokenizers: Tokenizers, sentences: list[str], system: CMLM) -> list[Request]:
    encoded = [toy_tokenizers.source.encode(sentence) for sentence in sentences]
    return [Request((*ids, system.special.eos)) for ids in encoded]


def shape_of(requests: list[Request], settings: MaskPredictSettings, system: CMLM) -> Shape:
    shape = Shape.of(requests, settings, system.config.max_positions)
    assert shape is not None
    return shape


@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize(("iterations", "candidates"), [(1, 1), (4, 1), (4, 3), (10, 5)])
def test_a_recording_finds_what_the_plain_path_finds(
    system: CMLM, requests: list[Request], together: int, iterations: int, candidates: int
) -> None:
    settings = MaskPredictSettings(iterations, candidates, num_hypotheses=candidates, suppress_tokens=(0, 1, 4))
    for first in range(0, 24, together):
        group = requests[first : first + together]
        found = Recording(system, shape_of(group, settings, system)).translate(group)
        assert found is not None
        for request, own in zip(group, found, strict=True):
            (plain,) = system.translate([request], settings)
            assert_same(ranked(own, settings), plain)


def assert_same(found: list[Hypothesis], plain: list[Hypothesis]) -> None:
    assert [one.ids for one in found] == [one.ids for one in plain]
    assert [one.passes for one in found] == [one.passes for one in plain]
    for one, other in zip(found, plain, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-3)


def test_one_recording_serves_other_sentences_of_its_shape(system: CMLM, requests: list[Request]) -> None:
    settings = MaskPredictSettings(4, 2)
    alike = [r for r in requests if shape_of([r], settings, system) == shape_of(requests[:1], settings, system)]
    recording = Recording(system, shape_of(requests[:1], settings, system))
    assert len(alike) > 3
    for request in alike:
        found = recording.translate([request])
        assert found is not None
        assert ranked(found[0], settings)[0].ids == system.translate([request], settings)[0][0].ids


def test_a_target_longer_than_the_recording_is_left_to_the_plain_path(system: CMLM, requests: list[Request]) -> None:
    long = max(requests, key=lambda request: len(request.source))
    shape = shape_of([long], MaskPredictSettings(2, 1), system)
    assert Recording(system, replace(shape, target_width=8)).translate([long]) is None


@pytest.mark.parametrize(
    "settings",
    [
        MaskPredictSettings(trace=True),
        MaskPredictSettings(iterations="N"),
        MaskPredictSettings(threshold=0.5),
        MaskPredictSettings(stop_when_stable=True),
        MaskPredictSettings(strategy="easy_first"),
    ],
    ids=str,
)
def test_settings_with_a_say_in_the_number_of_passes_are_not_recorded(
    settings: MaskPredictSettings, requests: list[Request]
) -> None:
    assert Shape.of(requests[:1], settings, 512) is None


def test_requests_that_impose_something_and_large_batches_are_not_recorded(requests: list[Request]) -> None:
    settings = MaskPredictSettings()
    assert Shape.of([replace(requests[0], length=4)], settings, 512) is None
    assert Shape.of([replace(requests[0], pins=(Pin((7,), 0),))], settings, 512) is None
    assert Shape.of(requests[:1] * MOST_POSITIONS, settings, 512) is None


def test_a_cpu_takes_the_plain_path(system: CMLM, requests: list[Request]) -> None:
    system.translate(requests[:1], MaskPredictSettings(2, 1))
    assert system.device == torch.device("cpu")
    assert not system.recordings.made
