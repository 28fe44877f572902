"""Models of an analysis: the analysed one and those it is compared with."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch

from maskpredict.checksums import checksum_of
from maskpredict.corpus.dataset import sha256
from maskpredict.decoding.engine import Engine
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.folder import CARD_FILE, WEIGHTS_FILE, ModelFolder, read_description
from maskpredict.model.stored_weights import parameter_count
from maskpredict.model.training_record import TrainingRecord
from maskpredict.paper.exact_decoding import switched_off
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.translator import Translator

MODEL = "model"
"""Role of the model that is analysed."""
TITLES = {
    MODEL: "mask-predict",
    "small": "small mask-predict",
    "raw": "mask-predict, raw text",
    "teacher": "autoregressive teacher",
    "baseline": "autoregressive",
    "ar_distilled": "autoregressive + distillation",
    "fertility": "NAT with fertility",
    "ctc": "CTC",
    "refinement": "iterative refinement",
    "insertion": "insertion",
}
"""Roles of the models in the paper's tables, and their names there."""


@dataclass(frozen=True)
class Competitors:
    """Folders or names of models, by role, with device and compute type."""

    paths: Mapping[str, str | Path]
    device: str = "auto"
    compute_type: str = "float32"

    @property
    def autoregressive(self) -> str:
        """Role of the autoregressive reference: `baseline`, a model of the same size, if given, else `teacher`."""
        return "baseline" if "baseline" in self.paths else "teacher"

    def others(self) -> list[str]:
        """Roles that do not occur in the paper's tables."""
        return [role for role in self.paths if role not in TITLES]


@dataclass(frozen=True)
class ModelFacts:
    """Description of a model in the report."""

    role: str
    system: str
    dimensions: str
    """Width of the model and of its feed-forward layers."""
    parameters: int
    weights: str = ""
    """Checksum of the weights file."""


class LoadedModels:
    """Loads each model on first use; a model that cannot be loaded raises the same error every time."""

    def __init__(self, competitors: Competitors, languages: Languages) -> None:
        self.competitors, self.languages = competitors, languages
        self._loaded: dict[tuple[str, str, str, str], Translator | UserError] = {}
        self._fingerprints: dict[str, str] = {}
        self._switched_off: dict[str, dict[str, Any]] = {}

    def translator(self, role: str, *, device: str = "", compute_type: str = "", judge: str = "") -> Translator:
        """Translator of this role, on the study's device unless another is given; the role `judge` chooses alone."""
        device = device or self.competitors.device
        compute_type = compute_type or self.competitors.compute_type
        key = (role, device, compute_type, judge)
        if key not in self._loaded:
            self._loaded[key] = _result_or_error(lambda: self._load(*key))
        loaded = self._loaded[key]
        if isinstance(loaded, UserError):
            raise loaded
        return loaded

    def fingerprint(self, role: str) -> str:
        """SHA-256 of all files that a model's translations depend on."""
        if role not in self._fingerprints:
            path = self._path(role)
            with _naming(role):
                folder = find_model(path)
            digest = hashlib.sha256()
            for file in sorted(file for file in folder.glob("*") if file.is_file() and file.name != CARD_FILE):
                digest.update(f"{file.name} {sha256(file)}\n".encode())
            self._fingerprints[role] = digest.hexdigest()
        return self._fingerprints[role]

    def system(self, role: str) -> str:
        """Name of a model's system, for which it need not be loaded."""
        path = self._path(role)
        with _naming(role):
            return str(read_description(find_model(path))["system"])

    def switched_off(self, role: str) -> dict[str, Any]:
        """Decoding settings that a model's folder recommends and the paper does not have, and how they are off."""
        if role not in self._switched_off:
            self._switched_off[role] = switched_off(self._folder(role))
        return self._switched_off[role]

    def recommended(self, role: str) -> dict[str, Any]:
        """What `switched_off` switches off, with the values of the folder."""
        return {name: self._folder(role).generation[name] for name in self.switched_off(role)}

    def device_name(self) -> str:
        """Name of the device that the analysed model runs on."""
        return device_name(self.translator(MODEL).engine)

    def dimensions(self, role: str) -> str:
        """Width of the model and of its feed-forward layers; empty if there is no such model."""
        try:
            config = self.translator(role).engine.config
        except UserError:
            return ""
        return f"{config.width}/{config.hidden}"

    def parameters(self, role: str) -> int | None:
        """Number of a model's weights; None if there is no such model."""
        try:
            return parameter_count(self._folder(role).weights)
        except UserError:
            return None

    def training(self, role: str) -> TrainingRecord | None:
        """How a model was trained; None if there is no such model, or its folder does not say."""
        try:
            return self._folder(role).training
        except UserError:
            return None

    def facts(self) -> tuple[ModelFacts, ...]:
        """Descriptions of all models used so far, including those whose translations came from the cache."""
        for role in self._fingerprints:
            _result_or_error(partial(self.translator, role))
        systems: dict[str, str] = {}
        for (role, *_), loaded in self._loaded.items():
            if isinstance(loaded, Translator):
                systems.setdefault(role, loaded.system)
        return tuple(
            ModelFacts(
                *(role, system, self.dimensions(role), parameter_count(self._folder(role).weights)),
                weights=checksum_of(find_model(self._path(role)) / WEIGHTS_FILE),
            )
            for role, system in systems.items()
        )

    def _folder(self, role: str) -> ModelFolder:
        path = self._path(role)
        with _naming(role):
            return ModelFolder.read(find_model(path))

    def _path(self, role: str) -> str | Path:
        if role not in self.competitors.paths:
            raise UserError(f"no {role} model was given.")
        return self.competitors.paths[role]

    def _load(self, role: str, device: str, compute_type: str, judge: str) -> Translator:
        path, judge_path = self._path(role), self._path(judge) if judge else None
        with _naming(role):
            # `Translator` checks the compute type; not every device supports every one.
            translator = Translator(
                path, device=device, compute_type=cast(Any, compute_type), judge=judge_path, judge_alone=True
            )
        languages, wanted = translator.languages, self.languages
        if languages != wanted:
            raise UserError(
                f"{title(role)} translates {languages.source} to {languages.target} and the test set is "
                f"{wanted.source} to {wanted.target}; give a model of these languages."
            )
        return translator


@contextmanager
def _naming(role: str) -> Iterator[None]:
    """Prefixes errors with the name of the model."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{title(role)}: {error}") from error


def device_name(engine: Engine) -> str:
    """Product name of a GPU; for a CPU, its architecture and the number of threads."""
    if engine.device.startswith("cuda"):
        return torch.cuda.get_device_name(engine.device)
    threads = engine.threads
    return f"{engine.device} ({platform.machine()}, {threads} thread{'s' if threads > 1 else ''})"


def title(role: str) -> str:
    """Name of a role in tables."""
    return TITLES.get(role, role)


def _result_or_error(load: Callable[[], Translator]) -> Translator | UserError:
    try:
        return load()
    except UserError as error:
        return error
