"""`Study`: the test set, models, translations and scores that all analyses share."""

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
from maskpredict.errors import UserError
from maskpredict.evaluate.normalization import normalize
from maskpredict.evaluate.reference_set import sets_from_data
from maskpredict.evaluate.scores import MetricScore, score_corpus
from maskpredict.evaluate.sentence_counts import Counts, count_sentences
from maskpredict.paper.cell import Cell, FromSentences, measured
from maskpredict.paper.counts import read_counts
from maskpredict.paper.end_mark import before_end_mark
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
"""Number of length candidates unless the paper states another."""


@dataclass(frozen=True)
class Study:
    """A model on a test set, with the models it is compared with."""

    competitors: Competitors
    data: Path
    split: str
    out: Path
    """Folder of the results: numbers, tables and figures, but no sentences of the test set."""
    texts: Path
    """Folder of everything with sentences of the test set: translations, and input files for compare-mt."""
    limit: int | None = None
    """Use only the first so many sentences."""
    normalization: str = ""
    """Normalization of spelling before scoring; see `evaluate.normalization`."""
    figure1: str = ""
    """Source sentence of the analysis `figure1`; empty: a sentence that comes with the package."""
    command: str = ""
    """Command that makes these results again, for the report."""
    stop: Callable[[], bool] = lambda: False
    """Returns True when the analysis should stop."""
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    environments: set[ComputeEnvironment] = field(default_factory=set)
    """Environments that computed the translations of this analysis; several, if it was continued on another machine."""

    @cached_property
    def dataset(self) -> Dataset:
        """Data folder with the test set."""
        return Dataset(self.data)

    @cached_property
    def models(self) -> LoadedModels:
        """Models by role, loaded on first use."""
        return LoadedModels(self.competitors, self.dataset.languages)

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Counts of the sentences of all translations in the results so far."""
        return read_counts(self.out)

    @property
    def references(self) -> list[str]:
        """Reference translations."""
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[list[str], list[str]]:
        (test,) = sets_from_data(self.data, [self.split])
        assert test.source is not None  # a split has both sides
        return test.source.texts[: self.limit], test.references[0].texts[: self.limit]

    @cached_property
    def _translations(self) -> TranslationCache:
        return TranslationCache(self.texts / "translations", self.models, *self._pairs, self.stop, self.progress)

    def translate(self, role: str, settings: dict[str, Any], **options: Any) -> TranslatedTestSet:
        """Translations of the test set by a model; `options` are further fields of `TranslationSpec`.

        Given settings are those of the paper: what the model folder recommends beside them is switched off. Without
        settings the model decodes as its folder says.
        """
        spec = self._spec(role, settings, options)
        translated = self._translations.get(spec)
        if not spec.device:  # a device of its own is not the one of the study
            self.environments.add(translated.environment)
        return translated

    def has(self, role: str, settings: dict[str, Any], **options: Any) -> bool:
        """True if these translations are in the cache."""
        return self._translations.has(self._spec(role, settings, options))

    def _spec(self, role: str, settings: dict[str, Any], options: dict[str, Any]) -> TranslationSpec:
        settings = self.settings_of(role, settings)
        return TranslationSpec(role, {**self.models.switched_off(role), **settings} if settings else {}, **options)

    def settings_of(self, role: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings as this model has them: alignment models try no lengths, so that one candidate or the paper's
        number of them means nothing to them, and any other number is refused."""
        candidates = settings.get("length_candidates")
        if candidates is None or self.models.system(role) != "alignment":
            return settings
        if candidates not in (1, CANDIDATES):
            raise UserError("alignment models try no lengths.")
        return {name: value for name, value in settings.items() if name != "length_candidates"}

    @property
    def recommends_decoding(self) -> bool:
        """True if the folder of the analysed model has decoding settings that the paper does not have."""
        return bool(self.models.switched_off(MODEL))

    def mask_predict(self, passes: int | str, candidates: int = CANDIDATES, **options: Any) -> TranslatedTestSet:
        """Translations by the analysed model, with T passes and l length candidates."""
        return self.translate(MODEL, passes_and_candidates(passes, candidates), **options)

    def normalized(self, texts: Sequence[str]) -> list[str]:
        """Texts after normalization of spelling."""
        return normalize(texts, self.normalization)

    def score(self, texts: Sequence[str], *, confidence: int = 0) -> MetricScore:
        """BLEU of translations of the test set, or of its first sentences; cached."""
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
        """Cell with the BLEU of the translations that `translate` returns, or with the reason why it fails."""

        def score() -> Cell:
            translated = translate()
            bleu = self.score(translated.texts, confidence=confidence)
            plus_minus = round(bleu.confidence.plus_minus, 4) if bleu.confidence else None
            return Cell(round(bleu.score, 4), plus_minus, sentences=self.counted(translated))

        return measured(score)

    def counted(self, translated: TranslatedTestSet, **options: Any) -> FromSentences:
        """Count the sentences of these translations; `options` are further fields of `FromSentences`."""
        key = ".".join(filter(None, (translated.key, self.normalization)))
        if key not in self.counts:
            texts = translated.texts
            self.counts[key] = count_sentences(
                self.normalized(texts),
                self.normalized(self.references[: len(texts)]),
                [before_end_mark(translation.tokens) for translation in translated.translations],
                target_language=self.dataset.languages.target,
            )
        return FromSentences(key, **options)

    def target_ids(self) -> list[list[int]]:
        """References as ids of the analysed model's subwords."""
        encode = self.models.translator(MODEL).tokenizers.target.encode
        return [encode(reference) for reference in self.references]

    def require_length_head(self) -> None:
        """Raise `UserError` if the analysed model does not predict lengths."""
        require_length_head(self.models.translator(MODEL))


def passes_and_candidates(passes: int | str, candidates: int = CANDIDATES) -> dict[str, Any]:
    """Decoding settings for T passes and l length candidates."""
    return {"iterations": passes, "length_candidates": candidates}
