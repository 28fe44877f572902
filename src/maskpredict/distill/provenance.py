"""Provenance of distilled text: teacher, data and settings, stored with it.

Unfinished work continues only with equal provenance, and a data folder shows how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.corpus.ids import ids_path
from maskpredict.distill.config import DistillConfig

if TYPE_CHECKING:
    from maskpredict.distill.teacher import Teacher


@dataclass(frozen=True)
class Provenance:
    """Everything that the text depends on. Equal provenance gives equal text; paths do not count."""

    teacher: str = field(compare=False)
    """Folder of the teacher."""
    teacher_sha256: str
    """SHA-256 of its weights."""
    data: str = field(compare=False)
    """Folder of the data."""
    source_sha256: str
    """SHA-256 of the ids of the training sources."""
    target_sha256: str
    """SHA-256 of the ids of the original training targets."""
    choose: str
    hypotheses: int
    beam_size: int
    length_penalty: float
    max_length_ratio: float
    suppress_tokens: list[int]
    compute_type: str
    shard_pairs: int

    @classmethod
    def of(cls, config: DistillConfig, dataset: Dataset, teacher: Teacher) -> Provenance:
        """The provenance of text that is distilled with this configuration."""
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
        """The first difference to a saved provenance, as `name=saved, not current`; None if they are equal."""
        names = [entry.name for entry in fields(self) if entry.compare]
        return difference({name: saved.get(name) for name in names}, {name: getattr(self, name) for name in names})


def difference(saved: Mapping[str, Any], current: Mapping[str, Any]) -> str | None:
    """The first value that differs, as `name=saved, not current`; None if all are equal."""
    for name in {**saved, **current}:
        if saved.get(name) != current.get(name):
            return f"{name}={saved.get(name)!r}, not {current.get(name)!r}"
    return None
