"""Translations of the test set, each made once: analyses share them, and an interrupted one finds them again.

FOLDER/NAME.jsonl           finished: a line about how they were made, then one for each translation
FOLDER/NAME.jsonl.partial   the lines so far; the work goes on behind them

A name says what was asked for and ends in a digest of the model, the sentences and all settings, so nothing is ever
taken for something else.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

from maskpredict.errors import UserError
from maskpredict.paper.models import LoadedModels, device_name
from maskpredict.progress import Progress
from maskpredict.runtime.batching import BatchType
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translation import Translation
from maskpredict.runtime.translator import Translator

WINDOW = 1_024
"""Sentences translated between two looks at the clock; an interruption loses no more."""
WARM_UP = 64
"""Sentences translated before a clock is started."""
GPU_WARM_UPS = 2
"""How often a GPU translates all of them before: shapes of batches are recorded when they are seen again."""
GPU_TIMES = 3
"""How often it is timed; the median counts. It takes seconds there, so that whatever else goes on weighs more."""


class Stopped(Exception):
    """The time is over; what is finished is saved."""


@dataclass(frozen=True)
class TranslationSpec:
    """Which translations are wanted."""

    role: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Of decoding; what is not here is as the model folder says."""
    gold_length: bool = False
    """Give each translation the length of its reference."""
    first: int | None = None
    """Only so many sentences."""
    timed: bool = False
    """Measure the time from the loaded model to the last sentence."""
    batch: int | None = None
    """Sentences or tokens computed together; none is what suits the device."""
    batch_type: BatchType = "tokens"
    device: str = ""
    """Empty: the study's."""
    compute_type: str = ""
    """Empty: the study's."""

    @property
    def name(self) -> str:
        """What it is, in a file name."""
        parts = [self.role, *(f"{key}-{value}" for key, value in self.settings.items())]
        parts += ["gold"] if self.gold_length else []
        parts += [f"first-{self.first}"] if self.first is not None else []
        parts += [f"timed-{self.batch}-{self.batch_type}"] if self.timed else []
        return ".".join([*parts, *filter(None, (self.device, self.compute_type))])


@dataclass(frozen=True)
class TranslatedSentence:
    """A translation, and what its trace says if it was asked for."""

    translation: Translation
    changes: tuple[int, ...] = ()
    """Positions that each pass after the first changed."""


@dataclass(frozen=True)
class ComputeEnvironment:
    """What translations were computed with."""

    device: str
    torch: str
    """Its version."""


@dataclass(frozen=True)
class TranslatedTestSet:
    """The translations of an order, in the order of the test set."""

    sentences: list[TranslatedSentence]
    seconds: float | None
    """None where no clock was running."""
    machine: ComputeEnvironment

    @property
    def translations(self) -> list[Translation]:
        """The translations alone."""
        return [sentence.translation for sentence in self.sentences]

    @property
    def texts(self) -> list[str]:
        """Their text alone."""
        return [translation.text for translation in self.translations]


class TranslationCache:
    """Makes translations, or finds them in `folder`."""

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

    def get(self, order: TranslationSpec) -> TranslatedTestSet:
        """The translations of an order; raises `Stopped` when told to end before the last."""
        path = self._path(order)
        if not path.exists():
            if self.stop():
                raise Stopped
            self.folder.mkdir(parents=True, exist_ok=True)
            self._make(order, path)
        return _read(path)

    def has(self, order: TranslationSpec) -> bool:
        """Whether they are finished."""
        return self._path(order).exists()

    def _path(self, order: TranslationSpec) -> Path:
        return self.folder / f"{order.name}.{self._digest(order)}.jsonl"

    def _digest(self, order: TranslationSpec) -> str:
        texts = [self.source, self.references if order.gold_length else []]
        # Where it is computed does not count: a study may go on elsewhere. How exactly does.
        compute_type = order.compute_type or self.models.competitors.compute_type
        key = [self.models.fingerprint(order.role), asdict(order), compute_type, texts]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]

    def _make(self, order: TranslationSpec, path: Path) -> None:
        translator = self.models.translator(order.role, device=order.device, compute_type=order.compute_type)
        lines = self._lines(order, translator)
        task = self.progress.task(order.name, total=len(lines))
        partial = path.with_name(f"{path.name}.partial")
        seconds = None
        if order.timed:
            seconds = _timed(translator, order, lines, partial)
            task.advance(len(lines))
        else:
            done = _complete_lines(partial)
            task.advance(done)
            with partial.open("a", encoding="utf-8") as file:
                for window in _windows(translator, order, lines[done:]):
                    file.writelines(f"{line}\n" for line in window)
                    file.flush()
                    task.advance(len(window))
                    if self.stop():
                        raise Stopped
        task.finish()
        machine = ComputeEnvironment(device_name(translator.device), torch.__version__)
        head = {"order": asdict(order), "seconds": seconds, "machine": asdict(machine)}
        finished = path.with_name(f"{path.name}.finished")
        finished.write_text(json.dumps(head) + "\n" + partial.read_text(encoding="utf-8"), encoding="utf-8")
        finished.replace(path)
        partial.unlink()

    def _lines(self, order: TranslationSpec, translator: Translator) -> list[Line]:
        sources, references = self.source[: order.first], self.references[: order.first]
        if not order.gold_length:
            return [Line(source) for source in sources]
        require_length_head(translator)
        # What is too long to be translated as a whole is cut into pieces, which have no reference of their own.
        return [
            Line(source, reference=reference if _fits(translator, source, reference) else None)
            for source, reference in zip(sources, references, strict=True)
        ]


def require_length_head(translator: Translator) -> None:
    """Refuse a model that does not predict lengths."""
    system = translator.system
    if "length_candidates" not in (own.name for own in fields(system.settings_type)):
        raise UserError(f"a model of the system {system.name} does not predict lengths; this needs a CMLM.")


def _fits(translator: Translator, source: str, reference: str) -> bool:
    source_ids, target_ids = translator.tokenizers.source.encode(source), translator.tokenizers.target.encode(reference)
    with_end_mark = len(target_ids) + 1
    return len(source_ids) <= translator.max_input_length and with_end_mark < translator.system.config.max_positions


def _windows(translator: Translator, order: TranslationSpec, lines: Sequence[Line]) -> Iterator[list[str]]:
    found = translator.translate_lines(lines, window=WINDOW, max_batch_size=order.batch, **order.settings)
    while window := [_to_json(translation) for translation in islice(found, WINDOW)]:
        yield window


def _timed(translator: Translator, order: TranslationSpec, lines: list[Line], partial: Path) -> float:
    def translate(some: Sequence[Line]) -> list[Translation]:
        return list(
            translator.translate_lines(
                some,
                window=max(1, len(some)),
                max_batch_size=order.batch,
                batch_type=order.batch_type,
                **order.settings,
            )
        )

    on_gpu = translator.device.type == "cuda"
    if on_gpu:
        for _ in range(GPU_WARM_UPS):
            translate(lines)
    else:
        translate(lines[:: max(1, len(lines) // WARM_UP)])
    seconds = []
    for _ in range(GPU_TIMES if on_gpu else 1):
        started = time.perf_counter()
        found = translate(lines)
        seconds.append(time.perf_counter() - started)
    partial.write_text("".join(f"{_to_json(translation)}\n" for translation in found), encoding="utf-8")
    return median(seconds)


def _complete_lines(partial: Path) -> int:
    """How many translations are there; half a line, left by a power cut, is removed."""
    if not partial.exists():
        return 0
    content = partial.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        partial.write_bytes(whole)
    return whole.count(b"\n")


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
    return TranslatedTestSet(sentences, head["seconds"], ComputeEnvironment(**head["machine"]))


def _sentence(record: dict[str, Any]) -> TranslatedSentence:
    changes = tuple(record.pop("changes", ()))
    lengths = tuple(record.pop("lengths", ()))
    return TranslatedSentence(Translation(**record, lengths=lengths), changes)
