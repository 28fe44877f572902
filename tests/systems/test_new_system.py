"""A new system is a file with a class and its options, and a line in `SYSTEMS`; nothing else has to know of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from maskpredict import Translator, UserError
from maskpredict.bounds import Share
from maskpredict.config import check_bounds, from_dict, load_config
from maskpredict.corpus.dataset import ParallelIds
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.model.batch import Batch, Tokens
from maskpredict.systems import SYSTEMS, SystemEntry, TrainingOptions
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.systems.base import Loss
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train
from maskpredict.training.run_folder import RunFolder


@dataclass(frozen=True)
class WordDropoutOptions(TrainingOptions):
    """Options of a decoder that sees only some of the words before each."""

    word_dropout: Share = 0.25
    """Share of the target's words that the decoder does not see."""

    def __post_init__(self) -> None:
        check_bounds(self)


class WordDropout(Autoregressive):
    """An autoregressive model that learns without some of the words before each (Bowman et al., 2016)."""

    name: ClassVar[str] = "word_dropout"
    options_type: ClassVar[type[TrainingOptions]] = WordDropoutOptions
    options: WordDropoutOptions
    checked: ClassVar[list[int]] = []

    def check_pairs(self, pairs: ParallelIds) -> None:
        self.checked.append(len(pairs))

    def loss(self, batch: Batch) -> Loss:
        source, target = batch.source, batch.target
        hidden_words = torch.rand(target.ids.shape, device=self.device) < self.options.word_dropout
        seen = Tokens(target.ids.masked_fill(hidden_words, self.special.unk), target.layout)
        memory = self.transformer.memory(self.transformer.encode(source.ids, source.layout))
        hidden = self.hidden(seen, memory, source.layout)
        counted = target.layout.valid.flatten()
        smooth, plain = self.word_loss(hidden.flatten(0, -2), target.ids.flatten(), counted)
        return Loss(smooth, counted.sum(), {"word": plain})


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SystemEntry(f"{__name__}:WordDropout", SYSTEMS["autoregressive"].decoder)
    monkeypatch.setitem(SYSTEMS, "word_dropout", entry)
    monkeypatch.setattr(WordDropout, "checked", [])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_toy_corpus(folder, train_pairs=100, valid_pairs=10, test_pairs=1, seed=1)
    train, valid = ((CorpusConfig(source=folder / f"{name}.src", target=folder / f"{name}.tgt"),) for name in SPLITS)
    vocabulary = VocabularyConfig(size=90)
    prepare(PrepareConfig("src", "tgt", folder / "data", train=train, valid=valid, vocabulary=vocabulary))
    return folder / "data"


SPLITS = ("train", "valid")
MakeConfig = Callable[..., TrainConfig]


@pytest.fixture
def make_config(data: Path, tmp_path: Path) -> MakeConfig:
    def make(run: str = "run", **changes: object) -> TrainConfig:
        model = {"width": 16, "hidden": 16, "heads": 1, "encoder_layers": 1, "decoder_layers": 1}
        places = {"data": str(data), "run": str(tmp_path / run)}
        batch = {"tokens": 256, "part_tokens": 128, "max_length": 48}
        machine = {"device": "cpu", "threads": 1}
        settings = {**places, **machine, "model": model, "batch": batch, "system": "word_dropout", "steps": 4}
        return from_dict(TrainConfig, {**settings, **changes})

    return make


def test_it_trains_resumes_and_translates(make_config: MakeConfig, data: Path) -> None:
    config = make_config(word_dropout=0.5)
    assert not train(config, stop_after=0.0, quiet=True).finished
    model = train(config, quiet=True).model
    assert model is not None
    assert WordDropout.checked == [100, 100]
    assert len(Translator(model).translate(["tiba runek mola sepi"], beam_size=2)) == 1


def test_its_option_reaches_its_loss(make_config: MakeConfig) -> None:
    runs = [make_config(f"run-{share}", word_dropout=share) for share in (0.0, 0.0, 0.9)]
    weights = [(model / "model.safetensors").read_bytes() for run in runs if (model := train(run, quiet=True).model)]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]


def test_its_option_is_a_key_among_the_others(make_config: MakeConfig, tmp_path: Path) -> None:
    assert make_config().options == WordDropoutOptions(0.25)
    config = make_config(word_dropout=0.75)
    assert config.options == WordDropoutOptions(0.75)
    RunFolder(config).open(config)
    written = Path(config.run) / "config.yaml"
    comment = "# Share of the target's words that the decoder does not see."
    assert f"\nword_dropout: 0.75  {comment}\n" in written.read_text()
    assert load_config(TrainConfig, written) == config
    assert load_config(TrainConfig, written, ["word_dropout=0.5"]).options == WordDropoutOptions(0.5)


def test_a_run_with_another_value_is_another_run(make_config: MakeConfig) -> None:
    RunFolder(make_config()).open(make_config())
    other = make_config(word_dropout=0.5)
    with pytest.raises(UserError, match=r"holds a run with word_dropout=0.25, not 0.5"):
        RunFolder(other).open(other)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"word_dropout": 1.5}, "'word_dropout' must be a number of at least 0 and at most 1, not 1.5"),
        ({"word_droput": 0.5}, "unknown key 'word_droput'; did you mean 'word_dropout'?"),
        (
            {"system": "cmlm", "word_dropout": 0.5},
            "word_dropout is for system=word_dropout; leave it out of a run with",
        ),
        (
            {"order": {"temperature": 2.0}},
            "order is for system=insertion; leave it out of a run with system=word_dropout",
        ),
        ({"system": ["cmlm"]}, "there is no system '['cmlm']'"),
    ],
)
def test_a_mistake_is_one_sentence(make_config: MakeConfig, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        make_config(**changes)
    assert sentence in str(refused.value)


def test_options_of_other_systems_at_their_defaults_are_ignored(make_config: MakeConfig) -> None:
    """Run folders of older versions name them all."""
    assert make_config(reveal={"partial": 0.3}, bigram_matches=0.0) == make_config()


def test_options_of_another_system_are_refused_in_python() -> None:
    with pytest.raises(UserError, match="options of system=cmlm are TrainingOptions, not WordDropoutOptions"):
        TrainConfig(data="data", run="run", options=WordDropoutOptions())


def test_its_module_is_not_one_of_the_package() -> None:
    assert not WordDropout.__module__.startswith("maskpredict.")
    assert WordDropout.__module__ in sys.modules
