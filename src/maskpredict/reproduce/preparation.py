"""Stage `prepare`: makes a data folder from the corpora of the recipe."""

from __future__ import annotations

from pathlib import Path

from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.reading import CorpusConfig, read_pairs
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.errors import UserError
from maskpredict.progress import Progress
from maskpredict.reproduce.outside_teacher import distilled_corpora, hold_out
from maskpredict.reproduce.recipe import CorpusFiles, Recipe


def prepare_data(recipe: Recipe, data: Path | None, corpus: Path, out: Path, *, quiet: bool) -> None:
    """Make the data folder `out` from the corpora in `data`, or from a toy corpus that is written to `corpus`."""
    if out.exists():  # complete, but the process was killed before it wrote the record
        return
    splits = _outside_splits(recipe, data, corpus) if recipe.outside else _splits(recipe, data, corpus)
    config = PrepareConfig(
        source_language=recipe.source_language,
        target_language=recipe.target_language,
        out=out,
        train=splits["train"],
        valid=splits["valid"],
        test=splits["test"],
        cleaning=recipe.cleaning,
        vocabulary=recipe.vocabulary,
        augmentation=recipe.augmentation,
    )
    with Progress(quiet=quiet) as progress:
        prepare(config, progress)


def check_test_sets(recipe: Recipe, data: Path | None) -> None:
    """Read the test sets, so that a mistake in them is found before a teacher from outside translates for hours."""
    for corpus in _corpora(recipe, data or Path(), (*recipe.valid, *recipe.test)):
        for _ in read_pairs(corpus):
            pass


def _splits(recipe: Recipe, data: Path | None, corpus: Path) -> dict[str, tuple[CorpusConfig, ...]]:
    """The corpora of the recipe, by split."""
    if recipe.toy:
        toy, folder = recipe.toy, corpus
        write_toy_corpus(folder, toy.train_pairs, toy.valid_pairs, toy.test_pairs, toy.seed)
    else:
        folder = corpora_folder(recipe, data)
    return {
        "train": _corpora(recipe, folder, recipe.train),
        "valid": _corpora(recipe, folder, recipe.valid),
        "test": _corpora(recipe, folder, recipe.test),
    }


def _outside_splits(recipe: Recipe, data: Path | None, corpus: Path) -> dict[str, tuple[CorpusConfig, ...]]:
    """The text that a teacher from outside has distilled, a part of it for validation, and the recipe's test sets."""
    first, *others = distilled_corpora(recipe, corpus.parent)
    train, held_out = hold_out(first, corpus)
    folder = data or Path()  # test sets may be named by their path
    return {
        "train": (train, *others),
        "valid": _corpora(recipe, folder, recipe.valid) or (held_out,),
        "test": _corpora(recipe, folder, recipe.test),
    }


def corpora_folder(recipe: Recipe, data: Path | None) -> Path:
    """Folder of the corpora; raises `UserError` if it was not given."""
    if data is None:
        raise UserError(f"give the folder of the corpora with --data: {recipe.where}")
    return data


def corpus_file(recipe: Recipe, folder: Path, stem: str, language: str) -> Path:
    """Path of a corpus file in one language; raises `UserError` if it is missing."""
    path = folder / f"{stem}.{recipe.endings.get(language, language)}{recipe.suffix}"
    if not path.exists():
        raise UserError(f"{path} is missing; {recipe.where or 'check --data.'}")
    return path


def _corpora(recipe: Recipe, folder: Path, corpora: tuple[CorpusFiles, ...]) -> tuple[CorpusConfig, ...]:
    return tuple(_corpus(recipe, folder, files) for files in corpora)


def _corpus(recipe: Recipe, folder: Path, files: CorpusFiles) -> CorpusConfig:
    languages = (recipe.source_language, recipe.target_language)
    source, target = (corpus_file(recipe, folder, files.stem, language) for language in languages)
    return CorpusConfig(name=files.name, source=source, target=target, weight=files.weight)
