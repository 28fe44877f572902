"""The price of a sentence is what the model computes at most, and not many times more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskpredict.errors import UserError
from maskpredict.runtime.lines import Line
from maskpredict.runtime.translator import Translator
from maskpredict.serve.queue.models import ServedModel
from maskpredict.serve.queue.price import RUN_POSITIONS

SENTENCE = "luri tisa kone bane luke."


@pytest.fixture(scope="module")
def model(cmlm_folder: Path) -> ServedModel:
    return ServedModel("toy", Translator(cmlm_folder, device="cpu"))


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        (Line(SENTENCE), {"iterations": 4, "length_candidates": 5}),
        (Line(SENTENCE), {"iterations": 32, "length_candidates": 16}),
        (Line(SENTENCE), {"iterations": "N", "length_candidates": 3}),
        (Line(SENTENCE, pins=("ENAB", "ASIT")), {"iterations": 8, "length_candidates": 3}),
        (Line(SENTENCE, pins=(("ENAB", 30),)), {"iterations": 8, "length_candidates": 3}),
        (Line(SENTENCE, template="IRUL ___."), {"iterations": 4, "length_candidates": 3}),
        (Line(SENTENCE, template="IRUL ___{9} ENAB."), {"iterations": "N", "length_candidates": 3}),
        (Line(SENTENCE, template="IRUL ___ ENOK ___."), {"iterations": 4, "length_candidates": 3}),
        (Line(SENTENCE, template="___ ENOK ___ ENAB ___ EKUL ___."), {"iterations": 4, "length_candidates": 3}),
        (Line(SENTENCE, template=(None,) * 50), {"iterations": "N", "length_candidates": 3}),
    ],
    ids=str,
)
def test_a_price_is_as_high_as_the_positions_that_are_computed(
    model: ServedModel, line: Line, settings: dict[str, Any]
) -> None:
    (translation,) = model.translator.translate_lines([line], trace=True, **settings)
    assert translation.trace is not None
    computed = sum(one.length * len(one.passes) for one in translation.trace.candidates)
    fixed_cost = sum(RUN_POSITIONS * len(one.passes) for one in translation.trace.candidates)
    (price,) = model.prices([line], [model.tokens(line.source)], settings)
    assert computed <= price <= 5 * (computed + fixed_cost)


def test_a_template_without_a_gap_is_refused_before_it_is_queued(model: ServedModel) -> None:
    with pytest.raises(UserError, match="has no gap"):
        model.prices([Line(SENTENCE, template="ENAB.")], [10], {})


def test_a_beam_search_costs_its_beams(autoregressive_folder: Path) -> None:
    model = ServedModel("toy", Translator(autoregressive_folder, device="cpu"))
    one, five = (model.prices([Line(SENTENCE)], [20], {"beam_size": beams})[0] for beams in (1, 5))
    assert one < five < 5 * one
