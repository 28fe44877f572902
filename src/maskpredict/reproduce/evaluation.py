"""Stage `evaluate`: sacreBLEU of every system and setting on every test set, one file each.

RESULTS/SYSTEM.SETTING.SPLIT.json   score, signature, settings, sentences, seconds, versions, device
RESULTS/SYSTEM.SETTING.SPLIT.txt    the translations

An existing score is not computed again, so an interrupted stage resumes where it stopped.
"""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import sacrebleu
import torch

import maskpredict
from maskpredict.checksums import checksum_of
from maskpredict.config import from_dict, to_dict
from maskpredict.corpus.dataset import Dataset, ParallelTexts
from maskpredict.decoding.engine import Engine
from maskpredict.evaluate.normalization import normalize
from maskpredict.evaluate.scores import score_corpus
from maskpredict.json_file import json_text
from maskpredict.model.folder import WEIGHTS_FILE
from maskpredict.new_file import new_file
from maskpredict.progress import Progress, Task
from maskpredict.reproduce.recipe import EvaluateStageConfig
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.settings import resolve_settings
from maskpredict.runtime.translator import Translator

WINDOW = 1_024
"""Lines between two checks of the deadline."""
METRIC = "bleu"
SYSTEMS = ("teacher", "student", "final")
"""Scored systems, in the order in which they are trained."""
OutsideTranslate = Callable[[Mapping[str, Any], list[str]], list[str]]
"""(search settings, lines) -> translations of a teacher from outside."""


@dataclass(frozen=True)
class SignedBleu:
    """BLEU with the signature that it depends on."""

    bleu: float
    signature: str


@dataclass(frozen=True)
class ModelUsed:
    """The model that made translations: precision, device, all decoding settings, and checksum of the weights."""

    compute_type: str
    device: str
    settings: dict[str, Any] = field(default_factory=dict)
    weights: str = ""


@dataclass(frozen=True)
class SplitScore:
    """BLEU of a system on a test split, with everything that it depends on; field names are JSON keys."""

    system: str
    """`teacher`, `student` or `final`."""
    settings: dict[str, Any]
    """Decoding settings of the recipe; all others are those of the model folder, see `in_force`."""
    split: str
    sentences: int
    bleu: float
    signature: str
    """sacreBLEU signature."""
    seconds: float
    """Translation time, without loading the model."""
    compute_type: str
    device: str
    versions: dict[str, str]
    in_force: dict[str, Any] = field(default_factory=dict)
    """All decoding settings, after those of the model folder; empty for a teacher from outside."""
    weights: str = ""
    """Checksum of the weights file; empty for a teacher from outside."""
    also: dict[str, SignedBleu] = field(default_factory=dict)
    """BLEU of the same translations with other normalizations of spelling, by their names."""

    @property
    def name(self) -> str:
        """Stem of the score's files."""
        return score_name(self.system, self.settings, self.split)


def score_name(system: str, settings: Mapping[str, Any], split: str) -> str:
    """Stem of the files of a score, such as `student.iterations-10.length_candidates-5.test`."""
    return ".".join([system, *(f"{key}-{value}" for key, value in settings.items()), split])


def read_scores(results: Path) -> list[SplitScore]:
    """All scores in a folder, sorted by system, the teacher first, and settings."""
    scores = [from_dict(SplitScore, json.loads(path.read_text(encoding="utf-8"))) for path in results.glob("*.json")]
    return sorted(scores, key=lambda score: (SYSTEMS.index(score.system), _natural(score.name)))


def scores_text(results: Path) -> str:
    """All scores in a folder as JSON text."""
    return json_text([asdict(score) for score in read_scores(results)])


def evaluate(
    config: EvaluateStageConfig,
    models: Mapping[str, Path],
    data: Path,
    results: Path,
    stop: Callable[[], bool],
    *,
    outside: OutsideTranslate | None = None,
    quiet: bool = False,
) -> bool:
    """Compute the scores that are missing in `results`; returns False if `stop()` ended it early.

    `models` are the model or run folders of teacher and student, and of the final model if there is one. `outside`
    translates with a teacher from outside.
    """
    results.mkdir(parents=True, exist_ok=True)
    scoring = _Scoring(config, Dataset(data), results, stop)
    with Progress(quiet=quiet) as progress:
        if outside is not None:
            scoring.score_outside(outside, progress)
        return all(
            scoring.score_system(system, model, config.teacher if system == "teacher" else config.student, progress)
            for system, model in models.items()
        )


@dataclass(frozen=True)
class _Scoring:
    config: EvaluateStageConfig
    dataset: Dataset
    results: Path
    stop: Callable[[], bool]

    def score_system(self, system: str, model: Path, settings: Sequence[dict[str, Any]], progress: Progress) -> bool:
        """Compute a system's missing scores; returns False if it was stopped early."""
        missing = self._missing(system, settings)
        if not missing:
            return True
        translator = Translator(model, device=self.config.device, compute_type=self.config.compute_type)
        for setting, split in missing:
            task = self._task(system, setting, split, progress)
            started = time.monotonic()
            outputs = self._translate(translator, setting, self._texts(split).source, task)
            if outputs is None:
                return False
            model_used = ModelUsed(
                self.config.compute_type,
                device_name(translator.engine),
                to_dict(resolve_settings(translator.system, translator.generation, setting)),
                checksum_of(find_model(model) / WEIGHTS_FILE),
            )
            self._score(system, setting, split, outputs, time.monotonic() - started, model_used)
        return True

    def score_outside(self, translate: OutsideTranslate, progress: Progress) -> None:
        """Compute the missing scores of a teacher from outside."""
        for setting, split in self._missing("teacher", self.config.teacher):
            task = self._task("teacher", setting, split, progress)
            started, sources = time.monotonic(), self._texts(split).source
            outputs = translate(setting, sources)
            task.advance(len(outputs))
            model_used = ModelUsed("its own", self.config.device)
            self._score("teacher", setting, split, outputs, time.monotonic() - started, model_used)

    def _missing(self, system: str, settings: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
        """Settings and splits without a score."""
        splits = [split for split in self.dataset.splits if split not in ("train", "valid")]
        return [
            (setting, split) for setting in settings for split in splits if not self._exists(system, setting, split)
        ]

    def _exists(self, system: str, settings: Mapping[str, Any], split: str) -> bool:
        return (self.results / f"{score_name(system, settings, split)}.json").exists()

    def _task(self, system: str, settings: Mapping[str, Any], split: str, progress: Progress) -> Task:
        return progress.task(f"Scoring {score_name(system, settings, split)}", len(self._texts(split).source))

    def _texts(self, split: str) -> ParallelTexts:
        """Sources and references to score on."""
        texts = self.dataset.split(split).texts
        assert texts is not None, "only the train split has no text"
        return ParallelTexts(texts.source[: self.config.limit], texts.target[: self.config.limit])

    def _score(
        self,
        system: str,
        settings: dict[str, Any],
        split: str,
        outputs: list[str],
        seconds: float,
        model_used: ModelUsed,
    ) -> None:
        bleu = self._bleu(split, outputs, self.config.normalize)
        score = SplitScore(
            system=system,
            settings=settings,
            split=split,
            sentences=len(outputs),
            bleu=bleu.bleu,
            signature=bleu.signature,
            seconds=round(seconds, 2),
            compute_type=model_used.compute_type,
            device=model_used.device,
            versions=versions(),
            in_force=model_used.settings,
            weights=model_used.weights,
            also={name: self._bleu(split, outputs, name) for name in self.config.normalize_also},
        )
        _write(self.results, score, outputs)

    def _bleu(self, split: str, outputs: Sequence[str], normalization: str) -> SignedBleu:
        normalized, targets = (normalize(lines, normalization) for lines in (outputs, self._texts(split).target))
        language = self.dataset.languages.target
        (bleu,) = score_corpus(normalized, [targets], metrics=[METRIC], target_language=language).scores
        return SignedBleu(round(bleu.score, 2), _full_signature(bleu.signature, normalization))

    def _translate(
        self, translator: Translator, settings: dict[str, Any], sources: Sequence[str], task: Task
    ) -> list[str] | None:
        """All translations; None if it was stopped early."""
        limit = self.config.batch_tokens
        translations = translator.translate_stream(sources, window=WINDOW, max_batch_size=limit, raw=True, **settings)
        outputs: list[str] = []
        while len(outputs) < len(sources):
            if self.stop():
                return None
            window = list(islice(translations, WINDOW))
            outputs += [translation.text for translation in window]
            task.advance(len(window))
        return outputs


def _full_signature(signature: str, normalization: str) -> str:
    return f"{signature}|normalize:{normalization}" if normalization else signature


def _write(results: Path, score: SplitScore, outputs: Sequence[str]) -> None:
    with new_file(results / f"{score.name}.txt") as file:
        file.write("".join(f"{line}\n" for line in outputs).encode())
    with new_file(results / f"{score.name}.json") as file:
        file.write(json_text(asdict(score)).encode())


def _natural(name: str) -> list[str | int]:
    """Sort key that puts 4 before 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def versions() -> dict[str, str]:
    """Versions of the packages that compute a score."""
    return {
        "maskpredict": maskpredict.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "sacrebleu": sacrebleu.__version__,
    }


def device_name(engine: Engine) -> str:
    """Product name of a GPU; for a CPU, its architecture."""
    if engine.device.startswith("cuda"):
        return torch.cuda.get_device_name(engine.device)
    return f"{engine.device} ({platform.machine()})"
