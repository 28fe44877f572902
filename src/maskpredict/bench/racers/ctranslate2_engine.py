"""CTranslate2, an optimized engine for autoregressive models."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from maskpredict.bench.racers.base import FULL_PRECISION, ComputeSettings, Entry, RacedModel
from maskpredict.bench.racers.ctranslate2_process import CTranslate2Process, ProcessConfig
from maskpredict.errors import UserError


class CTranslate2Racer:
    """A model in CTranslate2, with our tokenizer."""

    def __init__(self, entry: Entry, load: Callable[[], CTranslate2Process], beams: int) -> None:
        self.entry, self.beams = entry, beams
        self._load = load

    def prepare(self, sentences: Sequence[str]) -> None:
        """Start the process with the model."""
        self._engine = self._load()
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate the sentences as one batch."""
        return self._engine.translate(batch, self.beams)


def ctranslate2_racers(
    model: RacedModel,
    compute: ComputeSettings,
    beams: Sequence[int],
    make_folder: Callable[[], Path],
    *,
    rival: bool = False,
) -> Iterator[CTranslate2Racer]:
    """Racers of a model with each beam size in each compute type; `make_folder` exports it in float32 on first use.

    A `rival` is not the model of our own beam search, so its racers have other names.
    """
    stem = "ctranslate2-rival" if rival else "ctranslate2"
    make_folder = cache(make_folder)
    for compute_type in compute.compute_types:
        load = cache(partial(_load, model, make_folder, compute, compute_type))
        for count in beams:
            entry = Entry(
                name=f"{stem}-b{count}-{compute_type}",
                engine="CTranslate2 rival" if rival else "CTranslate2",
                settings=f"b={count}",
                compute_type=compute_type,
                what=f"CTranslate2, {'rival' if rival else 'the same'} model of {model.size}, beam {count}",
                same_as="" if rival else f"ar-b{count}-{FULL_PRECISION if compute_type == 'int8' else compute_type}",
            )
            yield CTranslate2Racer(entry, load, count)


def _load(
    model: RacedModel, make_folder: Callable[[], Path], compute: ComputeSettings, compute_type: str
) -> CTranslate2Process:
    if importlib.util.find_spec("ctranslate2") is None:
        raise UserError("CTranslate2 is not installed; get it with: pip install 'maskpredict[bench]'.")
    import ctranslate2

    device, _, index = compute.device.partition(":")
    if device == "cuda" and not ctranslate2.get_cuda_device_count():
        raise UserError("this CTranslate2 finds no GPU; install one that was built for it.")
    if compute_type not in ctranslate2.get_supported_compute_types(device):
        raise UserError(f"CTranslate2 does not compute in {compute_type} on this {device.upper()}.")
    return CTranslate2Process(
        ProcessConfig(
            model=str(model.path),
            folder=str(make_folder()),
            device=device,
            device_index=int(index or 0),
            compute_type=compute_type,
            threads=compute.threads,
        )
    )
