"""A transformer with CTC: its loss, and how it translates and scores."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from maskpredict.decoding.decoder import Decoder
from maskpredict.decoding.engine import BatchPolicy
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.settings import OnePassSettings
from maskpredict.engines.int8.engine import Int8Engine, fill_in_int8
from maskpredict.engines.int8.transformer import Int8Transformer
from maskpredict.errors import UserError
from maskpredict.model.batch import Batch, pad
from maskpredict.model.meta_init import meta_init
from maskpredict.model.module_weights import weights_of
from maskpredict.systems.base import System
from maskpredict.systems.ctc import CTC

CPU = torch.device("cpu")
BLANK = 4
SUPPRESSED = (0, 1, BLANK)
SOURCES = [[5, 6, 7, 2], [8, 9, 10, 11, 12, 2], [13, 2], [2]]
TARGETS = [[6, 7, 2], [8, 9, 9, 11, 5, 19, 18, 2], [2], [5, 6, 7, 2]]
"""The last has four words and its source three positions in all."""


@pytest.fixture
def model(make_system: Callable[..., System]) -> CTC:
    system = make_system("ctc")
    assert isinstance(system, CTC)
    return system


@pytest.fixture
def decoder(model: CTC, decoder_of: Callable[[System], Decoder]) -> Decoder:
    return decoder_of(model)


def logits_of_one(model: CTC, source: list[int] | tuple[int, ...]) -> Tensor:
    """Of every token at every position, some for each of the source."""
    tokens = pad([source], 0, CPU)
    encoded = model.transformer.encode(tokens.ids, tokens.layout)
    times = model.config.ctc_positions
    states = torch.stack([piece for state in encoded[0] for piece in model.split(state).chunk(times)])[None]
    memory = model.transformer.memory(encoded)
    layout = tokens.layout.stretched(times)
    hidden = model.transformer.decode_states(states, layout, memory, tokens.layout, causal=False)
    return model.transformer.output(hidden[0, : times * len(source)])


def test_the_loss_is_that_of_ctc_and_leaves_out_what_does_not_fit(model: CTC) -> None:
    loss = model.loss(Batch(pad(SOURCES, 0, CPU), pad(TARGETS, 0, CPU)))
    expected = torch.zeros(())
    for source, target in zip(SOURCES[:3], TARGETS[:3], strict=True):
        log_probs_TV = logits_of_one(model, source).log_softmax(-1)
        sizes = torch.tensor(len(log_probs_TV)), torch.tensor(len(target))
        expected = expected + F.ctc_loss(log_probs_TV, torch.tensor(target), *sizes, blank=BLANK, reduction="sum")
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.parts["word"], expected)
    assert int(loss.count) == 3 + 8 + 1


@torch.inference_mode()
@pytest.mark.parametrize("positions", [2, 3])
def test_a_translation_is_what_the_positions_say_less_repetitions_and_blanks(
    make_system: Callable[..., System],
    decoder_of: Callable[[System], Decoder],
    sources: list[tuple[int, ...]],
    positions: int,
) -> None:
    model = make_system("ctc", seed=2, ctc_positions=positions)
    assert isinstance(model, CTC)
    settings = OnePassSettings(suppress_tokens=SUPPRESSED)
    actual = decoder_of(model).translate([Request(source) for source in sources], settings)
    for source, (best,) in zip(sources, actual, strict=True):
        logits_TV = logits_of_one(model, source)
        logits_TV[:, [0, 1]] = -torch.inf  # the blank may be said
        top = logits_TV.log_softmax(-1).max(-1)
        tokens = top.indices.tolist()
        kept = [place for place, token in enumerate(tokens) if place == 0 or token != tokens[place - 1]]
        assert best.ids == [tokens[place] for place in kept if tokens[place] != BLANK]
        assert best.score == pytest.approx(float(top.values.mean()), abs=1e-5)
        assert len(best.log_probs) == len(best.ids)
        assert best.passes == 1
    assert any(BLANK not in best.ids and len(best.ids) > 1 for (best,) in actual)


@torch.inference_mode()
def test_in_int8_a_sentence_does_not_depend_on_the_batch(model: CTC, decoder: Decoder) -> None:
    assert decoder.engine.batch_policy is BatchPolicy.SAME_WIDTH
    with meta_init():
        system = CTC(model.config, model.vocabulary)
    fill_in_int8(system, weights_of(model))
    system.transformer = Int8Transformer(system.transformer)
    int8 = type(decoder)("ctc", Int8Engine(system))
    assert int8.engine.batch_policy is BatchPolicy.ANY
    sources = [*SOURCES, [*range(5, 20), 6, 2]]  # the last is wider
    settings, requests = OnePassSettings(suppress_tokens=SUPPRESSED), [Request(tuple(source)) for source in sources]
    together = int8.translate(requests, settings)
    assert [int8.translate([request], settings)[0] for request in requests] == together
    assert max(len(best.ids) for (best,) in together) > 3


@torch.inference_mode()
def test_scoring_a_translation_gives_the_score_it_had(decoder: Decoder, sources: list[tuple[int, ...]]) -> None:
    settings, requests = OnePassSettings(suppress_tokens=SUPPRESSED), [Request(source) for source in sources]
    for (best,), again in zip(
        actual := decoder.translate(requests, settings),
        decoder.score(requests, [own[0].ids for own in actual], settings),
        strict=True,
    ):
        assert again.ids == best.ids
        assert again.score == pytest.approx(best.score, abs=1e-5)
        assert again.log_probs == pytest.approx(best.log_probs, abs=1e-5)


def test_a_target_that_does_not_fit_is_refused(decoder: Decoder) -> None:
    with pytest.raises(UserError, match="4 subwords is too long for its source"):
        decoder.score([Request((2,))], [[5, 6, 7, 2]], OnePassSettings())
