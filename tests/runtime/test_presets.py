"""Speed in one word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict import Translator, UserError
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.presets import PRESETS, preset_settings


@pytest.fixture(scope="module")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stands_for_its_settings(cmlm: Translator, sentences: list[str], name: str) -> None:
    assert cmlm.translate(sentences[:9], speed=name) == cmlm.translate(sentences[:9], **preset_settings(name))


def test_faster_presets_make_fewer_passes(cmlm: Translator, sentences: list[str]) -> None:
    def work(name: str) -> int:
        traces = [translation.trace for translation in cmlm.translate(sentences, speed=name, trace=True)]
        return sum(len(candidate.passes) for trace in traces if trace is not None for candidate in trace.candidates)

    assert work("fast") < work("balanced") < work("best")


def test_what_is_given_goes_before_the_preset_and_the_preset_before_the_model_folder(cmlm_folder: Path) -> None:
    contents = ModelFolder.read(cmlm_folder)
    slow = replace(contents, generation={**contents.generation, "iterations": 9, "stop_when_stable": True})
    translator = Translator(slow, device="cpu")
    assert translator.translate(["luri tisa bane."], speed="fast")[0].passes == 2
    assert translator.translate(["luri tisa bane."], speed="fast", iterations=3)[0].passes == 3


def test_an_unknown_preset_is_refused_with_those_there_are(cmlm: Translator) -> None:
    with pytest.raises(UserError, match="speed is 'furious'; choose one of fast, balanced, best"):
        cmlm.translate(["luri."], speed="furious")


def test_an_autoregressive_model_has_no_presets(autoregressive_folder: Path) -> None:
    with pytest.raises(UserError, match="choose iterations or beam_size"):
        Translator(autoregressive_folder, device="cpu").translate(["luri."], speed="fast")
