"""What passes of alignment models cost on a CPU in eight bits, beside a CMLM, with and without a shortlist.

    python benchmarks/alignment_passes.py CMLM SENTENCES results.json

Only time is measured: the alignment models have random weights. `base` is as wide as the CMLM, has its vocabulary and
shortlist, 6 + 2 layers and 2 positions a subword; `compact` is the preset of that name, with a vocabulary of 8,000
learned from SENTENCES. Its first 64 lines are translated one by one on one thread, all racers in turns. What is
reported is the time that the thread computed, which other programs on the machine change little: the median over rounds
of the mean over sentences. The last column says which operators of the graphs take that time.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import onnxruntime

from maskpredict.bench.machine import describe_machine
from maskpredict.corpus.reading import Pair, read_lines
from maskpredict.corpus.vocabulary import VocabularyConfig, learn_tokenizers
from maskpredict.engines.onnxruntime import program
from maskpredict.engines.onnxruntime.engine import OnnxruntimeEngine
from maskpredict.languages import Languages
from maskpredict.model.config import ModelConfig, preset
from maskpredict.model.folder import ModelFolder
from maskpredict.model.parameter_shapes import parameter_shapes
from maskpredict.runtime.find_model import find_model
from maskpredict.runtime.translator import Translator
from maskpredict.tokenizer import Tokenizers

SENTENCES, LEARNED_FROM, ROUNDS = 64, 20_000, 5
BASE = {"encoder_layers": 6, "decoder_layers": 2, "norm": "pre", "ctc_positions": 2}
PASSES = (1, 2, 4)
LARGEST = 6
"""Operators to name."""


@dataclass(frozen=True)
class Racer:
    """A model with settings."""

    name: str
    model: ModelFolder
    settings: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What a racer took for one sentence."""

    name: str
    milliseconds: float
    """Of computing, the median over rounds."""
    subwords: float
    """Of a source, its end mark included."""
    shares: dict[str, float]
    """Of the time that operators take, by onnxruntime's profiler."""


def main(model: str, sentences: str, results: str) -> None:
    """Measure; write and print the results."""
    logging.disable(logging.WARNING)  # models with random weights fill all their positions
    lines = list(islice(read_lines(Path(sentences)), LEARNED_FROM))
    racers, texts = racers_of(ModelFolder.read(find_model(model)), lines), lines[:SENTENCES]
    translators = [open_model(racer) for racer in racers]
    rounds: list[list[float]] = [[] for _ in racers]
    for number in range(1 + ROUNDS):
        for racer, translator, times in zip(racers, translators, rounds, strict=True):
            took = computing(lambda racer=racer, translator=translator: run(translator, texts, racer))  # type: ignore[misc]
            if number:  # the first round warms up
                times.append(1000 * took / len(texts))
    found = [
        Result(racer.name, round(median(times), 3), round(length(racer.model, texts), 1), profile(racer, texts))
        for racer, times in zip(racers, rounds, strict=True)
    ]
    print(table(found))
    machine = asdict(describe_machine("cpu", 1))
    content = {"machine": machine, "sentences": len(texts), "results": [asdict(one) for one in found]}
    Path(results).write_text(json.dumps(content, indent=1) + "\n")


def racers_of(cmlm: ModelFolder, lines: Sequence[str]) -> list[Racer]:
    """The CMLM in four passes, and alignment models of two sizes."""
    base = random_model(preset("base", BASE), cmlm.tokenizers)
    assert cmlm.shortlist is not None
    frequent = np.union1d(cmlm.shortlist.frequent_F, [cmlm.tokenizers.target.special.mask])  # with the blank
    base = replace(base, shortlist=replace(cmlm.shortlist, frequent_F=frequent))
    pieces = learn_tokenizers([Pair(line, line) for line in lines], VocabularyConfig(size=8_000, byte_fallback=True))
    compact = random_model(preset("compact", {}), pieces)
    four = {"iterations": 4, "length_candidates": 1, "threshold": None}
    racers = [Racer("CMLM, T=4, l=1", cmlm, {**four, "shortlist": False})]
    racers += [
        Racer(f"{name}, T={t}", one, {"iterations": t})
        for name, one in (("base", base), ("compact", compact))
        for t in PASSES
    ]
    racers.append(Racer("CMLM, T=4, l=1, shortlist", cmlm, {**four, "shortlist": True}))
    racers += [Racer(f"base, T={t}, shortlist", base, {"iterations": t, "shortlist": True}) for t in PASSES]
    return racers


def random_model(config: ModelConfig, tokenizers: Tokenizers) -> ModelFolder:
    """An untrained alignment model."""
    chance = np.random.default_rng(1)
    shapes = parameter_shapes("alignment", config, tokenizers.source.vocab_size, tokenizers.target.vocab_size)
    assert shapes is not None
    weights = {
        name: np.float32(0.05) * chance.standard_normal(shape, np.float32) + np.float32(name.endswith("norm.weight"))
        for name, shape in shapes.items()
    }
    special = tokenizers.target.special
    generation = {"suppress_tokens": [special.pad, special.bos, special.mask]}
    return ModelFolder("alignment", config, Languages("de", "en"), tokenizers, weights, generation)


def open_model(racer: Racer) -> Translator:
    """The model in eight bits on one thread."""
    return Translator(racer.model, device="cpu", compute_type="int8", engine="onnxruntime", intra_threads=1)


def run(translator: Translator, texts: Sequence[str], racer: Racer) -> None:
    """Translate one by one."""
    for text in texts:
        translator.translate([text], raw=True, **racer.settings)


def computing(work: Callable[[], None]) -> float:
    """Seconds that this process computed."""
    started = time.process_time()
    work()
    return time.process_time() - started


def length(model: ModelFolder, texts: Sequence[str]) -> float:
    """Mean number of subwords of a source."""
    return float(np.mean([1 + len(model.tokenizers.source.encode(text)) for text in texts]))


def profile(racer: Racer, texts: Sequence[str]) -> dict[str, float]:
    """Each operator's share of their time; the product with the vocabulary apart."""
    with tempfile.TemporaryDirectory() as folder:
        plain_options = onnxruntime.SessionOptions

        def options() -> onnxruntime.SessionOptions:
            own = plain_options()
            own.enable_profiling, own.profile_file_prefix = True, f"{folder}/profile"
            return own

        with patch.object(program, "SessionOptions", options):
            translator = open_model(racer)
            run(translator, texts, racer)
        assert isinstance(translator.engine, OnnxruntimeEngine)
        engine = translator.engine
        programs = (engine.source_program, engine.decoder_program, engine.shortlist_program)
        files = [session.end_profiling() for one in programs for session in one.sessions.values()]
        events = [event for file in files for event in json.loads(Path(file).read_text())]
    vocabulary = racer.model.tokenizers.target.vocab_size
    took: dict[str, float] = defaultdict(float)
    for event in events:
        if event["cat"] == "Node" and event["name"].endswith("kernel_time"):
            name, (shape,) = event["args"]["op_name"], event["args"]["output_type_shape"][0].values()
            of_vocabulary = name == "DynamicQuantizeMatMul" and shape[-1] == vocabulary
            took["vocabulary" if of_vocabulary else name] += event["dur"]
    largest = sorted(took.items(), key=lambda item: -item[1])
    return {name: round(time / sum(took.values()), 3) for name, time in largest[:LARGEST]}


def table(found: Sequence[Result]) -> str:
    """As Markdown, with the racers' ratio to the first."""
    lines = ["| racer | ms a sentence | ratio | largest shares |", "|---|---:|---:|---|"]
    for one in found:
        parts = ", ".join(f"{name} {share:.0%}" for name, share in one.shares.items())
        lines.append(
            f"| {one.name} | {one.milliseconds:.1f} | {one.milliseconds / found[0].milliseconds:.2f} | {parts} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
