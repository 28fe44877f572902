"""Our own engine: mask-predict, over alignments too, single-pass models and beam search."""

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
    """A `Translator` with fixed decoding settings and its default batching."""

    def __init__(self, entry: Entry, load: Callable[[], Translator], settings: Mapping[str, Any]) -> None:
        self.entry, self.settings = entry, settings
        self._load = load

    def prepare(self, sentences: Sequence[str]) -> None:
        """Load the model and check the settings."""
        self._translator = self._load()
        self.translate(sentences[:1])

    def translate(self, batch: Sequence[str]) -> list[str]:
        """Translate with the `Translator`."""
        return [translation.text for translation in self._translator.translate(batch, raw=True, **self.settings)]


def mask_predict_racers(
    model: RacedModel,
    compute: ComputeSettings,
    passes: Sequence[PassesAndCandidates],
    speeds: Sequence[str],
    *,
    shallow: bool = False,
) -> Iterator[OurRacer]:
    """Racers of a CMLM with each of `passes` in each compute type, and with presets in the main compute type.

    With `shallow`, their names differ from those of the other CMLM.
    """
    engine = "mask-predict shallow" if shallow else "mask-predict"
    stem = engine.replace(" ", "-")
    what = f"our Translator, CMLM of {model.size}"
    loaders = {compute_type: _loader(model, compute, compute_type) for compute_type in compute.compute_types}
    for compute_type in compute.compute_types:
        for setting in passes:
            t, candidates = setting.iterations, setting.length_candidates
            entry = Entry(
                name=f"{stem}-t{t}-l{candidates}-{compute_type}",
                engine=engine,
                settings=f"T={t} l={candidates}",
                compute_type=compute_type,
                what=f"{what}, T={t} passes, l={candidates} length candidates",
                same_as="" if compute_type == FULL_PRECISION else f"{stem}-t{t}-l{candidates}-{FULL_PRECISION}",
            )
            yield OurRacer(entry, loaders[compute_type], {"iterations": t, "length_candidates": candidates})
    for speed in speeds:
        name = f"{stem}-{speed}-{compute.main_type}"
        entry = Entry(name, engine, speed, compute.main_type, f"{what}, preset {speed}")
        yield OurRacer(entry, loaders[compute.main_type], {"speed": speed})


def alignment_racers(model: RacedModel, compute: ComputeSettings, passes: Sequence[int]) -> Iterator[OurRacer]:
    """Racers of an alignment model with each number of passes in each compute type."""
    for compute_type in compute.compute_types:
        load = _loader(model, compute, compute_type)
        for t in passes:
            entry = Entry(
                name=f"alignment-t{t}-{compute_type}",
                engine="alignment",
                settings=f"T={t}",
                compute_type=compute_type,
                what=f"our Translator, alignment model of {model.size}, T={t} passes",
                same_as="" if compute_type == FULL_PRECISION else f"alignment-t{t}-{FULL_PRECISION}",
            )
            yield OurRacer(entry, load, {"iterations": t})


def one_pass_racers(model: RacedModel, compute: ComputeSettings) -> Iterator[OurRacer]:
    """Racers of a single-pass model in each compute type."""
    system = model.contents.system
    for compute_type in compute.compute_types:
        entry = Entry(
            name=f"{system}-{compute_type}",
            engine="one pass",
            settings=system,
            compute_type=compute_type,
            what=f"our Translator, {system} model of {model.size}, one pass",
            same_as="" if compute_type == FULL_PRECISION else f"{system}-{FULL_PRECISION}",
        )
        yield OurRacer(entry, _loader(model, compute, compute_type), {})


def beam_search_racers(model: RacedModel, compute: ComputeSettings, beams: Sequence[int]) -> Iterator[OurRacer]:
    """Racers of an autoregressive model with each beam size in each compute type."""
    for compute_type in compute.compute_types:
        load = _loader(model, compute, compute_type)
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
            yield OurRacer(entry, load, settings)


def _loader(model: RacedModel, compute: ComputeSettings, compute_type: Any) -> Callable[[], Translator]:
    """Function that loads the model on the first call; racers that share it share the loaded model."""
    return cache(
        partial(
            Translator,
            model.path,
            device=compute.device,
            compute_type=compute_type,
            engine=compute.engine,
            intra_threads=compute.threads,
        )
    )
