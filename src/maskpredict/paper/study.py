"""What every analysis works with: a test set, the models, their translations and scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from maskpredict.config import from_dict, to_dict
from maskpredict.corpus.dataset import Dataset
from maskpredict.evaluate.normalization import normalize
from maskpredict.evaluate.reference_set import sets_from_data
from maskpredict.evaluate.scores import MetricScore, score_corpus
from maskpredict.paper.cell import Cell, measured
from maskpredict.paper.models import MODEL, Competitors, LoadedModels
from maskpredict.paper.translations import (
    ComputeEnvironment,
    TranslatedTestSet,
    TranslationCache,
    TranslationSpec,
    require_length_head,
)
from maskpredict.progress import Progress

CANDIDATES = 5
"""Length candidates wherever the paper does not say otherwise."""


@dataclass(frozen=True)
class Study:
    """A model on a test set, and the models beside it."""

    competitors: Competitors
    data: Path
    split: str
    out: Path
    """Folder of the results: numbers, tables and pictures, but no sentence of the test set."""
    texts: Path
    """Folder of all that holds such sentences: translations, and files for other programs."""
    limit: int | None = None
    """Use only so many sentences."""
    normalization: str = ""
    """Spelling to unify before scoring; see `evaluate.normalization`."""
    figure1: str = ""
    """The sentence of the example; empty: one that comes with the package."""
    stop: Callable[[], bool] = lambda: False
    """Says when to end."""
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    machines: set[ComputeEnvironment] = field(default_factory=set)
    """What the translations of this analysis were computed with: several, if the study went on elsewhere."""

    @cached_property
    def dataset(self) -> Dataset:
        """The data folder."""
        return Dataset(self.data)

    @cached_property
    def models(self) -> LoadedModels:
        """The models, by role."""
        return LoadedModels(self.competitors, self.dataset.languages)

    @property
    def references(self) -> list[str]:
        """The right translations."""
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[list[str], list[str]]:
        (test,) = sets_from_data(self.data, [self.split])
        assert test.source is not None  # a split has both sides
        return test.source.texts[: self.limit], test.references[0].texts[: self.limit]

    @cached_property
    def _translations(self) -> TranslationCache:
        return TranslationCache(self.texts / "translations", self.models, *self._pairs, self.stop, self.progress)

    def translate(self, role: str, settings: dict[str, Any], **order: Any) -> TranslatedTestSet:
        """The translations of the test set by a model; `order` holds further fields of `TranslationSpec`."""
        wanted = TranslationSpec(role, settings, **order)
        found = self._translations.get(wanted)
        if not wanted.device:  # else it was to be computed somewhere else
            self.machines.add(found.machine)
        return found

    def has(self, role: str, settings: dict[str, Any], **order: Any) -> bool:
        """Whether these translations are at hand, made here or elsewhere."""
        return self._translations.has(TranslationSpec(role, settings, **order))

    def mask_predict(self, passes: int | str, candidates: int = CANDIDATES, **order: Any) -> TranslatedTestSet:
        """The translations by the model itself, with T passes and l length candidates."""
        return self.translate(MODEL, passes_and_candidates(passes, candidates), **order)

    def normalized(self, texts: Sequence[str]) -> list[str]:
        """Texts in the spelling that is scored."""
        return normalize(texts, self.normalization)

    def score(self, texts: Sequence[str], *, confidence: int = 0) -> MetricScore:
        """BLEU of translations of the test set, or of its first sentences; computed once, as translations are."""
        pairs = [self.normalized(texts), self.normalized(self.references[: len(texts)])]
        settings: dict[str, Any] = {"target_language": self.dataset.languages.target, "confidence": confidence}
        key = hashlib.sha256(json.dumps([pairs, settings]).encode()).hexdigest()[:24]
        path = self.texts / "scores" / f"{key}.json"
        if not path.exists():
            (score,) = score_corpus(pairs[0], [pairs[1]], metrics=["bleu"], **settings).scores
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(to_dict(score)), encoding="utf-8")
            partial.replace(path)
        return from_dict(MetricScore, json.loads(path.read_text(encoding="utf-8")))

    def bleu(self, translate: Callable[[], TranslatedTestSet], *, confidence: int = 0) -> Cell:
        """BLEU of what `translate` returns, or the reason why it cannot."""

        def score() -> Cell:
            found = self.score(translate().texts, confidence=confidence)
            plus_minus = round(found.confidence.plus_minus, 4) if found.confidence else None
            return Cell(round(found.score, 4), plus_minus)

        return measured(score)

    def target_ids(self) -> list[list[int]]:
        """The references in the model's own subwords."""
        encode = self.models.translator(MODEL).tokenizers.target.encode
        return [encode(reference) for reference in self.references]

    def require_length_head(self) -> None:
        """Refuse a model that does not predict lengths."""
        require_length_head(self.models.translator(MODEL))


def passes_and_candidates(passes: int | str, candidates: int = CANDIDATES) -> dict[str, Any]:
    """The settings of mask-predict that the paper varies."""
    return {"iterations": passes, "length_candidates": candidates}
