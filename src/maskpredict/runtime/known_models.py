"""The models on this machine: of the package, of a checkout, downloaded from the hub, and in folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rich.table import Table

from maskpredict.errors import UserError
from maskpredict.model.card import scores_of
from maskpredict.model.folder import CARD_FILE, WEIGHTS_FILE, is_model_folder, read_description
from maskpredict.runtime import find_model
from maskpredict.runtime.hub import downloaded_models


class Place(StrEnum):
    """Location of a model."""

    package = "package"
    checkout = "checkout"
    hub = "hub"
    folder = "folder"


@dataclass(frozen=True)
class KnownModel:
    """Facts about a model folder, read without its weights."""

    name: str
    """What `--model` takes."""
    place: Place
    folder: Path
    size: int
    """Bytes of all its files."""
    system: str = ""
    languages: tuple[str, str] = ("", "")
    """Codes of the source and the target language."""
    bleu: dict[str, float] = field(default_factory=dict)
    """BLEU by test set, from the model card."""
    commit: str = ""
    """Commit of a model of the hub."""
    problem: str = ""
    """One sentence on why it cannot be used; empty if its description says nothing of the kind."""


def known_models(folders: Sequence[Path] = ()) -> list[KnownModel]:
    """Describe the models known by name, those of the cache, and the model and run folders in `folders`."""
    models = [_describe(name, Place.package, find_model.SHIPPED / name) for name in find_model.shipped_models()]
    models += [_describe(name, Place.checkout, find_model.CHECKOUT / name) for name in find_model.checkout_models()]
    models += [_describe(name.reference, Place.hub, path, name.commit) for name, path in downloaded_models()]
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}; name one with model or run folders in it.")
        models += [_describe(str(path), Place.folder, model) for path, model in _models_in(folder)]
    return models


def render(models: Sequence[KnownModel]) -> Table:
    """Return the models as a table."""
    table = Table()
    for title in ("model", "from", "to", "system", "MB", "from the", "BLEU"):
        table.add_column(title, justify="right" if title == "MB" else "left", overflow="fold")
    for model in models:
        scores = ", ".join(f"{test_set} {bleu:.1f}" for test_set, bleu in model.bleu.items())
        table.add_row(model.name, *model.languages, model.system, f"{model.size / 1e6:.0f}", model.place, scores)
    return table


def _models_in(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Path and model folder of the model and run folders among a folder and those in it."""
    for path in (folder, *sorted(folder.iterdir())):
        for model in (path, path / "model"):
            if is_model_folder(model) and (model / WEIGHTS_FILE).is_file():
                yield path, model
                break


def _describe(name: str, place: Place, folder: Path, commit: str = "") -> KnownModel:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    try:
        description = read_description(folder)
        languages = description["languages"]["source"], description["languages"]["target"]
        card = folder / CARD_FILE
        bleu = scores_of(card.read_text(encoding="utf-8")) if card.is_file() else {}
        return KnownModel(name, place, folder, size, description["system"], languages, bleu, commit)
    except UserError as error:
        return KnownModel(name, place, folder, size, commit=commit, problem=str(error))
    except (KeyError, TypeError):
        problem = f"{folder / 'config.json'} is damaged; copy the model folder again."
        return KnownModel(name, place, folder, size, commit=commit, problem=problem)
