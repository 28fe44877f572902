"""Alignment models on every engine: the same passes over positions, the same text from all."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from maskpredict import Translator, UserError
from maskpredict.runtime.lines import Line
from tests.conformance import ALIGNMENT_CASES, Answer, Case, assert_pins, assert_same, assert_schedule
from tests.engines.conftest import SUBJECTS

BLANK = "<s>"
"""How a trace spells a blank."""

all_cases = pytest.mark.parametrize("case", ALIGNMENT_CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module", params=SUBJECTS)
def engine(
    request: pytest.FixtureRequest, alignment_folder: Path, open_engine: Callable[[Path, str], Translator]
) -> Translator:
    return open_engine(alignment_folder, request.param)


@pytest.fixture(scope="module")
def reference(alignment_folder: Path, sentences: list[str]) -> Callable[[Case], list[Answer]]:
    """What the plain engine says, traced."""
    translator = Translator(alignment_folder, device="cpu", compute_type="float32", engine="torch")
    known: dict[str, list[Answer]] = {}

    def answers(case: Case) -> list[Answer]:
        if case.name not in known:
            known[case.name] = answers_of(translator, case, sentences)
        return known[case.name]

    return answers


def answers_of(translator: Translator, case: Case, sentences: list[str]) -> list[Answer]:
    lines = case.lines(sentences)
    return [Answer.of(own) for own in translator.translate_lines(lines, window=len(lines), trace=True, **case.settings)]


def collapsed(tokens: list[str]) -> list[str]:
    return [token for place, token in enumerate(tokens) if token != BLANK and tokens[:place][-1:] != [token]]


@all_cases
def test_the_answers_are_those_of_the_plain_engine(
    engine: Translator, case: Case, reference: Callable[[Case], list[Answer]], sentences: list[str]
) -> None:
    answers, expected = answers_of(engine, case, sentences), reference(case)
    if engine.compute_type == "float32":
        # Many positions are certain within rounding, which then decides which of them are predicted again.
        tolerance = 1e-4 if case.settings.get("iterations") == 1 else 0.01
        assert_same([replace(answer, candidates=[]) for answer in answers], expected, tolerance)
    else:
        same = sum(answer.tokens == wanted.tokens for answer, wanted in zip(answers, expected, strict=True))
        assert same >= 0.5 * len(expected)  # of sentences that the model finds hard, too


@all_cases
def test_a_trace_shows_the_passes_and_the_text_is_what_it_ends_with(
    engine: Translator, case: Case, sentences: list[str]
) -> None:
    for line, answer in zip(case.lines(sentences[30:50]), answers_of(engine, case, sentences[30:50]), strict=True):
        (steps,) = answer.candidates
        assert_schedule(steps, case.settings, "words_and_blanks")
        assert answer.tokens == collapsed(steps[-1].tokens)
        assert answer.passes == len(steps)
        assert_pins(answer, line)


@all_cases
def test_batch_order_and_traces_change_nothing(engine: Translator, case: Case, sentences: list[str]) -> None:
    lines = case.lines(sentences[20:60])
    together = list(engine.translate_lines(lines, window=len(lines), **case.settings))
    order = random.Random(1).sample(range(len(lines)), len(lines))
    shuffled = [lines[place] for place in order]
    again = list(engine.translate_lines(shuffled, window=7, max_batch_size=3, batch_type="examples", **case.settings))
    if engine.engine.name == "cuda":  # captured in other shapes, which round differently
        assert_same([Answer.of(one) for one in again], [Answer.of(together[place]) for place in order])
    else:
        assert again == [together[place] for place in order]
    traced = answers_of(engine, case, sentences[20:60])
    assert [answer.tokens for answer in traced] == [one.tokens for one in together]


def test_more_passes_revise_the_text(engine: Translator, sentences: list[str]) -> None:
    once, revised = (engine.translate(sentences, iterations=passes) for passes in (1, 6))
    assert [one.text for one in once] != [one.text for one in revised]


def test_score_prefers_what_the_model_says(engine: Translator, sentences: list[str]) -> None:
    said = [one.text for one in engine.translate(sentences[:20], iterations=2)]
    scored = engine.score(sentences[:20], said, iterations=2)
    other = engine.score(sentences[:20], [*said[1:], said[0]], iterations=2)
    assert sum(one.score for one in scored) > sum(one.score for one in other)


def test_empty_short_and_long_sources(engine: Translator, sentences: list[str]) -> None:
    empty, short, long = engine.translate(["", "lu", " ".join(sentences[40:60])], iterations=3)
    assert empty.text == ""
    assert short.passes == 3
    assert len(long.parts) > 1


def test_lengths_and_candidates_are_not_settings_of_this_model(engine: Translator) -> None:
    with pytest.raises(UserError, match="length_candidates is not a setting of alignment models"):
        engine.translate(["luri."], length_candidates=3)
    with pytest.raises(UserError, match="cannot keep to a length"):
        engine.translate(["luri."], references=["IROK."])
    with pytest.raises(UserError, match="choose the sizes of gaps"):
        list(engine.translate_lines([Line("luri.", template="IROK ___{2}.")]))
