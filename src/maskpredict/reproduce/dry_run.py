"""Dry run of a recipe: every stage with tiny models on synthetic text.

The models are also built in full size on the meta device, without memory for their weights, to check their shapes and
count their parameters. Each tiny model is trained for one update.
"""

from __future__ import annotations

import math
import shlex
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from maskpredict.config import to_dict
from maskpredict.corpus.compressed import compress
from maskpredict.corpus.toy import write_toy_corpus
from maskpredict.errors import UserError
from maskpredict.model.config import ModelConfig, preset
from maskpredict.reproduce.recipe import AnalyzeConfig, Recipe, Variant
from maskpredict.reproduce.run import reproduce
from maskpredict.runtime.settings import resolve_settings
from maskpredict.special_ids import SpecialIds
from maskpredict.systems import Vocabulary, find_system
from maskpredict.training.config import TrainConfig

TRAIN_PAIRS, TEST_PAIRS = 80, 4
"""Sentence pairs of all corpora of a split together; a corpus has at least one."""
VOCABULARY = 90
"""Vocabulary size, small enough for the synthetic text of either language."""
BYTES = 256
"""Further subwords of a vocabulary that has all bytes."""
TOKENS = 64
"""Tokens in an update, computed in two parts to test gradient accumulation."""
SMALL: dict[str, Any] = {"width": 16, "hidden": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
SMALL["ctc_positions"] = 12  # subwords of the synthetic text are short on one side only
ANALYSES = ("main_table", "distillation")
"""Analyses to run, enough to check that models, test set and report fit together."""


@dataclass(frozen=True)
class PlannedModel:
    """Full-size model that the recipe trains."""

    name: str
    system: str
    parameters: int
    updates: int
    seconds: float | None
    """Time limit of the training; None: `updates` ends it."""
    tokens: int
    """Target tokens in an update."""
    part_tokens: int
    """Target tokens computed at once on a device."""
    data: str
    """`raw`, `distilled` or `enlarged`."""


def dry_run(recipe: Recipe, *, quiet: bool = True) -> list[PlannedModel]:
    """Run all stages of a recipe with tiny models and discard the results; returns the full-size models."""
    plans = [_planned(recipe, name) for name in recipe.trained]
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        if recipe.toy is None:
            _write_corpora(recipe, scratch)
        tiny = _tiny(recipe, scratch)
        result = reproduce(tiny, scratch / "work", data=scratch / "corpora", quiet=quiet)
        if not result.finished:
            raise UserError(f"the dry run did not finish the stage {result.left[0]}.")
    return plans


def _planned(recipe: Recipe, name: str) -> PlannedModel:
    config = recipe.training(name, Path(), Path())
    parameters = _full_size(recipe, config)
    for settings in getattr(recipe.evaluate, name, ()):
        resolve_settings(config.system, {}, settings)
    length, batch = (config.steps, config.seconds), config.batch
    return PlannedModel(name, config.system, parameters, *length, batch.tokens, batch.part_tokens, recipe.text_of(name))


def _full_size(recipe: Recipe, config: TrainConfig) -> int:
    """Number of parameters of the model, after its shapes are checked."""
    shape, size = preset(config.preset, config.model), recipe.vocabulary.size
    if shape.embeddings == "shared" and not recipe.vocabulary.joint:
        raise UserError("the vocabularies are separate: set model.embeddings to target or separate.")
    if config.batch.max_length >= shape.max_positions:
        raise UserError(
            f"batch.max_length is {config.batch.max_length}; it must be below model.max_positions "
            f"({shape.max_positions})."
        )
    return _parameters(config.system, shape, size)


@cache
def _parameters(system: str, shape: ModelConfig, vocabulary: int) -> int:
    """Parameters of a model in full size; the variants of a recipe often have the same shape."""
    with torch.device("meta"):
        model = find_system(system)(shape, Vocabulary(vocabulary, vocabulary, SpecialIds()), 0.0)
    return sum(weight.numel() for weight in model.parameters())


def _tiny(recipe: Recipe, scratch: Path) -> Recipe:
    """The recipe with tiny models, few pairs and one update."""
    if recipe.outside is not None:
        return _tiny_outside(recipe, scratch)
    on_cpu = {"device": "cpu", "threads": 1}
    return replace(
        recipe,
        teacher=_tiny_training(recipe, "teacher"),
        student=_tiny_training(recipe, "student"),
        final=recipe.final and _tiny_training(recipe, "final"),
        enlarge=None,  # no back-translation model has the vocabulary of the synthetic text
        variants={
            name: Variant(variant.like, "raw" if variant.data == "raw" else "distilled", _tiny_training(recipe, name))
            for name, variant in recipe.variants.items()
        },
        distill={**recipe.distill, **on_cpu, "compute_type": "float32", "shard_pairs": TRAIN_PAIRS // 2},
        evaluate=replace(recipe.evaluate, device="cpu", compute_type="float32", batch_tokens=None),
        analyze=replace(recipe.analyze or AnalyzeConfig(), only=ANALYSES, limit=2, again=()),
        vocabulary=replace(recipe.vocabulary, size=VOCABULARY + BYTES * recipe.vocabulary.byte_fallback),
        toy=recipe.toy and replace(recipe.toy, train_pairs=TRAIN_PAIRS, valid_pairs=TEST_PAIRS, test_pairs=TEST_PAIRS),
    )


def _tiny_outside(recipe: Recipe, scratch: Path) -> Recipe:
    """The same with a teacher from outside, for which a program stands that turns letters around."""
    write_toy_corpus(scratch / "outside", TRAIN_PAIRS, TEST_PAIRS, TEST_PAIRS, seed=1)
    program = scratch / "teacher.py"
    program.write_text("import sys\nfor line in sys.stdin: print(line.strip()[::-1])\n", encoding="utf-8")
    outside = {
        "teacher": shlex.join([f"command:{sys.executable}", str(program)]),
        "text": [{"source": str(scratch / "outside" / "train.src")}],
        "beam_size": 1,
        "filters": {},
    }
    return replace(
        recipe,
        outside=outside,
        student=_tiny_training(recipe, "student"),
        final=recipe.final and _tiny_training(recipe, "final"),
        evaluate=replace(
            recipe.evaluate, teacher=({},), device="cpu", compute_type="float32", batch_tokens=None, limit=2
        ),
        race={"rounds": 1, "batch_sizes": [1], "sentences": 1, "calls": 1, "speeds": [], "compute_types": ["float32"]},
        vocabulary=replace(recipe.vocabulary, size=VOCABULARY),
    )


def _tiny_training(recipe: Recipe, name: str) -> dict[str, Any]:
    config = recipe.training(name, Path(), Path())
    shape = {**to_dict(preset(config.preset, config.model)), **SMALL}
    tiny = to_dict(replace(config, model=shape, steps=1, seconds=None, device="cpu", threads=1, precision="float32"))
    tiny["batch"] |= {"tokens": TOKENS, "part_tokens": TOKENS // 2}
    tiny |= {"engine": "eager", "corpus_weights": {}}
    return {key: value for key, value in tiny.items() if key not in ("data", "run")}


def _write_corpora(recipe: Recipe, folder: Path) -> None:
    """Write synthetic text, different in each corpus, to the files that the recipe reads."""
    splits = (("train", recipe.train), ("valid", recipe.valid), ("test", recipe.test))
    corpora = [(split, files) for split, corpora in splits for files in corpora]
    train = math.ceil(TRAIN_PAIRS / max(1, len(recipe.train)))  # with a teacher from outside there is none
    valid, test = (math.ceil(TEST_PAIRS / max(1, len(own))) for own in (recipe.valid, recipe.test))
    for seed, (split, files) in enumerate(corpora, 1):
        write_toy_corpus(folder / f"toy-{seed}", train, valid, test, seed)
        for language, toy_language in ((recipe.source_language, "src"), (recipe.target_language, "tgt")):
            ending = recipe.endings.get(language, language)
            path = folder / "corpora" / f"{files.stem}.{ending}{recipe.suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = (folder / f"toy-{seed}" / f"{split}.{toy_language}").read_bytes()
            path.write_bytes(compress(text, path.suffix))
