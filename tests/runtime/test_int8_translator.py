"""A Translator in eight bits keeps the promises of one in float32, and says nearly the same."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict import Translator
from maskpredict.model.folder import ModelFolder


@pytest.fixture(scope="session")
def cmlm(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu", compute_type="int8")


@pytest.fixture(scope="session")
def cmlm_by_pytorch(cmlm_folder: Path) -> Translator:
    """What those without onnxruntime have."""
    return Translator(cmlm_folder, device="cpu", compute_type="int8", engine="int8")


@pytest.fixture(scope="session")
def autoregressive(autoregressive_folder: Path) -> Translator:
    return Translator(autoregressive_folder, device="cpu", compute_type="int8")


@pytest.fixture(params=["cmlm", "cmlm_by_pytorch", "autoregressive"])
def translator(request: pytest.FixtureRequest) -> Translator:
    translator: Translator = request.getfixturevalue(request.param)
    return translator


@pytest.fixture(params=["cmlm", "cmlm_by_pytorch"])
def either(request: pytest.FixtureRequest) -> Translator:
    """A CMLM, whatever computes it."""
    translator: Translator = request.getfixturevalue(request.param)
    return translator


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_most_translations_are_those_of_float32(
    request: pytest.FixtureRequest, translator: Translator, sentences: list[str]
) -> None:
    folder = request.getfixturevalue(f"{translator.system}_folder")
    exact = Translator(folder, device="cpu", compute_type="float32")
    full = exact.translate(sentences[:40])
    rounded = translator.translate(sentences[:40])
    assert sum(a.text == b.text for a, b in zip(full, rounded, strict=True)) >= 36
    same = [(a, b) for a, b in zip(full, rounded, strict=True) if a.tokens == b.tokens]
    assert all(a.score == pytest.approx(b.score, abs=0.1) for a, b in same)


@pytest.mark.parametrize(("batch_size", "thread_count"), [(1, 1), (7, 2), (64, 3)])
def test_results_do_not_depend_on_batch_order_or_threads(
    translator: Translator, sentences: list[str], threads: Callable[[int], None], batch_size: int, thread_count: int
) -> None:
    together = translator.translate(sentences)
    threads(thread_count)
    order = random.Random(batch_size).sample(range(len(sentences)), len(sentences))
    shuffled = translator.translate([sentences[i] for i in order], max_batch_size=batch_size, batch_type="examples")
    assert shuffled == [together[i] for i in order]  # text, tokens, score, log-probabilities and all


def test_onnxruntime_computes_what_it_can(cmlm: Translator, autoregressive: Translator) -> None:
    assert cmlm.engine.name == "onnxruntime"
    assert autoregressive.engine.name == "int8"


def test_without_onnxruntime_pytorch_computes_everything(
    cmlm_by_pytorch: Translator, cmlm_folder: Path, sentences: list[str]
) -> None:
    program = """
import sys
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "onnxruntime" else found(name, *rest)
from maskpredict import Translator
translator = Translator(sys.argv[1], device="cpu", compute_type="int8")
print(translator.engine.name, *(translation.text for translation in translator.translate(sys.argv[2:])), sep="\\n")
"""
    arguments = [sys.executable, "-c", program, str(cmlm_folder), *sentences[:3]]
    printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == ["int8", *(translation.text for translation in cmlm_by_pytorch.translate(sentences[:3]))]


@pytest.mark.parametrize("thread_count", [2, 3])
def test_results_do_not_depend_on_the_threads_that_a_translator_has(
    cmlm: Translator, cmlm_folder: Path, sentences: list[str], threads: Callable[[int], None], thread_count: int
) -> None:
    one_by_one = [cmlm.translate([sentence])[0] for sentence in sentences]
    other = Translator(cmlm_folder, device="cpu", compute_type="int8", intra_threads=thread_count)
    assert [other.translate([sentence])[0] for sentence in sentences] == one_by_one
    assert other.translate(sentences) == one_by_one


def test_several_callers_at_once_get_the_same(cmlm: Translator, sentences: list[str]) -> None:
    alone = cmlm.translate(sentences)
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(cmlm.translate, [sentences] * 4)) == [alone] * 4


def test_long_targets_come_out_the_same_beside_short_ones(either: Translator, sentences: list[str]) -> None:
    references = [" ".join(["IROK"] * (1 + 11 * number % 61)) for number in range(56)]
    sources = sentences[:56]
    together = either.translate(sources, references=references, iterations=3)
    assert max(len(translation.tokens) for translation in together) > 48
    pairs = zip(sources, references, strict=True)
    assert [either.translate([source], references=[own], iterations=3)[0] for source, own in pairs] == together


def test_passes_that_end_early_do_not_depend_on_the_batch(either: Translator, sentences: list[str]) -> None:
    settings: dict[str, Any] = {"threshold": 0.6, "prune_candidates": 2}
    together = either.translate(sentences, **settings)
    assert len({translation.passes for translation in together}) > 1
    assert [either.translate([sentence], **settings)[0] for sentence in sentences] == together


def test_score_agrees_with_translate_to_the_last_bit(either: Translator, sentences: list[str]) -> None:
    source = either.tokenizers.source
    pieces = [" ".join(source.pieces(source.encode(sentence))) for sentence in sentences]
    for settings in ({}, {"iterations": 4, "stop_when_stable": True}, {"strategy": "easy_first"}):
        own = either.translate(pieces, pretokenized=True, **settings)
        scored = either.score(pieces, [" ".join(t.tokens) for t in own], pretokenized=True, **settings)
        assert [t.score for t in scored] == [t.score for t in own]
        assert [t.log_probs for t in scored] == [t.log_probs for t in own]


def test_given_words_are_kept(either: Translator) -> None:
    (anywhere,) = either.translate(["luri tisa bane."], pins=[["IROK"]])
    assert "IROK" in anywhere.text
    (filled,) = either.fill(["luri tisa."], ["IRUL ___{3} ENAB"])
    assert filled.text.startswith("IRUL")
    assert filled.text.endswith("ENAB")


def test_a_model_stored_in_eight_bits_is_the_model_rounded_when_it_is_loaded(
    translator: Translator, request: pytest.FixtureRequest, sentences: list[str], tmp_path: Path
) -> None:
    contents = ModelFolder.read(request.getfixturevalue(f"{translator.system}_folder"))
    contents.write(tmp_path / "small", precision="int8")
    stored = Translator(tmp_path / "small", device="cpu", compute_type="int8")
    # Embeddings are rounded too on disk, so translations are alike, not the same.
    pairs = zip(stored.translate(sentences[:40]), translator.translate(sentences[:40]), strict=True)
    assert sum(a.text == b.text for a, b in pairs) >= 36


def test_a_model_stored_in_eight_bits_translates_in_float32_too(
    request: pytest.FixtureRequest, translator: Translator, sentences: list[str], tmp_path: Path
) -> None:
    folder = request.getfixturevalue(f"{translator.system}_folder")
    ModelFolder.read(folder).write(tmp_path / "small", precision="int8")
    full, small = (Translator(own, device="cpu", compute_type="float32") for own in (folder, tmp_path / "small"))
    pairs = zip(full.translate(sentences[:40]), small.translate(sentences[:40]), strict=True)
    assert sum(a.text == b.text for a, b in pairs) >= 36
