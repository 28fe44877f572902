"""The model folder: everything a trained model needs to translate, as data that runs no code when it is read.

config.json         architecture, system, languages, vocabulary sizes, training, checksum of the weights, format version
model.safetensors   weights, in float32, half precision or eight bits (see stored_weights.py)
tokenizer.model     or source.model and target.model; .dict.json instead of .model in imported models
generation.json     default decoding settings
shortlist.safetensors  likely target subwords of each source subword (see shortlist.py); optional
README.md           model card: data, scores with signatures, licence
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maskpredict.checksums import checksum_of
from maskpredict.config import from_dict, to_dict
from maskpredict.errors import UserError
from maskpredict.json_file import read_json
from maskpredict.languages import Languages
from maskpredict.model.checksum import CHECKSUM_KEY, verify
from maskpredict.model.config import ModelConfig
from maskpredict.model.folder_files import check_files
from maskpredict.model.parameter_shapes import KNOWN_SYSTEMS, check_depth, check_weights, parameter_shapes
from maskpredict.model.safetensors_file import Precision
from maskpredict.model.shortlist import SHORTLIST_FILE, Shortlist
from maskpredict.model.stored_weights import StoredWeights, Weights, parameter_count, write_weights
from maskpredict.model.training_record import TrainingRecord
from maskpredict.new_folder import new_folder
from maskpredict.tokenizer import Tokenizers

FORMAT_VERSION = 1
CONFIG_FILE, WEIGHTS_FILE, GENERATION_FILE, CARD_FILE = (
    "config.json",
    "model.safetensors",
    "generation.json",
    "README.md",
)


@dataclass(frozen=True)
class ModelFolder:
    """The content of a model folder, weights in float32."""

    system: str
    """Name of the system in `maskpredict.systems`."""
    config: ModelConfig
    languages: Languages
    tokenizers: Tokenizers
    weights: Weights
    generation: Mapping[str, Any] = field(default_factory=dict)
    """Default decoding settings."""
    card: str = ""
    """Text of the model card."""
    training: TrainingRecord | None = None
    """How the model was trained; None if that is not known."""
    shortlist: Shortlist | None = None
    """Likely target subwords of each source subword; None if nobody has learned them."""

    def write(self, folder: Path, *, precision: Precision = "float32", overwrite: bool = False) -> None:
        """Write the folder; if that fails, an existing folder is untouched."""
        with new_folder(folder, overwrite=overwrite, marker=CONFIG_FILE) as partial:
            self.tokenizers.save(partial)
            write_weights(self.weights, partial / WEIGHTS_FILE, precision)
            checksum = checksum_of(partial / WEIGHTS_FILE)
            _write_json(partial / CONFIG_FILE, {**self._description(), CHECKSUM_KEY: checksum})
            _write_json(partial / GENERATION_FILE, dict(self.generation))
            if self.shortlist is not None:
                (partial / SHORTLIST_FILE).write_bytes(self.shortlist.to_bytes(self.tokenizers.target.vocab_size))
            (partial / CARD_FILE).write_text(self.card or self._plain_card(), encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "system": self.system,
            "languages": to_dict(self.languages),
            "vocab_size": {
                "source": self.tokenizers.source.vocab_size,
                "target": self.tokenizers.target.vocab_size,
            },
            "architecture": to_dict(self.config),
            **({} if self.training is None else {"training": to_dict(self.training)}),
        }

    def check_weights(self) -> None:
        """Refuse weights whose names or shapes are not those of the config."""
        check_depth(self.weights, self.config)
        vocabularies = (self.tokenizers.source.vocab_size, self.tokenizers.target.vocab_size)
        expected = parameter_shapes(self.system, self.config, *vocabularies)
        check_weights(self.weights, expected, complete=self.system in KNOWN_SYSTEMS)

    def _plain_card(self) -> str:
        size = parameter_count(self.weights) / 1e6
        pair = f"{self.languages.source} to {self.languages.target}"
        return f"# {pair}\n\nA {self.system} translation model with {size:.1f} M parameters.\n"

    @classmethod
    def read(cls, folder: Path) -> ModelFolder:
        """Read a model folder, or raise a `UserError` that says why it cannot be used."""
        description = read_description(folder)
        try:
            config = from_dict(ModelConfig, description["architecture"])
            languages = Languages(**description["languages"])
            languages.check()
            system = str(description["system"])
            training = description.get("training")
            record = None if training is None else TrainingRecord(**training)
        except (KeyError, TypeError) as error:
            raise UserError(f"{folder / CONFIG_FILE} is damaged: {error} is missing or malformed.") from error
        weights = StoredWeights(folder / WEIGHTS_FILE)
        generation, tokenizers = folder / GENERATION_FILE, Tokenizers.load(folder)
        contents = cls(
            system,
            config,
            languages,
            tokenizers,
            weights,
            _read_json(generation) if generation.exists() else {},
            _read_card(folder / CARD_FILE),
            record,
            _read_shortlist(folder / SHORTLIST_FILE, tokenizers),
        )
        contents.check_weights()  # takes milliseconds, so it comes before all of the weights are read
        verify(folder / WEIGHTS_FILE, description.get(CHECKSUM_KEY))
        weights.check_numbers()
        return contents


def is_model_folder(folder: Path) -> bool:
    """Return True if the folder has a model's config file."""
    return (folder / CONFIG_FILE).is_file()


def read_description(folder: Path) -> dict[str, Any]:
    """Return the content of a model folder's config.json, or raise a `UserError` if it is no model folder of ours."""
    if not folder.is_dir():
        raise UserError(f"there is no model folder {folder}; check the path or train a model first.")
    if not is_model_folder(folder):
        raise UserError(f"{folder} has no {CONFIG_FILE}, so it is not a model folder; check the path.")
    check_files(folder)
    description = _read_json(folder / CONFIG_FILE)
    version = description.get("format_version")
    if not isinstance(version, int):
        raise UserError(
            f"{folder / CONFIG_FILE} has no format_version, so it is not a maskpredict model; check the path."
        )
    if version > FORMAT_VERSION:
        raise UserError(
            f"{folder} has model format {version}, newer than the {FORMAT_VERSION} this version reads; "
            "upgrade maskpredict."
        )
    return description


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}); copy the model folder again.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: it is not a JSON object; copy the model folder again.")
    return content


def _read_card(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _read_shortlist(path: Path, tokenizers: Tokenizers) -> Shortlist | None:
    if not path.exists():
        return None
    return Shortlist.read(path, tokenizers.source.vocab_size, tokenizers.target.vocab_size)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
