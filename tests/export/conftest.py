"""Models with random weights, in every shape that the exports must know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizers

RandomModel = Callable[..., ModelFolder]


@pytest.fixture(scope="session")
def random_model(toy_tokenizers: Tokenizers) -> RandomModel:
    """Makes a model of some system and architecture; its weights are large, so that it is sure of what it says."""

    def make(system: str, **architecture: Any) -> ModelFolder:
        shape = {"width": 32, "hidden": 64, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 64}
        config = ModelConfig(**{**shape, **architecture})
        assert isinstance(toy_tokenizers.source, SentencePieceTokenizer)
        tokenizers = toy_tokenizers
        if config.embeddings != "shared":  # two objects are two vocabularies, though here they hold the same words
            tokenizers = Tokenizers(toy_tokenizers.source, SentencePieceTokenizer(toy_tokenizers.source._model))
        torch.manual_seed(3)
        made = find_system(system)(config, vocabulary_of(tokenizers))
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        special = tokenizers.target.special
        generation = {"suppress_tokens": [special.pad, special.bos, special.mask]}
        return ModelFolder(system, config, Languages("xx", "yy"), tokenizers, weights_of(made), generation)

    return make


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the outer shape of the npm package onnxruntime-web, for tests that do not run it."""
    folder = tmp_path_factory.mktemp("npm")
    (folder / "dist").mkdir()
    (folder / "package.json").write_text('{"name": "onnxruntime-web", "version": "1.2.3"}')
    (folder / "dist" / "ort.wasm.bundle.min.mjs").write_bytes(b"script")
    (folder / "dist" / "ort-wasm-simd-threaded.wasm").write_bytes(b"program")
    return folder
