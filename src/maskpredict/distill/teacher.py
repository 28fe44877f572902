"""The teacher: an autoregressive model with the vocabulary of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskpredict.corpus.dataset import Dataset, sha256
from maskpredict.decoding.beam import BeamDecoder
from maskpredict.decoding.engine import BatchPolicy
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import BeamSettings
from maskpredict.distill.config import DistillConfig
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.model.folder import WEIGHTS_FILE, ModelFolder
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.settings import resolve_settings
from maskpredict.systems.autoregressive import Autoregressive
from maskpredict.training.distributed import local_device

GPU_BATCH_TOKENS = 500_000
"""Batches of thousands of sentences: a decoding step costs a GPU hardly less for a hundred. Takes 50 GB a process."""


@dataclass(frozen=True)
class Teacher:
    """A loaded teacher and its search settings."""

    decoder: BeamDecoder
    settings: BeamSettings
    weights_sha256: str

    @property
    def longest_source(self) -> int:
        """Longest source in subwords, end mark included."""
        return self.decoder.engine.config.max_positions

    @property
    def batch_tokens(self) -> int:
        """Source positions times beams per batch that suit the device."""
        engine = self.decoder.engine
        return GPU_BATCH_TOKENS if engine.device.startswith("cuda") else engine.batch_tokens

    def start(self, requests: Sequence[Request]) -> Callable[[], list[list[list[int]]]]:
        """Start translating requests of one padded width; returns a function that waits for the result.

        The result is the translations of each request, best first, without end marks.
        """
        finish = self.decoder.start(requests, self.settings)
        return lambda: [[hypothesis.ids[:-1] for hypothesis in hypotheses] for hypotheses in finish()]


def load_teacher(config: DistillConfig, dataset: Dataset) -> Teacher:
    """Load the teacher onto its device; one that does not fit the data is refused."""
    folder = find_model(config.teacher)
    contents = ModelFolder.read(folder)
    _check_fit(folder, contents, dataset)
    search = {
        "beam_size": config.beam_size,
        "length_penalty": config.length_penalty,
        "num_hypotheses": config.hypotheses,
    }
    return teacher_of(folder, contents, search, config.device, config.compute_type)


def teacher_of(
    folder: Path, contents: ModelFolder, search: Mapping[str, Any], device: str, compute_type: str
) -> Teacher:
    """The teacher of an opened model folder, with settings of its beam search."""
    if contents.system != Autoregressive.name:
        raise UserError(f"the teacher {folder} is a {contents.system} model; distill needs an autoregressive one.")
    # Not captured as CUDA graphs: its batches are large and of many sizes, so there is little to gain.
    engine = TorchEngine(load_system(contents), str(local_device(device)), compute_type)
    engine.batch_policy = BatchPolicy.SAME_WIDTH  # the distilled text must not depend on the batches
    settings = resolve_settings(
        contents.system, contents.generation, {**search, "suppress_tokens": _suppressed(contents)}
    )
    return Teacher(BeamDecoder(contents.system, engine), settings, sha256(folder / WEIGHTS_FILE))


def _check_fit(folder: Path, contents: ModelFolder, dataset: Dataset) -> None:
    if contents.languages != dataset.languages:
        raise UserError(
            f"the teacher {folder} translates {contents.languages}, but the data is {dataset.languages}; "
            "use another teacher."
        )
    digests = {name: sha256(folder / name) for name in dataset.description.tokenizers if (folder / name).is_file()}
    if digests != dataset.description.tokenizers:
        raise UserError(
            f"the teacher {folder} has another vocabulary than {dataset.folder}; "
            "train it on that data, prepare the data with the teacher's vocabulary, or distil by text (text=...)."
        )


def _suppressed(contents: ModelFolder) -> list[int]:
    """Suppressed tokens of the model folder, and those that no training target may contain."""
    special = contents.tokenizers.target.special
    return sorted({*contents.generation.get("suppress_tokens", ()), special.pad, special.bos, special.mask})
