"""The stage `prepare`: the recipe's corpora become a data folder."""

from __future__ import annotations

from pathlib import Path

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.errors import UserError
from maskpredict.progress import Progress
from maskpredict.reproduce.recipe import CorpusFiles, Recipe


def prepare_data(recipe: Recipe, data: Path | None, corpus: Path, out: Path, *, quiet: bool) -> None:
    """Make the data folder `out` from the corpora in `data`, or from those that the recipe writes into `corpus`."""
    if out.exists():  # it appears whole: whoever made it was killed before writing that down
        return
    if recipe.toy:
        toy, home = recipe.toy, corpus
        write_toy_corpus(home, toy.train_pairs, toy.valid_pairs, toy.test_pairs, toy.seed)
    else:
        home = corpora_folder(recipe, data)
    config = PrepareConfig(
        source_language=recipe.source_language,
        target_language=recipe.target_language,
        out=out,
        train=_corpora(recipe, home, recipe.train),
        valid=_corpora(recipe, home, recipe.valid),
        test=_corpora(recipe, home, recipe.test),
        cleaning=recipe.cleaning,
        vocabulary=recipe.vocabulary,
    )
    with Progress(quiet=quiet) as progress:
        prepare(config, progress)


def corpora_folder(recipe: Recipe, data: Path | None) -> Path:
    """Where the corpora are."""
    if data is None:
        raise UserError(f"say with --data in which folder the corpora are: {recipe.where}")
    return data


def corpus_file(recipe: Recipe, home: Path, stem: str, language: str) -> Path:
    """The file of a corpus in one of its languages."""
    path = home / f"{stem}.{recipe.endings.get(language, language)}{recipe.suffix}"
    if not path.exists():
        raise UserError(f"{path} is missing; {recipe.where or 'check --data.'}")
    return path


def _corpora(recipe: Recipe, home: Path, corpora: tuple[CorpusFiles, ...]) -> tuple[CorpusConfig, ...]:
    return tuple(_corpus(recipe, home, files) for files in corpora)


def _corpus(recipe: Recipe, home: Path, files: CorpusFiles) -> CorpusConfig:
    languages = (recipe.source_language, recipe.target_language)
    source, target = (corpus_file(recipe, home, files.stem, language) for language in languages)
    return CorpusConfig(name=files.name, source=source, target=target, weight=files.weight)
