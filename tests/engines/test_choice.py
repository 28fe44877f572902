"""Which numbers are computed in: what was asked for, what is fastest, or a sentence why not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from maskpredict import Translator, UserError
from maskpredict.model.config import PRESETS
from maskpredict.runtime.compute_type import find_compute_type

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def old_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch believes that the CPU has no AVX2."""
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: False)


@pytest.mark.parametrize(
    ("preset", "device", "chosen"),
    [("base", CPU, "int8"), ("tiny", CPU, "float32"), ("base", GPU, "float16"), ("tiny", GPU, "float16")],
)
def test_auto_is_the_fastest_that_is_exact_enough(preset: str, device: torch.device, chosen: str) -> None:
    assert find_compute_type("auto", device, PRESETS[preset]) == chosen


def test_a_translator_says_how_it_computes(caplog: pytest.LogCaptureFixture, cmlm_folder: Path) -> None:
    with caplog.at_level(logging.INFO):
        Translator(cmlm_folder, device="cpu")
        translator = Translator(cmlm_folder, device="cpu", compute_type="int8")
    assert caplog.messages == [
        "Computing in float32 on cpu, by PyTorch.",
        f"Computing in int8 on cpu, by {translator.engine}.",
    ]


@pytest.mark.usefixtures("old_cpu")
def test_auto_is_float32_on_a_cpu_that_is_slow_at_eight_bits() -> None:
    assert find_compute_type("auto", CPU, PRESETS["base"]) == "float32"


@pytest.mark.parametrize("asked", ["float32", "bfloat16", "float16", "int8"])
def test_what_is_asked_for_is_taken_however_small_the_model(asked: str) -> None:
    assert find_compute_type(asked, CPU, PRESETS["tiny"]) == asked


@pytest.mark.usefixtures("old_cpu")
def test_eight_bits_are_refused_on_a_cpu_that_lacks_them() -> None:
    with pytest.raises(UserError, match=r"cannot multiply in int8 .* choose float32"):
        find_compute_type("int8", CPU, PRESETS["base"])


def test_eight_bits_are_refused_on_a_gpu() -> None:
    with pytest.raises(UserError, match="choose float16 or bfloat16 on a GPU"):
        find_compute_type("int8", GPU, PRESETS["base"])


def test_an_unknown_type_is_refused_with_those_there_are() -> None:
    with pytest.raises(UserError, match="'int3'; choose one of auto, float32, bfloat16, float16, int8"):
        find_compute_type("int3", CPU, PRESETS["base"])


def test_a_translator_says_what_it_computes_in(cmlm_folder: Path) -> None:
    assert Translator(cmlm_folder, device="cpu").compute_type == "float32"
    assert Translator(cmlm_folder, device="cpu", compute_type="int8").compute_type == "int8"
