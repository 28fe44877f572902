"""Autoregressive models in CTranslate2: the real package opens the folder and finds what we find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import pytest

from maskpredict import Translator, UserError
from maskpredict.export import export_ctranslate2
from maskpredict.model.folder import ModelFolder

RandomModel = Callable[..., ModelFolder]


def opened(model: Path | ModelFolder, out: Path, **options: Any) -> ctranslate2.Translator:
    export_ctranslate2(model, out, **options)
    return ctranslate2.Translator(str(out), device="cpu", intra_threads=1)


def translated(translator: ctranslate2.Translator, ours: Translator, texts: list[str], beams: int) -> list[list[str]]:
    source = ours.tokenizers.source
    found = translator.translate_batch(
        [source.pieces(source.encode(text)) for text in texts],
        beam_size=beams,
        length_penalty=1,
        min_decoding_length=0,
        max_decoding_length=60,
    )
    return [result.hypotheses[0] for result in found]


@pytest.mark.parametrize("beams", [1, 5])
def test_beam_search_finds_what_ours_finds(
    autoregressive_folder: Path, sentences: list[str], beams: int, tmp_path: Path
) -> None:
    ours = Translator(autoregressive_folder, device="cpu")
    theirs = translated(opened(autoregressive_folder, tmp_path / "out"), ours, sentences, beams)
    expected = [found.tokens[:-1] for found in ours.translate(sentences, beam_size=beams)]
    assert sum(a == b for a, b in zip(theirs, expected, strict=True)) >= 0.99 * len(sentences)


@pytest.mark.parametrize(
    "architecture",
    [
        {"norm": "post"},
        {"norm": "pre", "activation": "relu"},
        {"norm": "post", "embeddings": "separate", "scale_embeddings": True},
        {"norm": "pre", "embeddings": "target", "norm_epsilon": 0.1},
    ],
    ids=str,
)
def test_every_token_of_a_given_target_has_our_probability(
    random_model: RandomModel, sentences: list[str], architecture: dict[str, Any], tmp_path: Path
) -> None:
    model = random_model("autoregressive", **architecture)
    ours = Translator(model, device="cpu")
    sources, targets = sentences[:10], sentences[10:20]
    tokenizers = ours.tokenizers
    scored = opened(model, tmp_path / "out").score_batch(
        [tokenizers.source.pieces(tokenizers.source.encode(text)) for text in sources],
        [tokenizers.target.pieces(tokenizers.target.encode(text)) for text in targets],
    )
    for theirs, own in zip(scored, ours.score(sources, targets), strict=True):
        assert theirs.log_probs == pytest.approx(own.log_probs, abs=1e-3)


def test_a_suppressed_token_is_never_produced(
    autoregressive_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    contents = ModelFolder.read(autoregressive_folder)
    (stop,) = contents.tokenizers.target.ids(["."])
    model = replace(contents, generation={"suppress_tokens": [stop]})
    ours = Translator(model, device="cpu")
    with_stop = translated(opened(autoregressive_folder, tmp_path / "with"), ours, sentences[:20], 2)
    without = translated(opened(model, tmp_path / "without"), ours, sentences[:20], 2)
    assert all("." in tokens for tokens in with_stop)
    assert all("." not in tokens for tokens in without)


def test_int8_is_smaller_and_mostly_finds_the_same(
    autoregressive_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    ours = Translator(autoregressive_folder, device="cpu")
    exact = translated(opened(autoregressive_folder, tmp_path / "float32"), ours, sentences, 5)
    rounded = translated(opened(autoregressive_folder, tmp_path / "int8", precision="int8"), ours, sentences, 5)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("int8", "float32")]
    assert sizes[0] < 0.6 * sizes[1]
    assert sum(a == b for a, b in zip(exact, rounded, strict=True)) > 0.8 * len(sentences)


def test_a_cmlm_is_refused_and_nothing_is_left_behind(cmlm_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="onnx takes a cmlm, too"):
        export_ctranslate2(cmlm_folder, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
