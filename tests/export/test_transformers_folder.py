"""Models behind the interface of transformers: the real package opens them, and they translate as ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from maskpredict import Translator, UserError
from maskpredict.export import export_transformers
from maskpredict.export.transformers_model import MaskPredictConfig, MaskPredictForTranslation
from maskpredict.model.folder import ModelFolder
from maskpredict.runtime.inspection import inspect_folder
from maskpredict.tokenizer import Tokenizers

RandomModel = Callable[..., ModelFolder]


def batch(tokenizers: Tokenizers, texts: list[str]) -> Tensor:
    """Sources as transformers takes them: with end marks, filled up with PAD."""
    special = tokenizers.source.special
    rows = [torch.tensor([*tokenizers.source.encode(text), special.eos]) for text in texts]
    return pad_sequence(rows, batch_first=True, padding_value=special.pad)


@pytest.mark.parametrize("system", ["cmlm", "autoregressive"])
def test_generate_translates_as_the_translator_does(
    system: str, request: pytest.FixtureRequest, sentences: list[str], tmp_path: Path
) -> None:
    folder = request.getfixturevalue(f"{system}_folder")
    out = export_transformers(folder, tmp_path / "out").folder
    ours = Translator(folder, device="cpu")
    model = AutoModelForSeq2SeqLM.from_pretrained(out)
    found = model.generate(batch(ours.tokenizers, sentences))
    texts = [ours.tokenizers.target.decode(row) for row in found.tolist()]
    assert texts == [own.text for own in ours.translate(sentences, raw=True)]


def test_generate_takes_the_settings_of_the_system(cmlm_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    model = AutoModel.from_pretrained(export_transformers(cmlm_folder, tmp_path / "out").folder)
    ours = Translator(cmlm_folder, device="cpu")
    found = model.generate(batch(ours.tokenizers, sentences[:40]), iterations=1, length_candidates=1)
    texts = [ours.tokenizers.target.decode(row) for row in found.tolist()]
    assert texts == [own.text for own in ours.translate(sentences[:40], raw=True, iterations=1, length_candidates=1)]
    with pytest.raises(UserError, match="beam_size is not a setting of cmlm models"):
        model.generate(batch(ours.tokenizers, sentences[:1]), beam_size=2)


@pytest.mark.parametrize("embeddings", ["shared", "target", "separate"])
def test_a_model_that_transformers_saved_opens_again(
    random_model: RandomModel, sentences: list[str], embeddings: str, tmp_path: Path
) -> None:
    contents = random_model("cmlm", embeddings=embeddings)
    model = AutoModel.from_pretrained(export_transformers(contents, tmp_path / "out").folder)
    sources = batch(contents.tokenizers, sentences[:10])
    model.save_pretrained(tmp_path / "saved")
    again = AutoModel.from_pretrained(tmp_path / "saved")
    expected = [own.text for own in Translator(contents, device="cpu").translate(sentences[:10], raw=True)]
    for opened in (model, again):
        texts = [contents.tokenizers.target.decode(row) for row in opened.generate(sources).tolist()]
        assert texts == expected


def test_the_auto_classes_know_config_and_model(cmlm_folder: Path, tmp_path: Path) -> None:
    out = export_transformers(cmlm_folder, tmp_path / "out").folder
    config = AutoConfig.from_pretrained(out)
    assert isinstance(config, MaskPredictConfig)
    assert config.system == "cmlm"
    assert isinstance(AutoModel.from_pretrained(out), MaskPredictForTranslation)


def test_forward_predicts_each_next_token_of_what_generate_writes(
    autoregressive_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(export_transformers(autoregressive_folder, tmp_path / "out").folder)
    sources = batch(Tokenizers.load(autoregressive_folder), sentences[:10])
    written = model.generate(sources, beam_size=1)
    before = torch.cat([torch.full((10, 1), model.config.bos_token_id), written[:, :-1]], 1)
    with torch.inference_mode():
        logits = model(sources, decoder_input_ids=before).logits
    suppressed = model.config.generation["suppress_tokens"]
    best = logits.index_fill(-1, torch.tensor(suppressed), -torch.inf).argmax(-1)
    real = written != model.config.pad_token_id
    assert torch.equal(best[real], written[real])


def test_the_folder_stays_one_of_ours(cmlm_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    out = export_transformers(cmlm_folder, tmp_path / "out", precision="float16").folder
    assert inspect_folder(out).problems == []
    assert Translator(out, device="cpu").translate(sentences[:1])[0].text


def test_mistakes_are_told_in_a_sentence(cmlm_folder: Path, tmp_path: Path) -> None:
    model = AutoModel.from_pretrained(export_transformers(cmlm_folder, tmp_path / "out").folder)
    with pytest.raises(UserError, match="too long for the model, which has 64 positions"):
        model.generate(torch.full((1, 65), 10))
    with pytest.raises(UserError, match="needs decoder_input_ids"):
        model(torch.full((1, 5), 10))
