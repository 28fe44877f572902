"""Engines that run all passes over a batch at once, as those with captured graphs do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from maskpredict.decoding.candidates import CompletedDraft
from maskpredict.decoding.engine import StartedBatch
from maskpredict.decoding.hypothesis import Request
from maskpredict.decoding.masked import MaskedDecoder
from maskpredict.decoding.settings import MaskPredictSettings
from maskpredict.engines.torch.engine import TorchEngine
from maskpredict.systems.base import System

REQUESTS = [Request((5, 6, 7, 2)), Request((9, 2))]
SETTINGS = MaskPredictSettings(iterations=3, length_candidates=2, suppress_tokens=(0, 1, 4))
FIRST = [CompletedDraft([6, 2], [-0.4, -0.2], -0.3, 3, []), CompletedDraft([7, 8, 2], [-0.1, -0.2, -0.3], -0.2, 3, [])]
SECOND = [CompletedDraft([9, 2], [-1.0, -1.0], -1.0, 3, [])]


class AtOnce(TorchEngine):
    """Has the answer as soon as it is waited for, or has none."""

    answer: list[list[CompletedDraft]] | None = None

    def start(self, requests: Sequence[Request], settings: MaskPredictSettings) -> StartedBatch | None:
        return lambda: self.answer


@pytest.fixture
def engine(make_system: Callable[..., System]) -> AtOnce:
    return AtOnce(make_system("cmlm"))


def test_the_candidates_that_it_finished_are_ranked(engine: AtOnce) -> None:
    engine.answer = [FIRST, SECOND]
    decoder = MaskedDecoder("cmlm", engine)
    first, second = decoder.translate(REQUESTS, SETTINGS)
    assert [hypothesis.ids for hypothesis in first] == [[7, 8, 2]]
    assert (first[0].lengths, first[0].score, first[0].passes) == ((2, 3), -0.2, 3)
    assert [hypothesis.ids for hypothesis in second] == [[9, 2]]
    both, _ = decoder.translate(REQUESTS, replace(SETTINGS, num_hypotheses=2))
    assert [hypothesis.ids for hypothesis in both] == [[7, 8, 2], [6, 2]]


def test_what_it_has_no_answer_for_is_decoded_pass_by_pass(engine: AtOnce, make_system: Callable[..., System]) -> None:
    plain = MaskedDecoder("cmlm", TorchEngine(make_system("cmlm")))
    assert MaskedDecoder("cmlm", engine).translate(REQUESTS, SETTINGS) == plain.translate(REQUESTS, SETTINGS)
