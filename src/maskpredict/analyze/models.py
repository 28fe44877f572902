"""Who takes part in an analysis: the model itself, and those it is compared with."""

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

from maskpredict.corpus.dataset import sha256
from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.model.folder import CARD_FILE
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.translator import Translator
from maskpredict.systems.base import System

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
}
"""The roles of the paper's tables, and what tables call them."""


@dataclass(frozen=True)
class Competitors:
    """Folders or names of models, by role, and how they compute."""

    paths: Mapping[str, str | Path]
    device: str = "auto"
    compute_type: str = "float32"

    @property
    def autoregressive(self) -> str:
        """The role that speed and quality are compared with: a baseline of the model's size, else the teacher."""
        return "baseline" if "baseline" in self.paths else "teacher"

    def others(self) -> list[str]:
        """Roles that no table of the paper has."""
        return [role for role in self.paths if role not in TITLES]


@dataclass(frozen=True)
class ModelFacts:
    """What a report says about a model."""

    role: str
    system: str
    dimensions: str
    """Width of the model and of its feed-forward layers."""
    parameters: int


class LoadedModels:
    """Opens each competitor once, when it is first needed; one that cannot be used gives its reason every time."""

    def __init__(self, competitors: Competitors, languages: Languages) -> None:
        self.competitors, self.languages = competitors, languages
        self._opened: dict[tuple[str, str, str], Translator | UserError] = {}
        self._fingerprints: dict[str, str] = {}

    def translator(self, role: str, *, device: str = "", compute_type: str = "") -> Translator:
        """The model of this role, on the study's device unless another is named."""
        device = device or self.competitors.device
        compute_type = compute_type or self.competitors.compute_type
        key = (role, device, compute_type)
        if key not in self._opened:
            self._opened[key] = _result_or_reason(lambda: self._open(role, device, compute_type))
        found = self._opened[key]
        if isinstance(found, UserError):
            raise found
        return found

    def fingerprint(self, role: str) -> str:
        """SHA-256 of all that a model's translations depend on."""
        if role not in self._fingerprints:
            path = self._path(role)
            with _naming(role):
                folder = find_model(path)
            digest = hashlib.sha256()
            for file in sorted(file for file in folder.glob("*") if file.is_file() and file.name != CARD_FILE):
                digest.update(f"{file.name} {sha256(file)}\n".encode())
            self._fingerprints[role] = digest.hexdigest()
        return self._fingerprints[role]

    def device_name(self) -> str:
        """What the model computes on, in its maker's words."""
        return device_name(self.translator(MODEL).device)

    def dimensions(self, role: str) -> str:
        """Width of the model and of its feed-forward layers; empty where there is no such model."""
        try:
            config = self.translator(role).system.config
        except UserError:
            return ""
        return f"{config.width}/{config.hidden}"

    def facts(self) -> tuple[ModelFacts, ...]:
        """About the models that were used so far, also those whose translations were at hand."""
        for role in self._fingerprints:
            _result_or_reason(partial(self.translator, role))
        opened: dict[str, System] = {}
        for (role, *_), found in self._opened.items():
            if isinstance(found, Translator):
                opened.setdefault(role, found.system)
        return tuple(
            ModelFacts(role, system.name, self.dimensions(role), sum(weight.numel() for weight in system.parameters()))
            for role, system in opened.items()
        )

    def _path(self, role: str) -> str | Path:
        if role not in self.competitors.paths:
            raise UserError(f"no {role} model was given.")
        return self.competitors.paths[role]

    def _open(self, role: str, device: str, compute_type: str) -> Translator:
        path = self._path(role)
        with _naming(role):
            # The compute types are checked there; some are not for every device.
            translator = Translator(path, device=device, compute_type=cast(Any, compute_type))
        own, wanted = translator.languages, self.languages
        if own != wanted:
            raise UserError(
                f"{title(role)} translates {own.source} to {own.target} and the test set is {wanted.source} to "
                f"{wanted.target}; give a model of these languages."
            )
        return translator


@contextmanager
def _naming(role: str) -> Iterator[None]:
    """Puts the name of the model in front of what is wrong with it."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{title(role)}: {error}") from error


def device_name(device: torch.device) -> str:
    """A device in its maker's words; a CPU with the number of its threads, on which times depend."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{device.type} ({platform.machine()}, {threads} thread{'s' if threads > 1 else ''})"


def title(role: str) -> str:
    """What tables call a role."""
    return TITLES.get(role, role)


def _result_or_reason(open_model: Callable[[], Translator]) -> Translator | UserError:
    try:
        return open_model()
    except UserError as error:
        return error
