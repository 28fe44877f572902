"""Stages of a recipe whose teacher comes from outside.

WORK/distilled   distill    what the teacher made of the text, as aligned files
WORK/corpus      prepare    the same without the pairs held out for validation, and these
WORK/results     evaluate   besides the scores, `paired`: tests of the student against the teacher
WORK/race        race       speed and BLEU of the student, and of the teacher in its own engine
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from maskpredict.bench.config import BenchConfig
from maskpredict.bench.result_files import write_results
from maskpredict.bench.run import bench
from maskpredict.config import from_dict, to_dict
from maskpredict.corpus.compressed import compress
from maskpredict.corpus.dataset import Dataset
from maskpredict.corpus.encoding import blocks
from maskpredict.corpus.reading import CorpusConfig, Pair, read_pairs
from maskpredict.decoding.settings import FertilitySettings, OnePassSettings
from maskpredict.distill.by_text import distill_text
from maskpredict.distill.by_text.report import REPORT_FILE
from maskpredict.distill.teachers import best_translations, open_teacher
from maskpredict.evaluate.reference_set import sets_from_data
from maskpredict.evaluate.significance import compare_systems
from maskpredict.json_file import json_text
from maskpredict.model.folder import ModelFolder
from maskpredict.new_folder import new_folder
from maskpredict.reproduce.evaluation import score_name
from maskpredict.reproduce.recipe import EvaluateStageConfig, Recipe
from maskpredict.systems import find_decoder

HELD_OUT, HELD_OUT_SHARE = 1_000, 0.02
"""Distilled pairs for validation: this share of the first text, at most this many."""
PAIRED = "paired"
BLOCK = 20_000
"""Pairs that are compressed together."""


def distill_outside(recipe: Recipe, work: Path, seconds: float | None, *, quiet: bool) -> bool:
    """Make WORK/distilled, or continue making it; returns True if it is finished."""
    return distill_text(recipe.text_distillation(work / "distilled", seconds), quiet=quiet).finished


def distilled_corpora(recipe: Recipe, work: Path) -> list[CorpusConfig]:
    """The distilled files, as corpora."""
    folder = work / "distilled"
    names = [corpus["name"] for corpus in json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))["corpora"]]
    compression = recipe.text_distillation(folder, None).compression
    languages = (recipe.source_language, recipe.target_language)
    files = {name: [folder / f"{name}.{language}.{compression}" for language in languages] for name in names}
    return [CorpusConfig(name=name, source=source, target=target) for name, (source, target) in files.items()]


def hold_out(corpus: CorpusConfig, out: Path) -> tuple[CorpusConfig, CorpusConfig]:
    """Split a corpus into two in the folder `out`: one for training, and the first pairs for validation."""
    pairs = sum(1 for _ in read_pairs(corpus))
    count = max(1, min(HELD_OUT, int(HELD_OUT_SHARE * pairs)))
    with new_folder(out, overwrite=True, marker="valid.source.zst") as folder:
        remaining = iter(read_pairs(corpus))
        _write(folder, "valid", islice(remaining, count))
        _write(folder, "train", remaining)
    train, valid = (
        CorpusConfig(name=corpus.name, source=out / f"{split}.source.zst", target=out / f"{split}.target.zst")
        for split in ("train", "valid")
    )
    return train, valid


def _write(folder: Path, split: str, pairs: Iterator[Pair]) -> None:
    with (folder / f"{split}.source.zst").open("wb") as source, (folder / f"{split}.target.zst").open("wb") as target:
        for block in blocks(pairs, BLOCK):
            source.write(compress("".join(f"{pair.source}\n" for pair in block).encode(), ".zst"))
            target.write(compress("".join(f"{pair.target}\n" for pair in block).encode(), ".zst"))


def teacher_translator(recipe: Recipe) -> Callable[[Mapping[str, Any], list[str]], list[str]]:
    """A function that translates lines with given settings of the teacher's search."""
    return lambda settings, lines: best_translations(open_teacher(recipe.outside_teacher(settings)), lines)


def paired_tests(config: EvaluateStageConfig, data: Path, results: Path) -> None:
    """Write RESULTS/paired: tests of the student's translations against the teacher's, for each test split."""
    dataset = Dataset(data)
    systems = [("teacher", config.teacher[0]), *(("student", settings) for settings in config.student)]
    for split in (split for split in dataset.splits if split not in ("train", "valid")):
        names = [score_name(system, settings, split) for system, settings in systems]
        outputs = {name: _lines(results / f"{name}.txt") for name in names}
        texts = dataset.split(split).texts
        assert texts is not None, "only the train split has no text"
        references = texts.target[: config.limit]
        comparison = compare_systems(outputs, [references], target_language=dataset.languages.target)
        (results / PAIRED).mkdir(exist_ok=True)
        path = results / PAIRED / f"{split}.json"
        path.write_text(json_text(asdict(comparison)), encoding="utf-8")


def race(recipe: Recipe, run: Path, work: Path, seconds: float | None, *, quiet: bool) -> None:
    """Make WORK/race: the model of a run on the first test set, and the teacher in its own engine."""
    model = run / "model"
    decoder = find_decoder(ModelFolder.read(model).system)
    entrant = {"one_pass" if decoder.settings_type in (OnePassSettings, FertilitySettings) else "model": str(model)}
    beams = tuple(dict.fromkeys((1, *(settings.get("beam_size", 1) for settings in recipe.evaluate.teacher))))
    known = {
        **entrant,
        "outside": to_dict(recipe.outside_teacher({})),
        "beams": beams,
        "peers": (),
        "device": recipe.evaluate.device,
        "seconds": seconds,
    }
    config = from_dict(BenchConfig, {**known, **recipe.race}, "race")
    (test_set, *_) = sets_from_data(work / "data", [recipe.test_splits[0]])
    result = bench(config, test_set, _no_export, quiet=quiet)
    with new_folder(work / "race", overwrite=True, marker="bench.json") as folder:
        write_results(result, folder)


def card_sections(work: Path) -> list[str]:
    """Sections of the model card: paired tests, and the race."""
    sections = []
    for path in sorted((work / "results" / PAIRED).glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            f"| {test['system']} | {test['metric']} | {test['difference']:+.1f} | {test['p_value']:.3f} |"
            for test in content["differences"]
        ]
        head = ["| system | metric | difference | p |", "|---|---|---:|---:|"]
        title = f"## Against the teacher on {path.stem}"
        sections.append("\n".join([title, "", *head, *rows]) + f"\n\nPaired {content['test']}.")
    table = work / "race" / "bench.md"
    if table.exists():
        sections.append(f"## Speed\n\n{table.read_text(encoding='utf-8').strip()}")
    return sections


def _no_export(model: Path, out: Path) -> object:
    raise AssertionError("the teacher has an engine of its own")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]
