"""Checkpoint averaging: the mean of the weights of several checkpoints or models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from maskpredict.config import load_config
from maskpredict.corpus.dataset import Dataset
from maskpredict.errors import UserError
from maskpredict.model.config import preset
from maskpredict.model.folder import ModelFolder, is_model_folder
from maskpredict.training.checkpoint import STATE_FILE, average_weights, checkpoints
from maskpredict.training.config import TrainConfig
from maskpredict.training.run_folder import CONFIG_FILE, RunFolder


@dataclass(frozen=True)
class AverageReport:
    """The checkpoints or models that were averaged, and the model folder that was written."""

    out: Path
    averaged: tuple[Path, ...]


def average(sources: Sequence[Path], out: Path, *, overwrite: bool = False) -> AverageReport:
    """Write a model folder with the mean of the sources' weights.

    A source is a run folder (its best checkpoints), a folder of checkpoints, a single checkpoint or a model folder. One
    that several sources contain counts once.
    """
    named = [folder for source in sources for folder in _folders(source)]
    folders = list({_identity(folder): folder for folder in reversed(named)}.values())[::-1]
    models = [_without_weights(folder) for folder in folders]
    for folder, model in zip(folders, models, strict=True):
        if _kind(model) != _kind(models[0]):
            raise UserError(f"{folder} holds another kind of model than {folders[0]}; average like with like.")
    weights = {name: tensor.numpy() for name, tensor in average_weights(folders).items()}
    replace(models[0], weights=weights).write(out, overwrite=overwrite)
    return AverageReport(out, tuple(folders))


def _folders(source: Path) -> list[Path]:
    """Resolve a path given by the user to checkpoints or a model folder."""
    if is_model_folder(source) or (source / STATE_FILE).is_file():
        return [source]
    best = RunFolder(_run_config(source)).best if (source / CONFIG_FILE).is_file() else source
    folders = checkpoints(best)
    if not folders:
        raise UserError(f"{source} has no checkpoints to average; name a run, checkpoints or model folders.")
    return folders


def _identity(folder: Path) -> tuple[Path, str]:
    """Equal for two copies of one checkpoint: a run may keep an update among its best and as its newest."""
    resolved = folder.resolve()
    if is_model_folder(folder):
        return resolved, ""
    return resolved.parent.parent, resolved.name


def _without_weights(folder: Path) -> ModelFolder:
    """The model folder of a model or checkpoint, without weights; that of a checkpoint comes from its run."""
    if is_model_folder(folder):
        # The model card and the record of the training speak of that model alone.
        return replace(ModelFolder.read(folder), weights={}, card="", training=None)
    run = folder.resolve().parent.parent
    if not (run / CONFIG_FILE).is_file():
        raise UserError(f"the checkpoint {folder} does not lie in its run folder; put it back into it.")
    config = _run_config(run)
    dataset = Dataset(Path(config.data))
    special = dataset.tokenizers.target.special
    return ModelFolder(
        config.system,
        preset(config.preset, config.model),
        dataset.languages,
        dataset.tokenizers,
        {},
        {"suppress_tokens": [special.pad, special.bos, special.mask]},
    )


def _run_config(run: Path) -> TrainConfig:
    return replace(load_config(TrainConfig, run / CONFIG_FILE), run=str(run))  # it may have been moved


def _kind(model: ModelFolder) -> tuple[object, ...]:
    """System, shape, languages and vocabulary, which models must share to be averaged."""
    sides = (model.tokenizers.source, model.tokenizers.target)
    vocabularies = [side.pieces(range(side.vocab_size)) for side in sides]
    return model.system, replace(model.config, dropout=0.0), model.languages, vocabularies
