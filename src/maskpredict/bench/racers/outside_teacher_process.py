"""A teacher from outside in a separate process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from maskpredict.bench.racers.engine_process import Answer, EngineProcess, answer_requests
from maskpredict.config import from_dict, to_dict
from maskpredict.distill.teachers import TeacherConfig, best_translations, open_teacher


class TeacherProcess(EngineProcess):
    """Client of the process."""

    def __init__(self, config: TeacherConfig) -> None:
        """Start the process and load the teacher."""
        super().__init__("the teacher", __name__, to_dict(config))

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Return the best translation of each line; empty for one that is too long for the teacher."""
        texts: list[str] = self.request(list(lines))
        return texts


def _load(config: dict[str, Any]) -> Answer:
    return partial(best_translations, open_teacher(from_dict(TeacherConfig, config)))


if __name__ == "__main__":
    answer_requests(_load)
