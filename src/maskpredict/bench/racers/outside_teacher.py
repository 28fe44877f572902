"""A teacher from outside in the engine it comes with: transformers, CTranslate2 or a command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from maskpredict.bench.racers.base import ComputeSettings, Entry
from maskpredict.bench.racers.outside_teacher_process import TeacherProcess
from maskpredict.distill.teachers import TeacherConfig

COMPUTE_TYPES = {
    "transformers": ("float32", "bfloat16", "float16"),
    "ctranslate2": ("float32", "int8", "bfloat16", "float16"),
}


class OutsideTeacherRacer:
    """A teacher with its own tokenizer, in a process of its own."""

    def __init__(self, entry: Entry, config: TeacherConfig) -> None:
        self.entry, self.config = entry, config

    def prepare(self, sentences: Sequence[str]) -> None:
        """Start the process with the teacher."""
        self._teacher = TeacherProcess(self.config)
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate the sentences as one batch."""
        return self._teacher.translate(batch)


def outside_teacher_racers(
    teacher: TeacherConfig, compute: ComputeSettings, beams: Sequence[int]
) -> Iterator[OutsideTeacherRacer]:
    """Racers of a teacher with each beam size in each compute type that its engine has; a command has one."""
    known = COMPUTE_TYPES.get(teacher.kind, ())
    for compute_type in [name for name in compute.compute_types if name in known] or ["auto"]:
        for count in beams if known else (1,):
            settings: dict[str, Any] = {"compute_type": compute_type, "beam_size": count, "threads": compute.threads}
            entry = Entry(
                name=f"{teacher.kind}-teacher-b{count}-{compute_type}",
                engine="teacher from outside",
                settings=f"b={count}" if known else "",
                compute_type=compute_type,
                what=f"the teacher {teacher.teacher} in its own engine" + (f", beam {count}" if known else ""),
            )
            device = compute.device.partition(":")[0]
            # A batch of a race is computed at once, on all threads.
            at_once: dict[str, Any] = {"batch_tokens": 1_000_000, "parallel_batches": 1}
            yield OutsideTeacherRacer(entry, replace(teacher, device=device, **at_once, **settings))
