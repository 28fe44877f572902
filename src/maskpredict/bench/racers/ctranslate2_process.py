"""CTranslate2 in a separate process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maskpredict.bench.racers.base import LENGTH_PENALTY, RacedModel
from maskpredict.bench.racers.engine_process import Answer, EngineProcess, answer_requests
from maskpredict.model.folder import ModelFolder


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


class CTranslate2Process(EngineProcess):
    """Client of the process."""

    def __init__(self, config: ProcessConfig) -> None:
        super().__init__("CTranslate2", __name__, asdict(config))

    def translate(self, batch: Sequence[str], beams: int) -> list[str]:
        """Translate the sentences as one batch."""
        texts: list[str] = self.request({"batch": list(batch), "beams": beams})
        return texts


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


def _load(config: dict[str, Any]) -> Answer:
    engine = _Engine(ProcessConfig(**config))
    return lambda request: engine.translate(**request)


if __name__ == "__main__":
    answer_requests(_load)
