"""CTranslate2 in a separate process, which reads requests and writes responses as JSON lines.

In one process the threads of the two engines interfere: after CTranslate2 has translated once, PyTorch takes nearly
twice as long, even while CTranslate2 is idle.
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
"""Environment of the process, unless `OMP_WAIT_POLICY` is set: the fastest that we found. With the defaults, threads
sleep at every barrier if there are no more cores than threads, and translation takes more than twice as long."""


@dataclass(frozen=True)
class ProcessConfig:
    """Model, device and threads of the process."""

    model: str
    """Our model folder, for its tokenizers and its maximum length."""
    folder: str
    """The same model in CTranslate2's format."""
    device: str
    device_index: int
    compute_type: str
    threads: int


class CTranslate2Process:
    """Client of the process."""

    def __init__(self, config: ProcessConfig) -> None:
        openmp = {} if "OMP_WAIT_POLICY" in os.environ else OPENMP_SETTINGS
        self.running = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **openmp},
            encoding="utf-8",
        )
        weakref.finalize(self, _end, self.running)
        self.request(asdict(config))

    def translate(self, batch: Sequence[str], beams: int) -> list[str]:
        """Translate the sentences as one batch."""
        texts = self.request({"batch": list(batch), "beams": beams})
        assert isinstance(texts, list)
        return texts

    def request(self, message: Mapping[str, object]) -> object:
        """Send a request and return the response; raises `RuntimeError` if the process reports an error."""
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            print(json.dumps(message), file=self.running.stdin, flush=True)
            response = json.loads(self.running.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise UserError(f"CTranslate2 ended with exit code {self.running.wait()}.") from None
        if "error" in response:
            raise RuntimeError(response["error"])
        return response["result"]


def _end(running: subprocess.Popen[str]) -> None:
    with running:  # closes the pipes, which ends the process, and waits for it
        pass


def main(requests: TextIO, responses: TextIO) -> None:
    """Load the model of the first request, then translate the batches of the others."""
    engine: _Engine | None = None
    for line in requests:
        request = json.loads(line)
        try:
            if engine is None:
                engine, result = _Engine(ProcessConfig(**request)), None
            else:
                result = engine.translate(**request)
            response: dict[str, object] = {"result": result}
        except Exception as error:  # such as out of memory
            response = {"error": "out of memory" if isinstance(error, MemoryError) else str(error)}
        print(json.dumps(response), file=responses, flush=True)


class _Engine:
    def __init__(self, config: ProcessConfig) -> None:
        import ctranslate2

        folder = Path(config.model)
        self.model = RacedModel(folder, ModelFolder.read(folder))
        self.source, self.target = self.model.contents.tokenizers.source, self.model.contents.tokenizers.target
        self.engine: Any = ctranslate2.Translator(
            config.folder,
            device=config.device,
            device_index=config.device_index,
            compute_type=config.compute_type,
            inter_threads=1,
            intra_threads=config.threads,
        )

    def translate(self, batch: Sequence[str], beams: int) -> list[str]:
        sources = [self.source.pieces(self.source.encode(text)) for text in batch]
        results = self.engine.translate_batch(
            sources,
            beam_size=beams,
            length_penalty=LENGTH_PENALTY,
            min_decoding_length=0,
            max_decoding_length=self.model.longest_translation(max(map(len, sources))),
        )
        return [self.target.decode(self.target.ids(result.hypotheses[0])) for result in results]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the race, which then closes the pipe
    responses = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # keeps output of libraries out of the responses
    main(sys.stdin, responses)
