"""CTranslate2, the fastest engine that one would otherwise run an autoregressive model with."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from maskpredict.bench.racers.base import FULL_PRECISION, ComputeSettings, Entry, RacedModel
from maskpredict.bench.racers.ctranslate2_process import CTranslate2Process, ProcessConfig
from maskpredict.errors import UserError


class CTranslate2Racer:
    """A model in CTranslate2's format, tokenized by us."""

    def __init__(self, entry: Entry, open_engine: Callable[[], CTranslate2Process], beams: int) -> None:
        self.entry, self.beams = entry, beams
        self._open = open_engine

    def prepare(self, sentences: Sequence[str]) -> None:
        """Load the model."""
        self._engine = self._open()
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate all at once."""
        return self._engine.translate(batch, self.beams)


def ctranslate2_racers(
    model: RacedModel,
    track: ComputeSettings,
    beams: Sequence[int],
    make_folder: Callable[[], Path],
    *,
    rival: bool = False,
) -> Iterator[CTranslate2Racer]:
    """A model with each beam size in each compute type; `make_folder` exports it, in float32, when it is needed.

    A `rival` is not the model that our own beam search runs, and goes by another name.
    """
    stem = "ctranslate2-rival" if rival else "ctranslate2"
    make_folder = cache(make_folder)
    for compute_type in track.compute_types:
        opened = cache(partial(_open, model, make_folder, track, compute_type))
        for count in beams:
            entry = Entry(
                name=f"{stem}-b{count}-{compute_type}",
                engine="CTranslate2 rival" if rival else "CTranslate2",
                settings=f"b={count}",
                compute_type=compute_type,
                what=f"CTranslate2, {'rival' if rival else 'the same'} model of {model.size}, beam {count}",
                same_as="" if rival else f"ar-b{count}-{FULL_PRECISION if compute_type == 'int8' else compute_type}",
            )
            yield CTranslate2Racer(entry, opened, count)


def _open(
    model: RacedModel, make_folder: Callable[[], Path], track: ComputeSettings, compute_type: str
) -> CTranslate2Process:
    if importlib.util.find_spec("ctranslate2") is None:
        raise UserError("CTranslate2 is not installed; get it with: pip install 'maskpredict[bench]'.")
    import ctranslate2

    device, _, index = track.device.partition(":")
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
            threads=track.threads,
        )
    )
