"""A model in CTranslate2, in a process of its own: `python -m` this, then a question a line, and an answer a line.

In one process the threads of two engines get in each other's way: once CTranslate2 has translated, PyTorch takes nearly
twice as long for good, even while CTranslate2 does nothing. Nobody would run both in one, so a race must not, either.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from maskpredict.bench.racers.base import LENGTH_PENALTY, RacedModel
from maskpredict.errors import UserError
from maskpredict.model.folder import ModelFolder

OPENMP_SETTINGS = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "300000"}
"""How its threads wait for each other, unless there is an `OMP_WAIT_POLICY` already: the fastest way we found. As it
comes, they fall asleep at every turn where there are no more cores than threads, and take more than twice as long."""


@dataclass(frozen=True)
class ProcessConfig:
    """What is loaded, and where."""

    model: str
    """Our model folder, for its tokenizers and its longest translation."""
    folder: str
    """The same model in CTranslate2's format."""
    device: str
    device_index: int
    compute_type: str
    threads: int


class CTranslate2Process:
    """The process, seen from outside."""

    def __init__(self, loaded: ProcessConfig) -> None:
        waiting = {} if "OMP_WAIT_POLICY" in os.environ else OPENMP_SETTINGS
        self.running = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **waiting},
            encoding="utf-8",
        )
        weakref.finalize(self, _end, self.running)
        self.ask(asdict(loaded))

    def translate(self, batch: Sequence[str], beams: int) -> list[str]:
        """Translate all at once."""
        texts = self.ask({"batch": list(batch), "beams": beams})
        assert isinstance(texts, list)
        return texts

    def ask(self, question: Mapping[str, object]) -> object:
        """The answer; what went wrong there is raised here."""
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            print(json.dumps(question), file=self.running.stdin, flush=True)
            answer = json.loads(self.running.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise UserError(f"CTranslate2 ended with exit code {self.running.wait()}.") from None
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["found"]


def _end(running: subprocess.Popen[str]) -> None:
    with running:  # closes the pipes, which ends it, and waits
        pass


def main(questions: TextIO, answers: TextIO) -> None:
    """Load what the first line names, then translate what the others ask for, until there are no more."""
    engine: _Engine | None = None
    for line in questions:
        question = json.loads(line)
        try:
            if engine is None:
                engine, found = _Engine(ProcessConfig(**question)), None
            else:
                found = engine.translate(**question)
            answer: dict[str, object] = {"found": found}
        except Exception as error:  # too little memory, for instance
            answer = {"error": "out of memory" if isinstance(error, MemoryError) else str(error)}
        print(json.dumps(answer), file=answers, flush=True)


class _Engine:
    def __init__(self, loaded: ProcessConfig) -> None:
        import ctranslate2

        folder = Path(loaded.model)
        self.model = RacedModel(folder, ModelFolder.read(folder))
        self.source, self.target = self.model.contents.tokenizers.source, self.model.contents.tokenizers.target
        self.engine: Any = ctranslate2.Translator(
            loaded.folder,
            device=loaded.device,
            device_index=loaded.device_index,
            compute_type=loaded.compute_type,
            inter_threads=1,
            intra_threads=loaded.threads,
        )

    def translate(self, batch: Sequence[str], beams: int) -> list[str]:
        sources = [self.source.pieces(self.source.encode(text)) for text in batch]
        found = self.engine.translate_batch(
            sources,
            beam_size=beams,
            length_penalty=LENGTH_PENALTY,
            min_decoding_length=0,
            max_decoding_length=self.model.longest_translation(max(map(len, sources))),
        )
        return [self.target.decode(self.target.ids(result.hypotheses[0])) for result in found]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the race, which then closes the pipe
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library may print is no answer
    main(sys.stdin, answers)
