"""`prepare`: raw parallel text in, a data folder out.

The steps: learn the subword vocabulary or reuse one, then stream every split through cleaning (train only) and
encoding into memory-mapped files, then describe the folder. Text is read in blocks, so memory does not grow with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from maskpredict.corpus.augmentation import CORPUS_NAME, AugmentationConfig, augmented
from maskpredict.corpus.cleaning import Cleaner, CleaningConfig, text_reason
from maskpredict.corpus.dataset import (
    DESCRIPTION_FILE,
    DatasetDescription,
    SplitDescription,
    VocabularySizes,
    sha256,
)
from maskpredict.corpus.encoding import BLOCK_PAIRS, SplitWriter, blocks
from maskpredict.corpus.lexicon import lexicon
from maskpredict.corpus.reading import CorpusConfig, Pair, make_rereadable, read_pairs, with_names, without_folders
from maskpredict.corpus.report import CorpusReport, PrepareReport
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers, reuse_tokenizers, sample_pairs
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.new_folder import new_folder
from maskpredict.progress import Progress, Task
from maskpredict.tokenizer import Tokenizers


@dataclass(frozen=True)
class PrepareConfig:
    """Corpora, cleaning, vocabulary and the data folder to make."""

    source_language: str
    """Code of the language to translate from, e.g. de; part of file names."""
    target_language: str
    """Code of the language to translate into, e.g. en."""
    out: Path
    """Data folder to make."""
    train: tuple[CorpusConfig, ...] = ()
    """Training corpora; optional when a vocabulary is reused."""
    valid: tuple[CorpusConfig, ...] = ()
    """Corpora for validation; several make one split."""
    test: tuple[CorpusConfig, ...] = ()
    """Test sets; one is the split `test`, several are `test.NAME` each."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    """Filters of training pairs."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Subword vocabulary."""
    augmentation: AugmentationConfig = field(default_factory=AugmentationConfig)
    """Training pairs to repeat with other numbers, names, placeholders or letter case."""
    overwrite: bool = False
    """Replace a data folder that is already there."""


def prepare(config: PrepareConfig, progress: Progress | None = None) -> PrepareReport:
    """Make the data folder `config.out`, whole or not at all."""
    started = time.monotonic()
    progress = progress or Progress(quiet=True)
    languages = Languages(config.source_language, config.target_language)
    languages.check()
    splits = _splits(config)
    with (
        new_folder(config.out, overwrite=config.overwrite, marker=DESCRIPTION_FILE) as folder,
        TemporaryDirectory(dir=folder) as pipes,
    ):
        # The training text is read twice, once for the vocabulary; a pipe could be read only once.
        splits = {
            name: [make_rereadable(corpus, Path(pipes)) for corpus in corpora] for name, corpora in splits.items()
        }
        tokenizers = _tokenizers(config, splits.get("train", []), progress)
        described, reports = _encode(folder, splits, languages, tokenizers, config, progress)
        sizes = VocabularySizes(tokenizers.source.vocab_size, tokenizers.target.vocab_size)
        DatasetDescription(
            languages=languages,
            joint_vocabulary=tokenizers.joint,
            vocab_size=sizes,
            tokenizers={path.name: sha256(path) for path in tokenizers.save(folder)},
            splits=described,
            report={"corpora": [asdict(report) for report in reports]},
        ).write(folder)
    return PrepareReport(config.out, languages, sizes, tuple(reports), time.monotonic() - started)


def _splits(config: PrepareConfig) -> dict[str, list[CorpusConfig]]:
    """The corpora of each split; several test sets are a split each, because each gets its own score."""
    if not config.train and config.vocabulary.reuse is None:
        raise UserError("There is no text to learn a vocabulary from; give `train`, or `vocabulary.reuse`.")
    languages = Languages(config.source_language, config.target_language)
    train, valid, test = (without_folders(corpora, languages) for corpora in (config.train, config.valid, config.test))
    tests = with_names(test)
    test_splits = {"test" if len(tests) == 1 else f"test.{test.name}": [test] for test in tests}
    splits = {"train": with_names(train), "valid": with_names(valid), **test_splits}
    return {name: corpora for name, corpora in splits.items() if corpora}


def _tokenizers(config: PrepareConfig, train: Sequence[CorpusConfig], progress: Progress) -> Tokenizers:
    if config.vocabulary.reuse is not None:
        return reuse_tokenizers(config.vocabulary.reuse, config.source_language, config.target_language)
    reading = progress.task("Reading for the vocabulary")
    pairs = _clean_pairs(train, config.cleaning, reading)
    sample = sample_pairs(pairs, max(1, config.vocabulary.sample_lines // 2), config.vocabulary.seed)
    reading.finish()
    if not sample:
        raise UserError("The training corpora have no text to learn a vocabulary from; check their files.")
    learning = progress.task("Learning the vocabulary", total=config.vocabulary.size)
    tokenizers = learn_tokenizers(sample, config.vocabulary)
    learning.advance(config.vocabulary.size)
    learning.finish()
    return tokenizers


def _clean_pairs(corpora: Sequence[CorpusConfig], config: CleaningConfig, task: Task) -> Iterator[Pair]:
    for corpus in corpora:
        for block in blocks(read_pairs(corpus), BLOCK_PAIRS):
            yield from (pair for pair in block if text_reason(pair, config) is None)
            task.advance(len(block))


def _added(corpora: Sequence[CorpusConfig], config: PrepareConfig) -> Iterator[Pair]:
    """Changed pairs, then single words; each reads the text once more."""
    yield from augmented(chain.from_iterable(map(read_pairs, corpora)), config.augmentation)
    if config.augmentation.words:
        yield from lexicon(chain.from_iterable(map(read_pairs, corpora)), config.augmentation.words)


def _encode(
    folder: Path,
    splits: Mapping[str, Sequence[CorpusConfig]],
    languages: Languages,
    tokenizers: Tokenizers,
    config: PrepareConfig,
    progress: Progress,
) -> tuple[dict[str, SplitDescription], list[CorpusReport]]:
    described: dict[str, SplitDescription] = {}
    reports: list[CorpusReport] = []
    for name, corpora in splits.items():
        task = progress.task(f"Encoding {name}")
        # Scores must be over every sentence, so only training text is cleaned.
        cleaner = Cleaner(config.cleaning) if name == "train" else None
        with SplitWriter(folder, name, languages, tokenizers, cleaner) as writer:
            reports += [writer.write(corpus.name, corpus.weight, read_pairs(corpus), task) for corpus in corpora]
            if name == "train" and config.augmentation.active:
                reports.append(writer.write(CORPUS_NAME, config.augmentation.weight, _added(corpora, config), task))
            described[name] = writer.description
        task.finish()
    return described, reports
