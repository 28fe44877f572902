"""Building blocks of a run from its config: system, training split, dtype, CUDA graphs; and its model folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from maskpredict.checksums import checksum_of
from maskpredict.corpus.dataset import Dataset, ParallelIds
from maskpredict.errors import UserError
from maskpredict.model.config import preset
from maskpredict.model.folder import WEIGHTS_FILE, ModelFolder, read_description
from maskpredict.model.module_weights import load_weights
from maskpredict.model.training_record import RANDOM, TrainingRecord
from maskpredict.systems import find_system, vocabulary_of
from maskpredict.systems.base import System
from maskpredict.training.config import TrainConfig
from maskpredict.training.initialization import initial_weights


def save_model(
    folder: Path, system: System, weights: dict[str, Tensor], dataset: Dataset, training: TrainingRecord
) -> None:
    """Write a model folder for a system trained on a dataset."""
    special = system.special
    ModelFolder(
        system.name,
        system.config,
        dataset.languages,
        dataset.tokenizers,
        {name: tensor.numpy() for name, tensor in weights.items()},
        {"suppress_tokens": [special.pad, special.bos, special.mask]},
        training=training,
    ).write(folder, overwrite=True)


def start_of(config: TrainConfig) -> str:
    """The initial weights of a run, as `TrainingRecord` names them."""
    if not config.start_from:
        return RANDOM
    folder = Path(config.start_from)
    system = read_description(folder)["system"]
    return f"{system} {checksum_of(folder / WEIGHTS_FILE).rpartition(':')[2][:8]}"


def new_system(config: TrainConfig, dataset: Dataset) -> System:
    """Build the system to train, with random weights or those of `start_from`."""
    torch.manual_seed(config.seed)
    shape = preset(config.preset, config.model)
    if shape.embeddings == "shared" and not dataset.tokenizers.joint:
        raise UserError("the data has separate vocabularies: set model.embeddings to target or separate.")
    system = find_system(config.system)(shape, vocabulary_of(dataset.tokenizers), config.label_smoothing)
    system.options = config.options
    if config.start_from:
        load_weights(system, initial_weights(system, dataset.tokenizers, Path(config.start_from)))
    return system


def training_split(config: TrainConfig, dataset: Dataset) -> ParallelIds:
    """The training pairs, with the corpus weights of the data or of the config."""
    split = dataset.split("train")
    names = {part.name for part in split.corpora}
    if unknown := sorted(config.corpus_weights.keys() - names):
        raise UserError(f"corpus_weights names {unknown[0]!r}; the data has {', '.join(sorted(names))}.")
    weights = config.corpus_weights
    corpora = [replace(part, weight=weights.get(part.name, part.weight)) for part in split.corpora]
    if corpora and not any(part.weight for part in corpora):
        raise UserError("corpus_weights leaves no training pair; give at least one corpus a weight above 0.")
    return replace(split, corpora=corpora)


def compute_dtype(config: TrainConfig, device: torch.device) -> torch.dtype:
    """The dtype of forward and backward passes."""
    if config.precision != "auto":
        dtype: torch.dtype = getattr(torch, config.precision)
        return dtype
    return torch.bfloat16 if device.type == "cuda" and torch.cuda.is_bf16_supported() else torch.float32


def uses_cuda_graph(config: TrainConfig, device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether steps are captured as a CUDA graph, which needs packed batches."""
    able = device.type == "cuda" and dtype == torch.bfloat16
    if config.engine in ("captured", "compiled") and not able:
        raise UserError(f"engine={config.engine} needs a GPU with bfloat16; use engine=eager or auto.")
    return able and config.engine != "eager"
