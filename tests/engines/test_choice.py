"""Which engine, device and precision are chosen, or a sentence why not."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import maskpredict.cpu
import maskpredict.engines
from maskpredict import Translator, UserError
from maskpredict.engines import Choice, choose, default_threads
from maskpredict.model.config import PRESETS
from maskpredict.model.folder import ModelFolder


@pytest.fixture
def base(cmlm_folder: Path) -> ModelFolder:
    """A CMLM that says it is large."""
    return replace(ModelFolder.read(cmlm_folder), config=PRESETS["base"])


@pytest.fixture
def tiny(cmlm_folder: Path) -> ModelFolder:
    return ModelFolder.read(cmlm_folder)


@pytest.fixture
def teacher(autoregressive_folder: Path) -> ModelFolder:
    return replace(ModelFolder.read(autoregressive_folder), config=PRESETS["base"])


@pytest.fixture
def old_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """An x86 CPU without AVX2, as NumPy would detect it."""
    _pretend(monkeypatch, "x86_64")


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(monkeypatch, "aarch64")


def _pretend(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    features = vars(maskpredict.cpu)["_features"]
    monkeypatch.setitem(features, "AVX2", False)
    monkeypatch.setitem(features, "AVX512VNNI", False)
    monkeypatch.setattr("platform.machine", lambda: machine)


def test_auto_is_the_fastest_that_is_exact_enough(base: ModelFolder, tiny: ModelFolder, teacher: ModelFolder) -> None:
    assert choose(base, device="cpu") == Choice("onnxruntime", "cpu", "int8")
    assert choose(tiny, device="cpu") == Choice("onnxruntime", "cpu", "float32")
    if maskpredict.cpu.has_avx2():
        assert choose(teacher, device="cpu") == Choice("int8", "cpu", "int8")


def test_a_precision_or_an_engine_may_be_asked_for(base: ModelFolder) -> None:
    assert choose(base, device="cpu", compute_type="float32") == Choice("onnxruntime", "cpu", "float32")
    assert choose(base, device="cpu", compute_type="bfloat16") == Choice("torch", "cpu", "bfloat16")
    assert choose(base, device="cpu", engine="torch") == Choice("torch", "cpu", "float32")
    if maskpredict.cpu.has_avx2():
        assert choose(base, device="cpu", engine="int8") == Choice("int8", "cpu", "int8")


@pytest.mark.usefixtures("old_cpu")
def test_an_old_cpu(base: ModelFolder, teacher: ModelFolder) -> None:
    assert choose(base, device="cpu") == Choice("onnxruntime", "cpu", "float32")
    assert choose(base, device="cpu", compute_type="int8").engine == "onnxruntime"
    assert choose(teacher, device="cpu") == Choice("torch", "cpu", "float32")
    with pytest.raises(UserError, match=r"cannot multiply in int8 with PyTorch .* choose float32"):
        choose(teacher, device="cpu", engine="int8", compute_type="int8")


@pytest.mark.usefixtures("arm")
def test_an_arm_cpu(base: ModelFolder, teacher: ModelFolder) -> None:
    assert choose(base, device="cpu") == Choice("onnxruntime", "cpu", "int8")
    assert choose(teacher, device="cpu") == Choice("torch", "cpu", "float32")


def test_what_an_engine_cannot_do_is_said_in_a_sentence(base: ModelFolder, teacher: ModelFolder) -> None:
    with pytest.raises(UserError, match="onnxruntime does not run models of the system autoregressive"):
        choose(teacher, device="cpu", engine="onnxruntime")
    with pytest.raises(UserError, match="computes in int8 or float32, not in float16"):
        choose(base, device="cpu", engine="onnxruntime", compute_type="float16")
    with pytest.raises(UserError, match="computes on an NVIDIA GPU, not on cpu"):
        choose(base, device="cpu", engine="cuda")
    with pytest.raises(UserError, match="the engine int8 computes in int8, not in float32"):
        choose(base, device="cpu", engine="int8", compute_type="float32")
    with pytest.raises(UserError, match="there is no engine 'abacus'; choose auto or one of onnxruntime, cuda"):
        choose(base, engine="abacus")
    with pytest.raises(UserError, match="'int3'; choose one of auto, float32, bfloat16, float16, int8"):
        choose(base, compute_type="int3")
    with pytest.raises(UserError, match="the device 'cuda:77' cannot be used here"):
        choose(base, device="cuda:77")
    with pytest.raises(UserError, match="the device 'teapot' cannot be used here; choose auto"):
        choose(base, device="teapot")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to choose")
def test_a_gpu_is_not_suggested_where_there_is_none(base: ModelFolder) -> None:
    with pytest.raises(UserError, match=r"the device 'cuda' cannot be used here; choose auto or cpu\."):
        choose(base, device="cuda")


def test_half_precision_in_eight_bits_is_no_choice_for_a_gpu(base: ModelFolder) -> None:
    from maskpredict.engines import cuda, int8

    assert "choose float16 or bfloat16 on a GPU" in str(cuda.refusal(base, "cuda", "int8"))
    assert "choose float16 or bfloat16 on a GPU" in str(int8.refusal(base, "cuda", "int8"))
    assert cuda.refusal(base, "cuda", "float16") is None


def test_a_translator_says_how_it_computes(caplog: pytest.LogCaptureFixture, cmlm_folder: Path) -> None:
    with caplog.at_level(logging.INFO):
        translator = Translator(cmlm_folder, device="cpu")
        Translator(cmlm_folder, device="cpu", compute_type="bfloat16")
    assert caplog.messages == [
        "Computing in float32 on cpu, by onnxruntime.",
        "Computing in bfloat16 on cpu, by torch.",
    ]
    assert (translator.device, translator.compute_type, translator.engine.name) == ("cpu", "float32", "onnxruntime")


def test_threads(monkeypatch: pytest.MonkeyPatch, cmlm_folder: Path) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert default_threads() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= default_threads() <= maskpredict.engines.MAX_THREADS
    with pytest.raises(UserError, match="intra_threads is 0; use 1 or more"):
        Translator(cmlm_folder, intra_threads=0)
    assert Translator(cmlm_folder, device="cpu", intra_threads=3).engine.threads == 3
