"""Batches that do not fit the memory are split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.decoding.hypothesis import Hypothesis, Request
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.runtime.out_of_memory import start_splitting
from maskpredict.runtime.translator import Translator
from maskpredict.systems.base import System


class SmallEngine(TorchEngine):
    """An engine that can run out of memory, as one on a GPU can."""

    out_of_memory = (torch.OutOfMemoryError,)
    freed = 0

    def free_memory(self) -> None:
        self.freed += 1


@pytest.fixture
def engine(make_system: Callable[..., System]) -> SmallEngine:
    return SmallEngine(make_system("cmlm"))


def no_memory() -> list[int]:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("noticed", ["at the beginning", "at the end"])
def test_halves_and_halves_of_halves_give_the_whole(noticed: str, engine: SmallEngine) -> None:
    sizes: list[int] = []

    def double(items: list[int]) -> Callable[[], list[int]]:
        sizes.append(len(items))
        if len(items) > 3:
            return no_memory
        return lambda: [2 * item for item in items]

    def at_once(items: list[int]) -> Callable[[], list[int]]:
        results = double(items)()
        return lambda: results

    splits: list[None] = []
    start = double if noticed == "at the end" else at_once
    finish = start_splitting(start, list(range(10)), engine, lambda: splits.append(None))
    assert finish() == list(range(0, 20, 2))
    assert sizes == [10, 5, 2, 3, 5, 2, 3]
    assert len(splits) == engine.freed == 3


def test_what_does_not_fit_alone_is_an_error(engine: SmallEngine) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        start_splitting(lambda items: no_memory, [1, 2, 3], engine)()


def test_an_engine_without_limits_lets_other_errors_pass(make_system: Callable[..., System]) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        start_splitting(lambda items: no_memory, [1, 2, 3], TorchEngine(make_system("cmlm")))()


def test_the_translator_goes_on_with_less_and_says_so(
    cmlm_folder: Path, sentences: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator(cmlm_folder, device="cpu")
    expected = translator.translate(sentences, iterations=2)
    plenty = translator.decoder.start

    def too_much(requests: Sequence[Request], settings: Any) -> Callable[[], list[list[Hypothesis]]]:
        if len(requests) > 4:
            raise MemoryError
        return plenty(requests, settings)

    monkeypatch.setattr(translator.engine, "out_of_memory", (MemoryError,))
    monkeypatch.setattr(translator.decoder, "start", too_much)
    assert translator.translate(sentences, iterations=2) == expected
    assert "does not fit in the GPU's memory; retrying with half of it" in caplog.text


def test_captures_make_room(make_system: Callable[..., System]) -> None:
    engine = CudaEngine(make_system("cmlm"), "cpu", "float32")
    assert engine.start([Request((5, 6, 7, 2))], MaskPredictSettings(2, 1)) is not None
    assert engine.captures is not None
    assert engine.captures.made
    engine.free_memory()
    assert not engine.captures.made
