"""Everything that the conformance suite runs on, by name, and what each can be asked."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict import Translator
from maskpredict.engines import ENGINES
from maskpredict.engines.cuda.engine import CudaEngine
from maskpredict.engines.torch.loading import load_system
from maskpredict.export import export_onnx
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.lines import Line
from maskpredict.systems import find_decoder
from tests.conformance import ALL, PLAIN, Answer

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_mask_predict.py"

PRECISIONS = {"onnxruntime": ("float32", "int8"), "int8": ("int8",)}
"""Compute types to run an engine in; float32 where none is named."""
SUBJECTS = [f"{name} {kind}" for name in ENGINES for kind in PRECISIONS.get(name, ("float32",))]
"""The engines of the package; one that is added to `ENGINES` is run, too."""
EXAMPLE_NAME = "ONNX example"


@dataclass(frozen=True)
class Subject:
    """Something that decodes."""

    name: str
    exact: bool
    """Computes in float32, so that it must say what the plain engine says."""
    answers: Callable[[Sequence[Line], dict[str, Any]], list[Answer]]


def features_of(name: str) -> frozenset[str]:
    """What a subject can be asked; the example has passes and lengths alone."""
    return frozenset({PLAIN}) if name == EXAMPLE_NAME else ALL


@pytest.fixture(scope="session")
def open_engine() -> Callable[[Path, str], Translator]:
    """Opens a model in an engine, named as in SUBJECTS."""

    def make(folder: Path, subject: str) -> Translator:
        engine, compute_type = subject.split()
        if engine == "cuda" and not torch.cuda.is_available():
            return _captured_on_cpu(folder)
        device = "cuda" if engine == "cuda" else "cpu"
        return Translator(folder, device=device, compute_type=compute_type, engine=engine)

    return make


@pytest.fixture(scope="session")
def exported_folder(cmlm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy CMLM as ONNX graphs for the example."""
    return export_onnx(cmlm_folder, tmp_path_factory.mktemp("onnx") / "cmlm").folder


@pytest.fixture(scope="session", params=[*SUBJECTS, EXAMPLE_NAME])
def subject(
    request: pytest.FixtureRequest,
    cmlm_folder: Path,
    open_engine: Callable[[Path, str], Translator],
) -> Subject:
    """Each of them with the toy CMLM."""
    name: str = request.param
    if name == EXAMPLE_NAME:
        return _example(cmlm_folder, request.getfixturevalue("exported_folder"))
    return of_translator(name, open_engine(cmlm_folder, name))


def of_translator(name: str, translator: Translator) -> Subject:
    """A Translator, whatever its engine."""

    def answers(lines: Sequence[Line], settings: dict[str, Any]) -> list[Answer]:
        return [Answer.of(own) for own in translator.translate_lines(lines, window=len(lines), **settings)]

    return Subject(name, name.endswith("float32"), answers)


def _captured_on_cpu(folder: Path) -> Translator:
    """The CUDA engine where there is no GPU: what it would capture is computed as it stands."""
    translator, contents = Translator(folder, device="cpu", engine="torch"), ModelFolder.read(folder)
    translator.engine = CudaEngine(load_system(contents), "cpu", "float32")
    translator.decoder = find_decoder(contents.system)(contents.system, translator.engine)
    return translator


def _example(model: Path, folder: Path) -> Subject:
    specification = importlib.util.spec_from_file_location("onnx_mask_predict", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    theirs, pieces = module.OnnxTranslator(folder), ModelFolder.read(model).tokenizers.target.pieces

    def answers(lines: Sequence[Line], settings: dict[str, Any]) -> list[Answer]:
        numbers = settings["iterations"], settings["length_candidates"]
        return [Answer(pieces(theirs.translate(line.source, *numbers))) for line in lines]

    return Subject(EXAMPLE_NAME, True, answers)
