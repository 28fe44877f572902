"""A shortlist learned from the training text narrows the vocabulary, and keeps the translations."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskpredict import Translator, UserError
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.vocabulary import VocabularyConfig
from maskpredict.model.folder import ModelFolder
from maskpredict.progress import Progress
from maskpredict.training.shortlist import add_shortlist

from ..conftest import toy_sentences, toy_translation

Languages = tuple[str, str]


@pytest.fixture
def make_data(cmlm_folder: Path, tmp_path: Path) -> Callable[[Languages], Path]:
    """Prepared text in the subwords of the toy model, from one language to the other."""

    def make(languages: Languages) -> Path:
        corpora = {}
        for split, count, seed in (("train", 800, 1), ("valid", 30, 2)):
            sources = toy_sentences(count, seed=seed)
            for language, lines in (("xx", sources), ("yy", [toy_translation(source) for source in sources])):
                (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n")
            files = [tmp_path / f"{split}.{language}" for language in languages]
            corpora[split] = (CorpusConfig(source=files[0], target=files[1]),)
        out = tmp_path / f"data-{'-'.join(languages)}"
        vocabulary = VocabularyConfig(reuse=cmlm_folder)
        prepare(
            PrepareConfig(
                source_language=languages[0],
                target_language=languages[1],
                out=out,
                train=corpora["train"],
                valid=corpora["valid"],
                vocabulary=vocabulary,
            )
        )
        return out

    return make


@pytest.fixture
def model(cmlm_folder: Path, tmp_path: Path) -> Path:
    """A copy of the toy model that may be changed."""
    return Path(shutil.copytree(cmlm_folder, tmp_path / "model"))


def learn(model: Path, data: Path, translations: int) -> ModelFolder:
    with Progress(quiet=True) as progress:
        report = add_shortlist(model, data, progress, translations=translations, frequent=5)
    assert report.candidates < report.vocabulary
    assert report.coverage > 0.97
    return ModelFolder.read(model)


def test_translations_with_a_shortlist_are_as_good(
    model: Path, make_data: Callable[[Languages], Path], sentences: list[str]
) -> None:
    learn(model, make_data(("xx", "yy")), translations=8)
    translator = Translator(model, engine="onnxruntime")
    with_shortlist, without = (
        translator.translate(sentences, iterations=4, shortlist=chosen) for chosen in (True, False)
    )
    right = [
        sum(one.text == toy_translation(source) for one, source in zip(translations, sentences, strict=True))
        for translations in (with_shortlist, without)
    ]
    assert right[0] >= right[1] - 2
    assert right[1] > 0
    same_otherwise: dict[str, Any] = {
        "iterations": 4,
        "length_candidates": 5,
        "threshold": None,
        "length_threshold": None,
    }
    scores = [
        [one.score for one in translator.translate(sentences, speed=speed, **same_otherwise)]
        for speed in ("balanced", "best")
    ]
    by_settings = [[one.score for one in translations] for translations in (with_shortlist, without)]
    assert scores == by_settings, "the faster presets use a shortlist, the best does not"
    assert scores[0] != scores[1]


def test_data_of_the_opposite_direction_will_do(model: Path, make_data: Callable[[Languages], Path]) -> None:
    shortlists = [learn(model, make_data(pair), translations=4).shortlist for pair in (("xx", "yy"), ("yy", "xx"))]
    assert shortlists[0] is not None
    assert shortlists[1] is not None
    same = shortlists[0].translations_VK == shortlists[1].translations_VK
    assert same.mean() > 0.9, "apart from the order of the pairs in the rounds"


def test_data_in_other_subwords_is_refused(model: Path, data_folder: Path) -> None:
    with pytest.raises(UserError, match=r"has other subwords than the model; prepare the data with vocabulary\.reuse"):
        add_shortlist(model, data_folder, Progress(quiet=True))
    assert ModelFolder.read(model).shortlist is None


def test_impossible_sizes_are_refused(model: Path, make_data: Callable[[Languages], Path]) -> None:
    with pytest.raises(UserError, match="a shortlist takes from 1 to 90 subwords"):
        add_shortlist(model, make_data(("xx", "yy")), Progress(quiet=True), translations=91)
