"""Our own engine: mask-predict, over alignments too, single-pass models and beam search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Decoding:
    """Decoding settings of racers, and what they are called."""

    stem: str
    """Beginning of the racers' names."""
    label: str
    """Short form for tables."""
    description: str
    settings: Mapping[str, Any]


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
    loaders = _loaders(model, compute)
    decodings = [
        Decoding(
            f"{stem}-t{setting.iterations}-l{setting.length_candidates}",
            f"T={setting.iterations} l={setting.length_candidates}",
            f"T={setting.iterations} passes, l={setting.length_candidates} length candidates",
            {"iterations": setting.iterations, "length_candidates": setting.length_candidates},
        )
        for setting in passes
    ]
    what = f"our Translator, CMLM of {model.size}"
    yield from _racers(engine, what, decodings, loaders)
    for speed in speeds:
        name = f"{stem}-{speed}-{compute.main_type}"
        entry = Entry(name, engine, speed, compute.main_type, f"{what}, preset {speed}")
        yield OurRacer(entry, loaders[compute.main_type], {"speed": speed})


def alignment_racers(model: RacedModel, compute: ComputeSettings, passes: Sequence[int]) -> Iterator[OurRacer]:
    """Racers of an alignment model with each number of passes in each compute type."""
    decodings = [Decoding(f"alignment-t{t}", f"T={t}", f"T={t} passes", {"iterations": t}) for t in passes]
    what = f"our Translator, alignment model of {model.size}"
    return _racers("alignment", what, decodings, _loaders(model, compute))


def one_pass_racers(model: RacedModel, compute: ComputeSettings) -> Iterator[OurRacer]:
    """Racers of a single-pass model in each compute type."""
    system = model.contents.system
    what = f"our Translator, {system} model of {model.size}"
    return _racers("one pass", what, [Decoding(system, system, "one pass", {})], _loaders(model, compute))


def beam_search_racers(model: RacedModel, compute: ComputeSettings, beams: Sequence[int]) -> Iterator[OurRacer]:
    """Racers of an autoregressive model with each beam size in each compute type."""
    limits = {"length_penalty": LENGTH_PENALTY, "max_length_ratio": MAX_LENGTH_RATIO}
    decodings = [
        Decoding(f"ar-b{count}", f"b={count}", f"beam {count}", {"beam_size": count, **limits}) for count in beams
    ]
    what = f"our Translator, autoregressive model of {model.size}"
    return _racers("autoregressive", what, decodings, _loaders(model, compute))


def _racers(
    engine: str, what: str, decodings: Sequence[Decoding], loaders: Mapping[str, Callable[[], Translator]]
) -> Iterator[OurRacer]:
    """Racers of a model in each compute type with each of the decoding settings."""
    for compute_type, load in loaders.items():
        for decoding in decodings:
            entry = Entry(
                name=f"{decoding.stem}-{compute_type}",
                engine=engine,
                settings=decoding.label,
                compute_type=compute_type,
                what=f"{what}, {decoding.description}",
                same_as="" if compute_type == FULL_PRECISION else f"{decoding.stem}-{FULL_PRECISION}",
            )
            yield OurRacer(entry, load, decoding.settings)


def _loaders(model: RacedModel, compute: ComputeSettings) -> dict[str, Callable[[], Translator]]:
    """Functions by compute type that load the model on the first call; racers that share one share the model."""
    return {compute_type: _loader(model, compute, compute_type) for compute_type in compute.compute_types}


def _loader(model: RacedModel, compute: ComputeSettings, compute_type: Any) -> Callable[[], Translator]:
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
