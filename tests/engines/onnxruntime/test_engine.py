"""onnxruntime's graphs against the plain engine, in every shape of model, and its arithmetic at the limits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskpredict import Translator, UserError
from maskpredict.decoding.engine import Engine, Query
from maskpredict.engines.onnxruntime.engine import OnnxruntimeEngine
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.engines.torch.loading import load_system
from maskpredict.model.folder import ModelFolder

SOURCES = [(5, 6, 7, 8, 2), (9, 2), (*range(5, 35), 2), (11, 12, 13, 2)]
LENGTHS = [5, 2, 31, 8]
SHAPES: list[dict[str, Any]] = [
    {"norm": "pre"},
    {"norm": "post", "activation": "relu"},
    {"norm": "pre", "embeddings": "target", "scale_embeddings": True},
    {"norm": "post", "embeddings": "separate"},
]


def predictions(engine: Engine, seed: int = 2) -> list[np.ndarray[Any, Any]]:
    """Log-probabilities [T, V] of all tokens, of a draft for each source."""
    encoded, chance = engine.encode(SOURCES), np.random.default_rng(seed)
    answers = []
    for row, length in enumerate(LENGTHS):
        passes = encoded.passes([row], [length])
        draft = chance.integers(5, 80, size=length).tolist()
        answers.append(np.asarray(passes.log_probs(passes.array([draft], 0), Query())))
    return answers


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_computes_what_pytorch_does(random_folder: Callable[..., ModelFolder], shape: dict[str, Any]) -> None:
    contents = random_folder(**shape)
    ours, plain = OnnxruntimeEngine(contents, "float32", 1), TorchEngine(load_system(contents))
    np.testing.assert_allclose(
        ours.encode(SOURCES).length_log_probs_BL, np.concatenate(
            [plain.encode([source]).length_log_probs_BL for source in SOURCES]
        ), atol=2e-4,
    )  # fmt: skip
    for one, other in zip(predictions(ours), predictions(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_int8_is_near(random_folder: Callable[..., ModelFolder], shape: dict[str, Any]) -> None:
    contents = random_folder(**shape)
    ours, plain = OnnxruntimeEngine(contents, "int8", 1), TorchEngine(load_system(contents))
    for one, other in zip(predictions(ours), predictions(plain), strict=True):
        assert np.linalg.norm(one - other) < 0.1 * np.linalg.norm(other)


@pytest.mark.parametrize("system", ["fairseq_cmlm", "fairseq_cmlm_relative"])
def test_lengths_of_fairseqs_models(random_folder: Callable[..., ModelFolder], system: str) -> None:
    contents = random_folder(system, length_classes=256)
    ours, plain = OnnxruntimeEngine(contents, "float32", 1), TorchEngine(load_system(contents))
    for source in SOURCES:
        got, wanted = (engine.encode([source]).length_log_probs_BL for engine in (ours, plain))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
        np.testing.assert_allclose(got[np.isfinite(got)], wanted[np.isfinite(wanted)], atol=2e-4)


def test_the_largest_sums_do_not_saturate(random_folder: Callable[..., ModelFolder]) -> None:
    contents = random_folder(norm="pre", embeddings="separate")
    weights = dict(contents.weights)
    weights["transformer.decoder_norm.weight"] = np.zeros(64, np.float32)
    weights["transformer.decoder_norm.bias"] = np.ones(64, np.float32)
    output = np.full_like(weights["transformer.output.weight"], 0.5)
    output[7] = -0.5
    weights["transformer.output.weight"] = output
    # Logits are 32 everywhere, and -32 for one token, which saturating sums would not reach.
    (first, *_) = predictions(OnnxruntimeEngine(replace(contents, weights=weights), "int8", 1))
    np.testing.assert_allclose(first[:, 7] - first[:, 8], -64.0, rtol=0.01)


@pytest.mark.parametrize(
    ("model", "compute_type", "settings"),
    [
        ("cmlm_folder", "int8", {}),
        ("cmlm_folder", "float32", {}),
        ("alignment_folder", "int8", {"iterations": 4}),
        ("alignment_folder", "float32", {"iterations": 4}),
    ],
)
def test_threads_and_callers_change_nothing(
    request: pytest.FixtureRequest, sentences: list[str], model: str, compute_type: str, settings: dict[str, Any]
) -> None:
    folder: Path = request.getfixturevalue(model)
    one = Translator(folder, device="cpu", compute_type=compute_type, engine="onnxruntime", intra_threads=1)
    expected = one.translate(sentences, **settings)
    for threads in (2, 3):
        other = Translator(folder, device="cpu", compute_type=compute_type, engine="onnxruntime", intra_threads=threads)
        assert other.engine.threads == threads
        assert [other.translate([sentence], **settings)[0] for sentence in sentences] == expected
        assert other.translate(sentences, **settings) == expected
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(partial(other.translate, **settings), [sentences] * 4)) == [expected] * 4


def test_pinned_words_rule_out_an_end_before_them(random_folder: Callable[..., ModelFolder]) -> None:
    contents = random_folder()
    ours, plain = OnnxruntimeEngine(contents, "float32", 1), TorchEngine(load_system(contents))
    results = []
    engines: list[Engine] = [ours, plain]
    for engine in engines:
        passes = engine.encode(SOURCES[:1]).passes([0], [8])
        draft = passes.array([[4] * 8], 0)
        masked, no_end = (passes.array([row], 0) != 0 for row in ([1] * 8, [1, 1, 1, 0, 0, 0, 0, 0]))
        allowed = tuple(token for token in range(contents.tokenizers.target.vocab_size) if token not in (2, 9, 11))
        given = passes.array([[9] * 8], 0)
        answer = engine.encode(SOURCES[:1]).passes([0], [8]).predict(draft, masked, Query(allowed, no_end, given))
        results.append(
            [np.asarray(part) for part in (answer.tokens_BT, answer.log_probs_BT, answer.given_log_probs_BT)]
        )
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert not (results[0][0][0, :3] == 2).any()
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-3)
    np.testing.assert_allclose(results[0][2], results[1][2], atol=1e-3)


def test_weights_that_do_not_fit_are_refused_at_once(random_folder: Callable[..., ModelFolder]) -> None:
    contents = random_folder()
    name = "transformer.decoder.1.cross.kv.weight"
    missing = {other: values for other, values in contents.weights.items() if other != name}
    with pytest.raises(UserError, match=f"missing {name}"):
        OnnxruntimeEngine(replace(contents, weights=missing), "float32", 1)
    wrong = {**contents.weights, name: contents.weights[name][:3]}
    with pytest.raises(UserError, match=r"has shape \[3, 64\], expected \[128, 64\]"):
        OnnxruntimeEngine(replace(contents, weights=wrong), "float32", 1)
