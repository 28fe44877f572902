"""Demonstration of the toy language: train a CMLM and play its translations pass by pass in the terminal.

    toy_demo(Path(".maskpredict-demo"))

Everything is kept in the folder, so a second call trains nothing, and an interrupted one resumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import maskpredict
from maskpredict.config import load_config
from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.prepare import PrepareConfig, prepare
from maskpredict.corpus.toy import translations, write_toy_corpus
from maskpredict.errors import UserError
from maskpredict.evaluate.exact_match import exact_match
from maskpredict.evaluate.repetition import word_repetition
from maskpredict.player import play
from maskpredict.progress import Progress
from maskpredict.runtime.translator import Translator
from maskpredict.training.config import TrainConfig
from maskpredict.training.loop import train

DEFAULT_FOLDER = Path(".maskpredict-demo")
RECIPES = Path(maskpredict.__file__).parent / "recipes"
PLAYED_WORDS = (5, 7, 8, 9, 11)
"""Source lengths in words of the sentences to play: long enough for passes to differ, short enough for a line."""


@dataclass(frozen=True)
class Scores:
    """Scores of the translations of the test set after T passes."""

    iterations: int
    exact_match: float
    """Share of sentences that are one of the valid translations."""
    repetition: float
    """Share of words that equal their left neighbour."""


def toy_demo(
    folder: Path = DEFAULT_FOLDER,
    *,
    console: Console | None = None,
    train_pairs: int = 6_000,
    test_pairs: int = 500,
    overrides: tuple[str, ...] = (),
) -> list[Scores]:
    """Train the toy model in `folder`, unless it exists, play five translations, and show the scores.

    `overrides` change the recipe of the training run, as in `steps=100`.
    """
    console = console or Console()
    corpus, data = folder / "corpus", folder / "data"
    if not _is_whole(data):
        _make_data(corpus, data, train_pairs, test_pairs)
    settings = [f"data={data}", f"run={folder / 'run'}", *overrides]
    result = train(load_config(TrainConfig, RECIPES / "toy-cmlm.yaml", settings))
    if result.model is None:
        raise UserError("training was interrupted; run the toy demo again to continue.")
    translator = Translator(result.model, device="cpu", intra_threads=1)
    texts = Dataset(data).split("test").texts
    assert texts is not None
    for source in _to_play(texts.source):
        (translation,) = translator.translate([source], iterations=10, length_candidates=1, trace=True)
        if translation.trace is not None:
            play(translation.trace, source, console)
    scores = [_score(translator, texts.source, iterations) for iterations in (1, 4, 10)]
    console.print(_table(scores, len(texts.source)))
    return scores


def _is_whole(data: Path) -> bool:
    try:
        return not Dataset(data).check()
    except UserError:
        return False


def _make_data(corpus: Path, data: Path, train_pairs: int, test_pairs: int) -> None:
    write_toy_corpus(corpus, train_pairs, valid_pairs=200, test_pairs=test_pairs, seed=1)
    settings = [f"out={data}", "overwrite=true"] + [
        f"{split}.0.{side}={corpus / f'{split}.{ending}'}"
        for split in ("train", "valid", "test")
        for side, ending in (("source", "src"), ("target", "tgt"))
    ]
    with Progress() as progress:
        prepare(load_config(PrepareConfig, RECIPES / "toy-data.yaml", settings), progress)


def _to_play(sources: list[str]) -> list[str]:
    """The first sentence of each length to play."""
    by_length = {len(source.split()): source for source in reversed(sources)}
    return [by_length[words] for words in PLAYED_WORDS if words in by_length]


def _score(translator: Translator, sources: list[str], iterations: int) -> Scores:
    translated = translator.translate(sources, iterations=iterations, length_candidates=1)
    outputs = [translation.text for translation in translated]
    valid = [translations(source) for source in sources]
    return Scores(iterations, exact_match(outputs, valid), word_repetition(outputs))


def _table(scores: list[Scores], sentences: int) -> Table:
    table = Table(title=f"{sentences} unseen sentences of the toy language")
    for heading in ("passes T", "exactly right", "repeated words"):
        table.add_column(heading, justify="right")
    for score in scores:
        table.add_row(str(score.iterations), f"{score.exact_match:.1%}", f"{score.repetition:.1%}")
    return table
