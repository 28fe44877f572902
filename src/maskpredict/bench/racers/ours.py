"""Our own engines: mask-predict, models of a single pass, and beam search with the same care."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from maskpredict.bench.config import PassesAndCandidates
from maskpredict.bench.racers.base import (
    FULL_PRECISION,
    LENGTH_PENALTY,
    MAX_LENGTH_RATIO,
    ComputeSettings,
    Entry,
    RacedModel,
)
from maskpredict.runtime.translator import Translator


class OurRacer:
    """A `Translator` with fixed settings; batches are divided as it does by default."""

    def __init__(self, entry: Entry, open_translator: Callable[[], Translator], settings: Mapping[str, Any]) -> None:
        self.entry, self.settings = entry, settings
        self._open = open_translator

    def prepare(self, sentences: Sequence[str]) -> None:
        """Load the model; settings and presets that it does not have are noticed now."""
        self._translator = self._open()
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate with our Translator."""
        return [found.text for found in self._translator.translate(batch, **self.settings)]


def mask_predict_racers(
    model: RacedModel,
    track: ComputeSettings,
    passes: Sequence[PassesAndCandidates],
    speeds: Sequence[str],
    *,
    shallow: bool = False,
) -> Iterator[OurRacer]:
    """A CMLM with so many passes and length candidates in each compute type, and with presets in the main one.

    A `shallow` one races beside another and goes by a name of its own.
    """
    engine = "mask-predict shallow" if shallow else "mask-predict"
    stem = engine.replace(" ", "-")
    what = f"our Translator, CMLM of {model.size}"
    opened = {compute_type: _opener(model, track, compute_type) for compute_type in track.compute_types}
    for compute_type in track.compute_types:
        for own in passes:
            t, candidates = own.iterations, own.length_candidates
            entry = Entry(
                name=f"{stem}-t{t}-l{candidates}-{compute_type}",
                engine=engine,
                settings=f"T={t} l={candidates}",
                compute_type=compute_type,
                what=f"{what}, T={t} passes, l={candidates} length candidates",
                same_as="" if compute_type == FULL_PRECISION else f"{stem}-t{t}-l{candidates}-{FULL_PRECISION}",
            )
            yield OurRacer(entry, opened[compute_type], {"iterations": t, "length_candidates": candidates})
    for speed in speeds:
        name = f"{stem}-{speed}-{track.main_type}"
        entry = Entry(name, engine, speed, track.main_type, f"{what}, preset {speed}")
        yield OurRacer(entry, opened[track.main_type], {"speed": speed})


def one_pass_racers(model: RacedModel, track: ComputeSettings) -> Iterator[OurRacer]:
    """A model that translates in a single pass, in each compute type."""
    system = model.contents.system
    for compute_type in track.compute_types:
        entry = Entry(
            name=f"{system}-{compute_type}",
            engine="one pass",
            settings=system,
            compute_type=compute_type,
            what=f"our Translator, {system} model of {model.size}, one pass",
            same_as="" if compute_type == FULL_PRECISION else f"{system}-{FULL_PRECISION}",
        )
        yield OurRacer(entry, _opener(model, track, compute_type), {})


def beam_search_racers(model: RacedModel, track: ComputeSettings, beams: Sequence[int]) -> Iterator[OurRacer]:
    """An autoregressive model with each beam size in each compute type."""
    for compute_type in track.compute_types:
        opened = _opener(model, track, compute_type)
        for count in beams:
            entry = Entry(
                name=f"ar-b{count}-{compute_type}",
                engine="autoregressive",
                settings=f"b={count}",
                compute_type=compute_type,
                what=f"our Translator, autoregressive model of {model.size}, beam {count}",
                same_as="" if compute_type == FULL_PRECISION else f"ar-b{count}-{FULL_PRECISION}",
            )
            settings = {"beam_size": count, "length_penalty": LENGTH_PENALTY, "max_length_ratio": MAX_LENGTH_RATIO}
            yield OurRacer(entry, opened, settings)


def _opener(model: RacedModel, track: ComputeSettings, compute_type: Any) -> Callable[[], Translator]:
    """Loads the model on the first call; racers that share it share the memory, too."""
    return cache(
        partial(Translator, model.path, device=track.device, compute_type=compute_type, intra_threads=track.threads)
    )
