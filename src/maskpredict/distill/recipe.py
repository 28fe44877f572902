"""What a distilled text depends on, recorded with it: so that work continues only as it began, and anyone can see
where a data folder came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.corpus.ids import ids_path
from maskpredict.distill.config import DistillConfig
from maskpredict.distill.teacher import Teacher


@dataclass(frozen=True)
class DistillationRecipe:
    """Two recipes are equal when they give the same text; where the ingredients lie does not matter."""

    teacher: str = field(compare=False)
    """Folder of the teacher."""
    teacher_sha256: str
    """Of its weights."""
    data: str = field(compare=False)
    """Folder of the data."""
    source_sha256: str
    """Of the ids of the training sources."""
    target_sha256: str
    """Of the ids of the original training targets."""
    choose: str
    hypotheses: int
    beam_size: int
    length_penalty: float
    max_length_ratio: float
    suppress_tokens: list[int]
    compute_type: str
    shard_pairs: int

    @classmethod
    def of(cls, config: DistillConfig, dataset: Dataset, teacher: Teacher) -> DistillationRecipe:
        """The recipe that a call asks for."""
        languages = (dataset.languages.source, dataset.languages.target)
        source, target = (sha256(ids_path(dataset.folder / f"train.{language}")) for language in languages)
        return cls(
            teacher=str(config.teacher),
            teacher_sha256=teacher.weights_sha256,
            data=str(config.data),
            source_sha256=source,
            target_sha256=target,
            choose=config.choose,
            hypotheses=config.hypotheses,
            beam_size=config.beam_size,
            length_penalty=config.length_penalty,
            max_length_ratio=teacher.settings.max_length_ratio,
            suppress_tokens=list(teacher.settings.suppress_tokens),
            compute_type=config.compute_type,
            shard_pairs=config.shard_pairs,
        )

    def difference(self, saved: Mapping[str, Any]) -> str | None:
        """What a saved recipe has that this one has not, as `name=value, not value`; None if they are equal."""
        for own in (own for own in fields(self) if own.compare):
            value = getattr(self, own.name)
            if saved.get(own.name) != value:
                return f"{own.name}={saved.get(own.name)!r}, not {value!r}"
        return None
