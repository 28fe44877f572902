"""Models as ONNX graphs: onnxruntime and a loop outside arrive at our translations."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from maskpredict import Translator
from maskpredict.export import export_onnx
from maskpredict.model.folder import ModelFolder

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE, ALIGNMENT_EXAMPLE = EXAMPLES / "onnx_mask_predict.py", EXAMPLES / "onnx_alignment.py"
RandomModel = Callable[..., ModelFolder]


@pytest.fixture(scope="module")
def cmlm_graphs(cmlm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_onnx(cmlm_folder, tmp_path_factory.mktemp("onnx") / "cmlm").folder


@pytest.fixture(scope="module")
def alignment_graphs(alignment_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_onnx(alignment_folder, tmp_path_factory.mktemp("onnx") / "alignment").folder


def example(folder: Path, path: Path = EXAMPLE) -> Any:
    """The translator of an example, on an exported model."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.OnnxTranslator(folder)


@pytest.mark.parametrize(("passes", "candidates"), [(1, 1), (4, 3), (10, 5)])
def test_the_example_arrives_at_our_tokens(
    cmlm_folder: Path, cmlm_graphs: Path, sentences: list[str], passes: int, candidates: int
) -> None:
    theirs, ours = example(cmlm_graphs), Translator(cmlm_folder, device="cpu")
    expected = ours.translate(sentences, iterations=passes, length_candidates=candidates)
    found = [theirs.translate(text, passes, candidates) for text in sentences]
    assert [ours.tokenizers.target.pieces(ids) for ids in found] == [own.tokens for own in expected]


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_the_example_for_alignments_arrives_at_our_tokens(
    alignment_folder: Path, alignment_graphs: Path, sentences: list[str], passes: int
) -> None:
    theirs, ours = example(alignment_graphs, ALIGNMENT_EXAMPLE), Translator(alignment_folder, device="cpu")
    found = [theirs.translate(text, passes) for text in sentences]
    expected = ours.translate(sentences, iterations=passes)
    assert [ours.tokenizers.target.pieces(ids) for ids in found] == [own.tokens for own in expected]


def test_the_example_for_alignments_is_short_and_runs_by_itself(
    alignment_folder: Path, alignment_graphs: Path, sentences: list[str]
) -> None:
    assert len(ALIGNMENT_EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 65
    done = subprocess.run(
        [sys.executable, ALIGNMENT_EXAMPLE, alignment_graphs, "2"],
        input="\n".join([*sentences[:5], ""]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = Translator(alignment_folder, device="cpu").translate(sentences[:5], iterations=2)
    assert done.stdout.splitlines() == [one.text for one in expected]


def test_the_example_is_short_and_needs_neither_torch_nor_this_package(
    cmlm_folder: Path, cmlm_graphs: Path, sentences: list[str]
) -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 60
    program = (
        "import runpy, sys; sys.path.clear(); sys.path += eval(sys.argv.pop()); "
        f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__'); "
        "assert not {'torch', 'maskpredict'} & set(sys.modules)"
    )
    paths = repr([path for path in sys.path if path])
    done = subprocess.run(
        [sys.executable, "-c", program, str(cmlm_graphs), "4", "2", paths],
        input="\n".join([*sentences[:5], ""]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = Translator(cmlm_folder, device="cpu").translate(sentences[:5], iterations=4, length_candidates=2)
    assert done.stdout.splitlines() == [own.text for own in expected]


def test_an_autoregressive_decoder_writes_a_batch_of_any_lengths_word_by_word(
    random_model: RandomModel, sentences: list[str], tmp_path: Path
) -> None:
    shape = {"norm": "post", "embeddings": "separate", "activation": "relu", "scale_embeddings": True}
    model = random_model("autoregressive", **shape, encoder_layers=1, decoder_layers=1)
    folder, ours, texts = export_onnx(model, tmp_path / "out").folder, Translator(model, device="cpu"), sentences[35:45]
    encoder, decoder = (onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder"))
    special = ours.tokenizers.target.special
    rows = [[*ours.tokenizers.source.encode(text), special.eos] for text in texts]
    lengths = np.array([len(row) for row in rows])
    source = np.array([row + [special.pad] * (lengths.max() - len(row)) for row in rows])
    (memory,) = encoder.run(None, {"source_ids": source, "source_lengths": lengths})
    target = np.full((len(rows), 1), special.bos)
    while target.shape[1] < 60:
        written = {"target_ids": target, "target_lengths": np.full(len(rows), target.shape[1])}
        (logits,) = decoder.run(None, {**written, "memory": memory, "source_lengths": lengths})
        target = np.concatenate([target, logits[:, -1:].argmax(-1)], 1)
    for own, ids in zip(ours.translate(texts, beam_size=1), target[:, 1:].tolist(), strict=True):
        before_the_end = own.tokens[:-1]  # where ours ends because it may not become longer, this one does not end
        assert ours.tokenizers.target.pieces(ids[: len(before_the_end)]) == before_the_end


def test_int8_is_smaller_and_mostly_finds_the_same(
    cmlm_folder: Path, cmlm_graphs: Path, sentences: list[str], tmp_path: Path
) -> None:
    rounded = export_onnx(cmlm_folder, tmp_path / "int8", precision="int8").folder
    sizes = [(folder / "decoder.onnx").stat().st_size for folder in (rounded, cmlm_graphs)]
    assert sizes[0] < 0.6 * sizes[1]
    ours, theirs = example(cmlm_graphs), example(rounded)
    same = sum(ours.translate(text, 4, 2) == theirs.translate(text, 4, 2) for text in sentences)
    assert same > 0.7 * len(sentences)


def test_the_graphs_do_not_tell_where_they_were_made(cmlm_graphs: Path) -> None:
    for name in ("encoder.onnx", "decoder.onnx"):
        assert str(Path(__file__).parents[2]).encode() not in (cmlm_graphs / name).read_bytes()
        assert b"site-packages" not in (cmlm_graphs / name).read_bytes()
