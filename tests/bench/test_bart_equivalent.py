"""Our model in transformers' own classes is the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from maskpredict import Translator
from maskpredict.bench.racers.bart_equivalent import to_bart
from maskpredict.bench.racers.base import ComputeSettings, RacedModel
from maskpredict.bench.racers.transformers_engine import transformers_racers
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.tokenizer import SentencePieceTokenizer, Tokenizers


def test_generate_writes_what_our_beam_search_writes(autoregressive_folder: Path, sentences: list[str]) -> None:
    ours = Translator(autoregressive_folder, device="cpu")
    model = RacedModel(autoregressive_folder, ModelFolder.read(autoregressive_folder))
    for beams, racer in zip(
        (1, 5), transformers_racers(model, ComputeSettings("cpu", 1, "auto", ("float32",)), (1, 5)), strict=True
    ):
        racer.prepare(sentences)
        theirs = racer.translate(sentences)
        expected = [found.text for found in ours.translate(sentences, beam_size=beams)]
        assert sum(a == b for a, b in zip(theirs, expected, strict=True)) >= 0.95 * len(sentences)
        assert racer.entry.same_as == f"ar-b{beams}-float32"


@pytest.mark.parametrize(
    "architecture",
    [
        {"norm": "pre"},
        {"norm": "post", "activation": "relu"},
        {"norm": "pre", "embeddings": "target", "norm_epsilon": 0.1},
        {"norm": "post", "embeddings": "separate", "scale_embeddings": True},
    ],
    ids=str,
)
def test_every_token_has_the_probability_that_we_give_it(
    toy_tokenizers: Tokenizers, sentences: list[str], architecture: dict[str, Any]
) -> None:
    contents = random_model(toy_tokenizers, **architecture)
    tokenizer, special = contents.tokenizers.source, contents.tokenizers.source.special
    source, target = sentences[45], sentences[50]
    target_ids = [*tokenizer.encode(target), special.eos]
    logits = to_bart(contents)(
        input_ids=torch.tensor([[*tokenizer.encode(source), special.eos]]),
        decoder_input_ids=torch.tensor([[special.bos, *target_ids[:-1]]]),
    ).logits[0]
    log_probs = logits.log_softmax(-1).gather(1, torch.tensor(target_ids)[:, None])[:, 0]
    (ours,) = Translator(contents, device="cpu").score([source], [target])
    assert log_probs.tolist() == pytest.approx(ours.log_probs, abs=1e-3)
    assert logits[:, [special.pad, special.bos, special.mask]].max() == float("-inf")


def random_model(tokenizers: Tokenizers, **architecture: Any) -> ModelFolder:
    """A model with large random weights, so that it is sure of what it says."""
    shape = {"width": 32, "hidden": 64, "heads": 2, "encoder_layers": 2, "decoder_layers": 3, "max_positions": 64}
    config = ModelConfig(**{**shape, **architecture})
    assert isinstance(tokenizers.source, SentencePieceTokenizer)
    if config.embeddings != "shared":  # two objects are two vocabularies, though here they hold the same words
        tokenizers = Tokenizers(tokenizers.source, SentencePieceTokenizer(tokenizers.source._model))
    torch.manual_seed(3)
    system = find_system("autoregressive")(config, vocabulary_of(tokenizers))
    for parameter in system.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    special = tokenizers.target.special
    generation = {"suppress_tokens": [special.pad, special.bos, special.mask]}
    return ModelFolder("autoregressive", config, Languages("xx", "yy"), tokenizers, weights_of(system), generation)
