"""The insertion model: its loss, what a slot is, and how a target grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from maskpredict import Translator
from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import InsertionSettings
from maskpredict.engines.torch.loading import load_system
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, Tokens, pad
from maskpredict.model.folder import ModelFolder
from maskpredict.systems.base import System
from maskpredict.systems.insertion import Insertion, InsertionOptions, OrderConfig, random_canvas

CPU = torch.device("cpu")
EOS, SUPPRESSED = 2, (0, 1, 4)
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2]]
TARGETS = [[6, 7, 2], [8, 9, 10, 11, 5, 19, 18, 2], [2]]


@pytest.fixture
def model(make_system: Callable[..., System]) -> Insertion:
    system = make_system("insertion")
    assert isinstance(system, Insertion)
    return system


@pytest.fixture
def decoder(model: Insertion, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def slots_of_one(model: Insertion, source: Sequence[int], canvas: Sequence[int]) -> Tensor:
    """Logits [T, V] of every token for the slot in front of each position of a canvas, for one pair alone."""
    tokens, target = pad([source], 0, CPU), pad([canvas], 0, CPU)
    transformer = model.transformer
    memory = transformer.memory(transformer.encode(tokens.ids, tokens.layout))
    hidden = transformer.decode(target.ids, target.layout, memory, tokens.layout, causal=False)[0, : len(canvas)]
    borders = torch.cat([torch.zeros_like(hidden[:1]), hidden])
    sides = torch.cat([borders[:-1], borders[1:]], 1)
    return transformer.output(hidden + model.slot(sides))


def loss_of_one(model: Insertion, source: list[int], target: list[int], kept: list[bool]) -> tuple[float, float]:
    """Smoothed and plain loss in the words of Stern et al."""
    places = [place for place, keep in enumerate(kept) if keep]
    logits_TV = slots_of_one(model, source, [target[place] for place in places])
    log_probs_TV = logits_TV.log_softmax(-1)
    temperature = model.options.order.temperature
    plain = uniform = 0.0
    for slot, (left, right) in enumerate(zip([-1, *places], places, strict=False)):
        span = range(left + 1, right)
        uniform -= float(log_probs_TV[slot].mean())
        if not span:
            plain -= float(log_probs_TV[slot, EOS])
            continue
        middle = (span[0] + span[-1]) / 2
        weights = [1.0 if temperature is None else math.exp(-abs(place - middle) / temperature) for place in span]
        for place, weight in zip(span, weights, strict=True):
            plain -= weight / sum(weights) * float(log_probs_TV[slot, target[place]])
    return (0.9 * plain + 0.1 * uniform) / len(places), plain / len(places)


@pytest.mark.parametrize("temperature", [1.0, 0.3, None])
@pytest.mark.parametrize("packed", [False, True])
@torch.no_grad()
def test_the_loss_is_the_weighted_one_of_the_paper(
    model: Insertion, pack: Callable[..., Tokens], temperature: float | None, packed: bool
) -> None:
    model.options = InsertionOptions(OrderConfig(temperature))
    source, target = (
        (pack(SOURCES, [3, 0]), pack(TARGETS, [5, 0])) if packed else (pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU))
    )
    for seed in range(6):
        torch.manual_seed(seed)
        kept = random_canvas(target.layout)
        torch.manual_seed(seed)
        loss = model.loss(Batch(source, target))
        rows = [target.layout.rows == row for row in range(len(TARGETS))]
        expected = [
            loss_of_one(model, *pair, kept[row & target.layout.valid].tolist())
            for pair, row in zip(zip(SOURCES, TARGETS, strict=True), rows, strict=True)
        ]
        assert float(loss.total) == pytest.approx(sum(smooth for smooth, _ in expected), abs=1e-4)
        assert float(loss.parts["word"]) == pytest.approx(sum(plain for _, plain in expected), abs=1e-4)
        assert int(loss.count) == len(TARGETS)


def test_every_size_of_canvas_is_as_likely_and_the_end_mark_is_always_there() -> None:
    torch.manual_seed(1)
    target = pad([[5, 6, 7, 8, 2]] * 20_000, 0, CPU)
    kept = random_canvas(target.layout)
    assert bool(kept[:, 4].all())
    assert not kept[:, 5:].any()
    shares = torch.bincount(kept.sum(1), minlength=6)[1:] / 20_000
    assert shares.tolist() == pytest.approx([0.2] * 5, abs=0.02)
    assert kept[:, :4].float().mean(0).tolist() == pytest.approx([0.5] * 4, abs=0.02)


@torch.no_grad()
def lean_towards_the_end(model: Insertion, by: float) -> None:
    """Raise the logit of the end mark in every slot: else a model that has learned nothing hardly ever ends."""
    end_D = model.transformer.output.weight[EOS]
    model.slot.bias.add_(by * end_D / end_D.square().sum())


def grown(
    model: Insertion, source: Sequence[int], longest: int, suppressed: tuple[int, ...], *, one: bool
) -> tuple[list[int], int]:
    """The canvas after the last pass and the number of passes, in the words of the specification."""
    canvas, passes = [EOS], 0
    while len(canvas) < longest:
        logits_TV = slots_of_one(model, source, canvas)
        logits_TV[:, list(suppressed)] = -math.inf
        best = logits_TV.log_softmax(-1).max(-1)
        slots = [slot for slot, token in enumerate(best.indices.tolist()) if token != EOS]
        passes += 1
        if not slots:
            break
        by_confidence = sorted(slots, key=lambda slot: -float(best.values[slot]))
        for slot in sorted(by_confidence[: 1 if one else longest - len(canvas)], reverse=True):
            canvas.insert(slot, int(best.indices[slot]))
    return canvas, passes


@pytest.mark.parametrize("insertions", ["parallel", "greedy"])
@torch.inference_mode()
def test_a_target_grows_in_all_slots_or_in_the_surest(
    insertion_folder: Path, decoder_of: Callable[[System], Decoder], sentences: list[str], insertions: str
) -> None:
    folder = ModelFolder.read(insertion_folder)
    model, encode = load_system(folder), folder.tokenizers.source.encode
    assert isinstance(model, Insertion)
    suppressed = tuple(folder.generation["suppress_tokens"])
    settings = InsertionSettings(insertions=insertions, suppress_tokens=suppressed)  # type: ignore[arg-type]
    sources = [[*encode(text), EOS] for text in sentences[30:50]]
    actual = decoder_of(model).translate([Request(tuple(source)) for source in sources], settings)
    for source, (best,) in zip(sources, actual, strict=True):
        longest = min(2 * len(source) + 10, 64)
        expected = grown(model, source, longest, suppressed, one=insertions == "greedy")
        assert (best.ids, best.passes) == expected
        assert len(best.log_probs) == len(best.ids)
        assert best.score == pytest.approx(sum(best.log_probs) / len(best.ids))
    assert len({best.passes for (best,) in actual}) > 1
    assert any(1 < len(best.ids) < 2 * len(source) + 10 for source, (best,) in zip(sources, actual, strict=True))


def test_a_target_that_reaches_its_longest_length_keeps_the_surest_words(
    decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    requests = [Request(source) for source in sources]
    for (best,) in decoder.translate(requests, InsertionSettings(end_penalty=50.0, max_length_ratio=0.0)):
        assert len(best.ids) == 10
        assert best.ids[-1] == EOS
        assert best.passes == 4, "one word, two, four, and of the next eight the two that fit"


@torch.inference_mode()
def test_a_penalty_on_the_end_mark_makes_targets_longer(
    model: Insertion, decoder: Decoder, sources: list[tuple[int, ...]]
) -> None:
    lean_towards_the_end(model, 12.0)
    requests = [Request(source) for source in sources]

    def lengths(penalty: float) -> list[int]:
        settings = InsertionSettings(end_penalty=penalty, suppress_tokens=SUPPRESSED)
        return [len(best.ids) for (best,) in decoder.translate(requests, settings)]

    assert lengths(0.0) == [1] * len(sources)
    assert lengths(50.0) == [min(2 * len(source) + 10, 32) for source in sources], "nothing ever ends by itself"


@pytest.mark.parametrize("insertions", ["parallel", "greedy"])
def test_scoring_replays_the_order_in_which_a_target_grew(
    insertion_folder: Path, sentences: list[str], insertions: str
) -> None:
    translator = Translator(insertion_folder, device="cpu")
    compared = 0
    for sentence, one in zip(sentences, translator.translate(sentences, insertions=insertions, raw=True), strict=True):
        if len(set(one.tokens)) == len(one.tokens) and one.log_probs[-1] < 0:  # no word twice, and not cut off
            source = " ".join(translator.tokenizers.source.pieces(translator.tokenizers.source.encode(sentence)))
            (again,) = translator.score([source], [" ".join(one.tokens)], pretokenized=True, insertions=insertions)
            assert again.log_probs == pytest.approx(one.log_probs, abs=1e-5)
            assert again.passes == one.passes
            compared += len(one.tokens) > 2
    assert compared > 5


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"insertions": "serial"}, "choose parallel or greedy"),
        ({"end_penalty": -1.0}, "use 0 or more"),
        ({"num_hypotheses": 2}, "one translation of a sentence"),
    ],
)
def test_settings_without_meaning_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        replace(InsertionSettings(), **wrong)
