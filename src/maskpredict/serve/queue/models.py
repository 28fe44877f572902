"""Chooses, names and loads the models to serve."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from maskpredict.engines import MAX_THREADS
from maskpredict.errors import UserError
from maskpredict.model.folder import CONFIG_FILE, read_description
from maskpredict.model.padding import padded_width
from maskpredict.runtime.find_model import default_models, find_model
from maskpredict.runtime.lines import Line, clean
from maskpredict.runtime.settings import resolve_settings
from maskpredict.runtime.translator import Translator
from maskpredict.serve.config import ServiceConfig
from maskpredict.serve.queue.price import price
from maskpredict.serve.queue.speed import Speed


@dataclass(frozen=True)
class ServedModel:
    """A loaded model and its name."""

    name: str
    translator: Translator
    speed: Speed = field(default_factory=Speed)
    """How long its work takes."""

    @property
    def source(self) -> str:
        """Code of the source language."""
        return self.translator.languages.source

    @property
    def target(self) -> str:
        """Code of the target language."""
        return self.translator.languages.target

    @property
    def suppressed(self) -> tuple[int, ...]:
        """Target ids that the model never produces."""
        decoding = resolve_settings(self.translator.system, self.translator.generation, {})
        return tuple(decoding.suppress_tokens)

    def settings(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that this system has: an autoregressive model ignores the number of passes."""
        known = {each.name for each in fields(self.translator.decoder.settings_type)}
        chosen = {name: value for name, value in requested.items() if name in known}
        defaults = resolve_settings(self.translator.system, self.translator.generation, {})
        for name in known & {"length_candidates", "beam_size"}:
            chosen.setdefault(name, getattr(defaults, name))
            if "num_hypotheses" in chosen:
                # N alternatives need N candidates or beams. All of them are requested, since some have the same text.
                chosen["num_hypotheses"] = chosen[name] = max(chosen[name], chosen["num_hypotheses"])
                chosen.pop("prune_candidates", None)
        return chosen

    def tokens(self, text: str) -> int:
        """Return the number of subwords of a source text."""
        return len(self.translator.tokenizers.source.encode(clean(text)))

    def prices(self, lines: Sequence[Line], tokens: Sequence[int], settings: Mapping[str, Any]) -> list[int]:
        """Return the price of each line, with that many subwords, under settings that `settings` returned."""
        decoding = resolve_settings(self.translator.system, self.translator.generation, settings)
        target, longest = self.translator.tokenizers.target, self.translator.engine.config.max_positions - 1
        return [price(line, count, decoding, target, longest) for line, count in zip(lines, tokens, strict=True)]

    def warm_up(self) -> None:
        """Translate a few words, so that no later request has to wait for it, and to measure the speed."""
        lines = [Line("1 2 3 4 5 6")] * 8
        list(self.translator.translate_lines(lines[:1], raw=True, **self.settings({"length_candidates": 1})))
        list(self.translator.translate_lines(lines, raw=True))
        begin = time.perf_counter()
        list(self.translator.translate_lines(lines, raw=True))
        seconds = time.perf_counter() - begin
        tokens = [self.tokens(line.source) for line in lines]
        self.speed.observe(sum(self.prices(lines, tokens, {})), seconds)

    def width(self, tokens: int) -> int:
        """Return the padded width of a source with that many subwords."""
        longest = min(tokens, self.translator.max_input_length) + 1  # the end mark
        return padded_width(longest, slot=self.translator.decoder.reserves_slot)


@dataclass(frozen=True)
class ModelChoice:
    """A model folder to serve."""

    name: str
    folder: Path
    system: str
    direction: tuple[str, str]


def choose_models(config: ServiceConfig) -> list[ModelChoice]:
    """Return the models that the config names, one for each direction, without loading them."""
    named = [text.rpartition("=") for text in config.models]
    choices = [_describe(name, path) for name, _, path in named] or _shipped_choices()
    for name in config.load_only:
        if name not in (choice.name for choice in choices):
            raise UserError(f"there is no model {name}; there is {', '.join(choice.name for choice in choices)}.")
    chosen = [choice for choice in choices if not config.load_only or choice.name in config.load_only]
    for attribute in ("name", "direction"):
        values = [getattr(choice, attribute) for choice in chosen]
        if len(set(values)) < len(values):
            raise UserError(f"two models have the same {attribute}; serve one of them, or choose with --load-only.")
    return chosen


def load_models(config: ServiceConfig) -> list[ServedModel]:
    """Load the models that the config names."""
    options: dict[str, Any] = {
        "device": config.device,
        "compute_type": config.compute_type,
        "engine": config.engine,
        "intra_threads": threads_per_worker(config),
    }
    return [ServedModel(choice.name, Translator(choice.folder, **options)) for choice in choose_models(config)]


def threads_per_worker(config: ServiceConfig) -> int | None:
    """Return the CPU threads of a worker; None leaves the choice to the Translator."""
    if config.threads is not None or config.workers == 1:
        return config.threads
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MAX_THREADS, cores // config.workers))


def _shipped_choices() -> list[ModelChoice]:
    choices = [_describe("", name) for name in default_models()]
    if not choices:
        raise UserError("no model comes with this version; name one, as in --model runs/mine.")
    return choices


def _describe(name: str, model: str) -> ModelChoice:
    """Read the description of a model folder, but not its weights."""
    folder = find_model(model)
    description = read_description(folder)
    try:
        direction = description["languages"]["source"], description["languages"]["target"]
        return ModelChoice(name or "-".join(direction), folder, description["system"], direction)
    except (KeyError, TypeError) as error:
        raise UserError(f"{folder / CONFIG_FILE} is damaged; copy the model folder again.") from error
