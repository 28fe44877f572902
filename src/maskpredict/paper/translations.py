"""Cache of translations of the test set: analyses share them, and an interrupted analysis continues with them.

FOLDER/NAME.jsonl           complete: a header line with the spec, then one line for each translation
FOLDER/NAME.jsonl.partial   incomplete: the translations so far

NAME describes the spec and ends in a digest of the model, the sentences and all settings.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

from maskpredict.errors import UserError
from maskpredict.paper.length_drafts import MOST_CANDIDATES, have_free_drafts, with_all_drafts, with_fewer_lengths
from maskpredict.paper.models import LoadedModels, device_name
from maskpredict.progress import Progress
from maskpredict.runtime.batching import BatchType
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator

WINDOW = 1_024
"""Sentences translated between two checks of `stop`; an interruption loses at most as many."""
WARM_UP = 64
"""Sentences translated on a CPU before timing."""
GPU_WARM_UPS = 2
"""Untimed runs on a GPU: CUDA graphs are captured when a batch shape occurs again."""
GPU_TIMES = 3
"""Timed runs on a GPU, of which the median counts; such runs take seconds, so other load disturbs them more."""


class Stopped(Exception):
    """Raised when `stop` ends the work; finished translations are saved."""


@dataclass(frozen=True)
class TranslationSpec:
    """Model, settings and sentences of a set of translations."""

    role: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Decoding settings; all others are those of the model folder."""
    gold_length: bool = False
    """Decode with the length of the reference."""
    first: int | None = None
    """Number of sentences to translate; None: all."""
    timed: bool = False
    """Measure the time to translate all sentences, without loading the model."""
    batch: int | None = None
    """Batch size in sentences or tokens; None: the default of the device."""
    batch_type: BatchType = "tokens"
    device: str = ""
    """Empty: the device of the study."""
    compute_type: str = ""
    """Empty: the compute type of the study."""
    judge: str = ""
    """Role of the model that chooses between translations; empty: none."""

    @property
    def has_free_drafts(self) -> bool:
        """True if these are translations of a run with more length candidates, each with the drafts of its own."""
        return have_free_drafts(self.settings) and not (self.gold_length or self.timed or self.judge)

    @property
    def name(self) -> str:
        """Description for a file name."""
        parts = [self.role, *(f"{key}-{value}" for key, value in self.settings.items())]
        parts += ["gold"] if self.gold_length else []
        parts += [f"first-{self.first}"] if self.first is not None else []
        parts += [f"timed-{self.batch}-{self.batch_type}"] if self.timed else []
        parts += [f"judge-{self.judge}"] if self.judge else []
        return ".".join([*parts, *filter(None, (self.device, self.compute_type))])


@dataclass(frozen=True)
class TranslatedSentence:
    """A translation, with the changes of each pass if it was traced."""

    translation: Translation
    changes: tuple[int, ...] = ()
    """Number of positions that each pass after the first changed."""


@dataclass(frozen=True)
class ComputeEnvironment:
    """Device and PyTorch version that computed translations."""

    device: str
    torch: str
    """Version of PyTorch."""


@dataclass(frozen=True)
class TranslatedTestSet:
    """Translations of the test set, in its order."""

    sentences: list[TranslatedSentence]
    seconds: float | None
    """Translation time; None if it was not measured."""
    environment: ComputeEnvironment
    key: str = ""
    """Name of this set among all translations: model, settings and sentences."""
    rounds: tuple[float, ...] = ()
    """Times of all timed runs; `seconds` is their median."""

    @property
    def translations(self) -> list[Translation]:
        """The translations without their traces."""
        return [sentence.translation for sentence in self.sentences]

    @property
    def texts(self) -> list[str]:
        """Texts of the translations."""
        return [translation.text for translation in self.translations]


class TranslationCache:
    """Translates the test set, or reads the translations from `folder`."""

    def __init__(
        self,
        folder: Path,
        models: LoadedModels,
        source: Sequence[str],
        references: Sequence[str],
        stop: Callable[[], bool],
        progress: Progress,
    ) -> None:
        self.folder, self.models = folder, models
        self.source, self.references = source, references
        self.stop, self.progress = stop, progress

    def get(self, spec: TranslationSpec) -> TranslatedTestSet:
        """Translations of a spec, computed if they are missing; raises `Stopped` if `stop` ends the work early."""
        path = self._path(spec)
        if not path.exists():
            if self.stop():
                raise Stopped
            self.folder.mkdir(parents=True, exist_ok=True)
            drafts = self._drafts(spec)
            if drafts is None:
                self._compute(spec, path)
            else:
                self._choose(spec, drafts, path)
        return _read(path)

    def has(self, spec: TranslationSpec) -> bool:
        """True if these translations are complete."""
        return self._path(spec).exists()

    def _drafts(self, spec: TranslationSpec) -> TranslationSpec | None:
        """Spec of a run whose drafts include those of `spec`, one that is complete if there is any; None if no run
        has."""
        if not spec.has_free_drafts:
            return None
        least = spec.settings["length_candidates"]
        runs = [
            replace(spec, settings=with_all_drafts(spec.settings, candidates))
            for candidates in range(least, max(least, MOST_CANDIDATES) + 1)
        ]
        known = next((run for run in runs if run != spec and self.has(run)), runs[0])
        return known if known != spec else None

    def _choose(self, spec: TranslationSpec, drafts: TranslationSpec, path: Path) -> None:
        """Write the translations that are among the drafts of another run; translate sentences without all drafts."""
        found = self.get(drafts)
        candidates, tried = (each.settings["length_candidates"] for each in (spec, drafts))
        chosen = [with_fewer_lengths(translation, candidates, tried) for translation in found.translations]
        lines = [None if translation is None else _to_json(translation) for translation in chosen]
        if missing := [number for number, line in enumerate(lines) if line is None]:
            translator = self.models.translator(spec.role, device=spec.device, compute_type=spec.compute_type)
            sources = self._lines(spec, translator)
            windows = _windows(translator, spec, [sources[number] for number in missing])
            for number, line in zip(missing, chain.from_iterable(windows), strict=True):
                lines[number] = line
        _write(path, spec, found.environment, "".join(f"{line}\n" for line in lines))

    def _path(self, spec: TranslationSpec) -> Path:
        return self.folder / f"{spec.name}.{self._digest(spec)}.jsonl"

    def _digest(self, spec: TranslationSpec) -> str:
        texts = [self.source, self.references if spec.gold_length else []]
        # The compute type counts, the device does not: a study may continue on another machine.
        compute_type = spec.compute_type or self.models.competitors.compute_type
        settings = asdict(spec)
        judge = [self.models.fingerprint(spec.judge)] if settings.pop("judge") else []
        key = [self.models.fingerprint(spec.role), settings, compute_type, texts, *judge]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]

    def _compute(self, spec: TranslationSpec, path: Path) -> None:
        translator = self.models.translator(
            spec.role, device=spec.device, compute_type=spec.compute_type, judge=spec.judge
        )
        lines = self._lines(spec, translator)
        task = self.progress.task(spec.name, total=len(lines))
        partial = path.with_name(f"{path.name}.partial")
        rounds: list[float] = []
        if spec.timed:
            rounds = _timed(translator, spec, lines, partial)
            task.advance(len(lines))
        else:
            done = _complete_lines(partial)
            task.advance(done)
            with partial.open("a", encoding="utf-8") as file:
                for window in _windows(translator, spec, lines[done:]):
                    file.writelines(f"{line}\n" for line in window)
                    file.flush()
                    task.advance(len(window))
                    if self.stop():
                        raise Stopped
        task.finish()
        environment = ComputeEnvironment(device_name(translator.engine), torch.__version__)
        _write(path, spec, environment, partial.read_text(encoding="utf-8"), rounds)
        partial.unlink()

    def _lines(self, spec: TranslationSpec, translator: Translator) -> list[Line]:
        sources, references = self.source[: spec.first], self.references[: spec.first]
        if not spec.gold_length:
            return [Line(source) for source in sources]
        require_length_head(translator)
        # Longer input is split into pieces, which have no reference of their own.
        return [
            Line(source, reference=reference if _fits(translator, source, reference) else None)
            for source, reference in zip(sources, references, strict=True)
        ]


def require_length_head(translator: Translator) -> None:
    """Raise `UserError` for a model that does not predict lengths."""
    if "length_candidates" not in (setting.name for setting in fields(translator.decoder.settings_type)):
        raise UserError(f"a model of the system {translator.system} does not predict lengths; this needs a CMLM.")


def _fits(translator: Translator, source: str, reference: str) -> bool:
    source_ids, target_ids = translator.tokenizers.source.encode(source), translator.tokenizers.target.encode(reference)
    with_end_mark = len(target_ids) + 1
    return len(source_ids) <= translator.max_input_length and with_end_mark < translator.engine.config.max_positions


def _windows(translator: Translator, spec: TranslationSpec, lines: Sequence[Line]) -> Iterator[list[str]]:
    translations = translator.translate_lines(
        lines, window=WINDOW, max_batch_size=spec.batch, raw=True, **spec.settings
    )
    while window := [_to_json(translation) for translation in islice(translations, WINDOW)]:
        yield window


def _timed(translator: Translator, spec: TranslationSpec, lines: list[Line], partial: Path) -> list[float]:
    def translate(batch: Sequence[Line]) -> list[Translation]:
        return list(
            translator.translate_lines(
                batch,
                window=max(1, len(batch)),
                max_batch_size=spec.batch,
                batch_type=spec.batch_type,
                raw=True,
                **spec.settings,
            )
        )

    on_gpu = translator.device.startswith("cuda")
    if on_gpu:
        for _ in range(GPU_WARM_UPS):
            translate(lines)
    else:
        translate(lines[:: max(1, len(lines) // WARM_UP)])
    seconds = []
    for _ in range(GPU_TIMES if on_gpu else 1):
        started = time.perf_counter()
        translations = translate(lines)
        seconds.append(time.perf_counter() - started)
    partial.write_text("".join(f"{_to_json(translation)}\n" for translation in translations), encoding="utf-8")
    return seconds


def _complete_lines(partial: Path) -> int:
    """Number of complete lines; removes an incomplete last line."""
    if not partial.exists():
        return 0
    content = partial.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        partial.write_bytes(whole)
    return whole.count(b"\n")


def _write(
    path: Path, spec: TranslationSpec, environment: ComputeEnvironment, lines: str, rounds: Sequence[float] = ()
) -> None:
    seconds = median(rounds) if rounds else None
    head = {"order": asdict(spec), "seconds": seconds, "rounds": list(rounds), "machine": asdict(environment)}
    finished = path.with_name(f"{path.name}.finished")
    finished.write_text(f"{json.dumps(head)}\n{lines}", encoding="utf-8")
    finished.replace(path)


def _to_json(translation: Translation) -> str:
    record = translation.to_dict()
    record.pop("parts", None)
    if translation.trace is not None:
        steps = [step.ids for step in translation.trace.passes]
        record["changes"] = [
            sum(old != new for old, new in zip(before, after, strict=True)) for before, after in pairwise(steps)
        ]
    return json.dumps(record, ensure_ascii=False)


def _read(path: Path) -> TranslatedTestSet:
    with path.open(encoding="utf-8") as file:
        head = json.loads(next(file))
        sentences = [_sentence(json.loads(line)) for line in file]
    environment = ComputeEnvironment(**head["machine"])
    return TranslatedTestSet(sentences, head["seconds"], environment, path.stem, tuple(head.get("rounds", ())))


def _sentence(record: dict[str, Any]) -> TranslatedSentence:
    return TranslatedSentence(_translation(record), tuple(record.get("changes", ())))


def _translation(record: dict[str, Any]) -> Translation:
    nested = {
        "lengths": tuple(record.get("lengths", ())),
        "hypotheses": tuple(map(_translation, record.get("hypotheses", ()))),
    }
    return Translation(**{name: value for name, value in record.items() if name != "changes"} | nested)
