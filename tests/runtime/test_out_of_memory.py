"""A batch that does not fit the memory is computed in halves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.runtime.out_of_memory import in_halves_if_needed
from maskpredict.runtime.translator import Translator
from maskpredict.systems.cmlm import CMLM


def no_memory() -> list[int]:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("noticed", ["at the beginning", "at the end"])
def test_halves_and_halves_of_halves_give_the_whole(noticed: str) -> None:
    sizes: list[int] = []

    def double(items: list[int]) -> Callable[[], list[int]]:
        sizes.append(len(items))
        if len(items) > 3:
            return no_memory
        return lambda: [2 * item for item in items]

    def at_once(items: list[int]) -> Callable[[], list[int]]:
        found = double(items)()
        return lambda: found

    halved: list[None] = []
    start = double if noticed == "at the end" else at_once
    finish = in_halves_if_needed(start, list(range(10)), lambda: halved.append(None))
    assert finish() == list(range(0, 20, 2))
    assert sizes == [10, 5, 2, 3, 5, 2, 3]
    assert len(halved) == 3


def test_what_does_not_fit_alone_is_an_error() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        in_halves_if_needed(lambda items: no_memory, [1, 2, 3])()


def test_the_translator_goes_on_with_less_and_says_so(
    cmlm_folder: Path, sentences: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(cmlm_folder, device="cpu")
    expected = translator.translate(sentences, iterations=2)
    plenty = translator.system.start

    def too_much(requests: list[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        if len(requests) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plenty(requests, settings)

    monkeypatch.setattr(translator.system, "start", too_much)
    assert translator.translate(sentences, iterations=2) == expected
    assert "does not fit the memory of the GPU; going on with half of it" in caplog.text


def test_what_is_held_for_speed_alone_makes_room_first(
    cmlm_folder: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(cmlm_folder, device="cpu")
    assert isinstance(translator.system, CMLM)
    recordings, plenty = translator.system.recordings, translator.system.start
    request = Request((5, 6, 7, translator.system.special.eos))
    assert recordings.start([request], MaskPredictSettings(2, 1)) is not None
    assert recordings.made

    def too_little(requests: list[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        if recordings.made:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plenty(requests, settings)

    monkeypatch.setattr(translator.system, "start", too_little)
    assert len(translator.translate(sentences[:2], iterations=2)) == 2
