"""Systems by name, and from model folders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.model.module_weights import weights_of
from maskpredict.model.transformer import suppress
from maskpredict.systems import SYSTEMS, find_decoder, find_system, vocabulary_of
from maskpredict.tokenizer import Tokenizers

SHAPE = ModelConfig(width=16, hidden=32, heads=2, encoder_layers=1, decoder_layers=1, max_positions=32)


@pytest.mark.parametrize("name", ["cmlm", "autoregressive", "fertility", "ctc", "refinement", "insertion"])
def test_a_system_comes_back_from_its_folder_with_its_weights(
    toy_tokenizers: Tokenizers, tmp_path: Path, name: str
) -> None:
    system = find_system(name)(SHAPE, vocabulary_of(toy_tokenizers))
    ModelFolder(name, SHAPE, Languages("xx", "yy"), toy_tokenizers, weights_of(system)).write(tmp_path / "model")
    back = load_system(ModelFolder.read(tmp_path / "model"))
    assert type(back) is find_system(name)
    assert back.name == name
    assert not back.training
    for one, other in zip(system.parameters(), back.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_found_by_its_name_and_so_is_its_decoder(name: str) -> None:
    assert find_system(name).name == name
    assert find_system(name).reserves_slot == find_decoder(name).reserves_slot


@pytest.mark.parametrize("find", [find_system, find_decoder])
def test_an_unknown_system_is_refused(find: Callable[[str], type]) -> None:
    with pytest.raises(UserError, match="no system 'cmml'; choose one of cmlm"):
        find("cmml")


def test_weights_of_another_system_are_refused(toy_tokenizers: Tokenizers) -> None:
    system = find_system("autoregressive")(SHAPE, vocabulary_of(toy_tokenizers))
    folder = ModelFolder("autoregressive", SHAPE, Languages("xx", "yy"), toy_tokenizers, weights_of(system))
    with pytest.raises(UserError, match=r"missing length\.table\.weight"):
        load_system(replace(folder, system="cmlm"))


def test_suppressed_logits_are_impossible_and_the_rest_untouched() -> None:
    logits = torch.randn(3, 20)
    suppressed = suppress(logits, (1, 4))
    assert (suppressed[:, [1, 4]] == -torch.inf).all()
    rest = [token for token in range(20) if token not in (1, 4)]
    assert torch.equal(suppressed[:, rest], logits[:, rest])
