"""Systems to score: a file of finished translations, or a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from maskpredict.config import to_dict
from maskpredict.errors import UserError
from maskpredict.evaluate.reference_set import Lines, ReferenceSet
from maskpredict.progress import Progress
from maskpredict.runtime.settings import resolve_settings
from maskpredict.runtime.translator import Translator


@dataclass(frozen=True)
class SystemOutput:
    """Translations of a test set and their origin."""

    texts: list[str]
    origin: Mapping[str, Any]
    """The file, or the model and its decoding settings."""
    seconds: float | None = None
    """Time of translation, without loading the model; None for a file."""


class ScoredSystem(Protocol):
    """Interface of systems that can be scored."""

    @property
    def name(self) -> str:
        """Name in results."""

    def check(self, references: ReferenceSet) -> None:
        """Refuse a test set that the system cannot be scored on."""

    def output(self, references: ReferenceSet, progress: Progress) -> SystemOutput:
        """Translations of a test set."""


class HypothesisFile:
    """A file with one translation per line."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.name = name or str(path)
        self.path = path
        self._lines = Lines.read(path)

    def check(self, references: ReferenceSet) -> None:
        """Refuse another number of lines."""
        self._lines.require_as_many_as(references.references[0])

    def output(self, references: ReferenceSet, progress: Progress) -> SystemOutput:
        """The lines of the file."""
        return SystemOutput(self._lines.texts, {"file": str(self.path)})


class ModelSystem:
    """A model with decoding settings."""

    def __init__(
        self, translator: Translator, name: str, *, max_batch_size: int | None = None, **settings: Any
    ) -> None:
        """`settings` are those of the model's system, as `Translator.translate` takes them."""
        self.name = name
        self.translator, self.settings, self.max_batch_size = translator, settings, max_batch_size
        try:
            resolved = to_dict(resolve_settings(translator.system, translator.generation, settings))
        except UserError as error:
            raise UserError(f"{name}: {error}") from error
        self._origin = {
            "system": translator.system,
            "device": str(translator.device),
            "compute_type": translator.compute_type,
            "engine": translator.engine.name,
            "settings": resolved,
        }
        if translator.judge is not None:
            self._origin["judge"] = translator.judge.name

    def check(self, references: ReferenceSet) -> None:
        """Refuse a test set without sources, or of other languages."""
        if references.source is None:
            raise UserError(f"{self.name} has nothing to translate; give the sources of {references.name}.")
        languages, expected = self.translator.languages, references.languages
        if expected is not None and expected != languages:
            raise UserError(
                f"{self.name} translates {languages} and {references.name} is {expected}; "
                "give the files themselves if that is what you want."
            )

    def output(self, references: ReferenceSet, progress: Progress) -> SystemOutput:
        """Translate the sources."""
        assert references.source is not None
        sources = references.source.texts
        task = progress.task(f"Translating {references.name} with {self.name}", total=len(sources))
        started, texts = time.perf_counter(), []
        for translation in self.translator.translate_stream(
            sources, max_batch_size=self.max_batch_size, raw=True, **self.settings
        ):
            texts.append(translation.text)
            task.advance()
        task.finish()
        return SystemOutput(texts, self._origin, time.perf_counter() - started)
