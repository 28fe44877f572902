"""The models that are served: which they are, what they are called, and what they can be asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from maskpredict.engines import default_threads
from maskpredict.errors import UserError
from maskpredict.model.folder import CONFIG_FILE, ModelFolder, is_model_folder
from maskpredict.model.padding import padded_width
from maskpredict.runtime.find_model import find_model, shipped_models
from maskpredict.runtime.lines import clean
from maskpredict.runtime.settings import resolve_settings
from maskpredict.runtime.translator import Translator
from maskpredict.serve.config import ServiceConfig


@dataclass(frozen=True)
class ServedModel:
    """A loaded model and its name."""

    name: str
    translator: Translator

    @property
    def source(self) -> str:
        """Code of the language it reads."""
        return self.translator.languages.source

    @property
    def target(self) -> str:
        """Code of the language it writes."""
        return self.translator.languages.target

    def settings(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the settings that this kind of model has: an autoregressive one knows nothing of passes."""
        known = {field.name for field in fields(self.translator.decoder.settings_type)}
        chosen = {name: value for name, value in asked.items() if name in known}
        defaults = resolve_settings(self.translator.system, self.translator.generation, {})
        for name in known & {"length_candidates", "beam_size"}:
            chosen.setdefault(name, getattr(defaults, name))
            if "num_hypotheses" in chosen:
                # Alternatives need as many candidates or beams; of those, all are asked for, since some say the same.
                chosen["num_hypotheses"] = chosen[name] = max(chosen[name], chosen["num_hypotheses"])
                chosen.pop("prune_candidates", None)
        return chosen

    def tokens(self, text: str) -> int:
        """Subwords of a source text."""
        return len(self.translator.tokenizers.source.encode(clean(text)))

    def width(self, tokens: int) -> int:
        """Padded width of a source with so many subwords: sentences of one width are computed together."""
        longest = min(tokens, self.translator.max_input_length) + 1  # the end mark
        return padded_width(longest, slot=self.translator.decoder.reserves_slot)


@dataclass(frozen=True)
class Choice:
    """A model folder that is to be served."""

    name: str
    folder: Path
    system: str
    direction: tuple[str, str]


def choose_models(config: ServiceConfig) -> list[Choice]:
    """What the config names, one model for each direction; nothing is loaded yet."""
    named = [text.rpartition("=") for text in config.models]
    found = [_look(name, path) for name, _, path in named] or _shipped()
    for name in config.load_only:
        if name not in (choice.name for choice in found):
            raise UserError(f"there is no model {name}; there is {', '.join(choice.name for choice in found)}.")
    chosen = [choice for choice in found if not config.load_only or choice.name in config.load_only]
    for attribute in ("name", "direction"):
        values = [getattr(choice, attribute) for choice in chosen]
        if len(set(values)) < len(values):
            raise UserError(f"two models have the same {attribute}; serve one of them, or choose with --load-only.")
    return chosen


def load_models(config: ServiceConfig) -> list[ServedModel]:
    """Load what the config names."""
    options: dict[str, Any] = {
        "device": config.device,
        "compute_type": config.compute_type,
        "intra_threads": config.threads or max(1, default_threads() // config.workers),
    }
    return [ServedModel(choice.name, Translator(choice.folder, **options)) for choice in choose_models(config)]


def _shipped() -> list[Choice]:
    found = [_look("", name) for name in shipped_models()]
    # Of several models for the same languages, the one to begin with is named after them.
    shipped = [choice for choice in found if choice.folder.name == "-".join(choice.direction)]
    if not shipped:
        raise UserError("no model comes with this version; name one, as in --model runs/mine.")
    return shipped


def _look(name: str, model: str) -> Choice:
    """What a folder says of itself, without its weights."""
    folder = find_model(model)
    if not is_model_folder(folder):
        ModelFolder.read(folder)  # says what is wrong with it
    try:
        description = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        direction = description["languages"]["source"], description["languages"]["target"]
        return Choice(name or "-".join(direction), folder, description["system"], direction)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / CONFIG_FILE} is damaged; copy the model folder again.") from error
