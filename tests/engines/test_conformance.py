"""Every engine decodes as `decoding/` says: the same cases on all of them (`tests/conformance.py`)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskpredict import Translator
from maskpredict.model.folder import ModelFolder
from tests.conformance import CASES, Answer, Case, assert_consistent, assert_same
from tests.engines.conftest import EXAMPLE_NAME, SUBJECTS, Subject, features_of


@pytest.fixture(scope="session")
def reference(cmlm_folder: Path, sentences: list[str]) -> Callable[[Case], list[Answer]]:
    """What the plain engine says, traced."""
    translator = Translator(cmlm_folder, device="cpu", compute_type="float32", engine="torch")
    known: dict[str, list[Answer]] = {}

    def answers(case: Case) -> list[Answer]:
        if case.name not in known:
            lines = case.lines(sentences)
            actual = translator.translate_lines(lines, window=len(lines), trace=True, **case.settings)
            known[case.name] = [Answer.of(own) for own in actual]
        return known[case.name]

    return answers


@pytest.fixture(scope="session", params=SUBJECTS)
def engine(
    request: pytest.FixtureRequest, cmlm_folder: Path, open_engine: Callable[[Path, str], Translator]
) -> Translator:
    """The engines of the package with the toy CMLM."""
    return open_engine(cmlm_folder, request.param)


@pytest.mark.parametrize(
    ("subject", "case"),
    [(name, case) for name in (*SUBJECTS, EXAMPLE_NAME) for case in CASES if case.feature in features_of(name)],
    ids=lambda given: given if isinstance(given, str) else given.name,
    indirect=["subject"],
)
def test_the_answers_are_those_of_the_plain_engine(
    subject: Subject, case: Case, reference: Callable[[Case], list[Answer]], sentences: list[str]
) -> None:
    answers, expected = subject.answers(case.lines(sentences), case.settings), reference(case)
    if subject.exact:
        assert_same(answers, expected)
    else:
        same = sum(answer.tokens == wanted.tokens for answer, wanted in zip(answers, expected, strict=True))
        assert same >= 0.7 * len(expected)  # of sentences that the model finds hard, too


@pytest.mark.parametrize("case", [case for case in CASES if case.follows_the_schedule], ids=lambda case: case.name)
def test_a_trace_shows_the_schedule_and_kept_words(engine: Translator, case: Case, sentences: list[str]) -> None:
    lines = case.lines(sentences[30:50])
    traced = engine.translate_lines(lines, window=len(lines), trace=True, **case.settings)
    for line, translation in zip(lines, traced, strict=True):
        assert_consistent(Answer.of(translation), line, case.settings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_batch_order_and_neighbours_change_nothing(engine: Translator, case: Case, sentences: list[str]) -> None:
    lines = case.lines(sentences[20:60])
    together = list(engine.translate_lines(lines, window=len(lines), **case.settings))
    order = random.Random(1).sample(range(len(lines)), len(lines))
    shuffled = [lines[place] for place in order]
    again = list(engine.translate_lines(shuffled, window=7, max_batch_size=3, batch_type="examples", **case.settings))
    if engine.engine.name == "cuda":  # captured in other shapes, which round differently
        assert_same([Answer.of(one) for one in again], [Answer.of(together[place]) for place in order])
    else:
        assert again == [together[place] for place in order]  # tokens, scores, log-probabilities and all


def test_equal_probabilities_are_masked_from_the_left(
    cmlm_folder: Path, open_engine: Callable[[Path, str], Translator], tmp_path: Path
) -> None:
    flat = _flat(ModelFolder.read(cmlm_folder))
    flat.write(tmp_path / "flat")
    for name in SUBJECTS:
        translator = open_engine(tmp_path / "flat", name)
        (translation,) = translator.translate(
            ["luri tisa bane."], references=["IROK ENAB IROK."], iterations=4, length_candidates=1, trace=True
        )
        assert translation.trace is not None
        length = len(translation.tokens)
        expected = [[place < max(1, length * (4 - t) // 4) for place in range(length)] for t in range(4)]
        assert [step.masked for step in translation.trace.passes] == expected, name
        assert len(set(translation.tokens)) == 1, name  # the lowest id that is not suppressed, everywhere
        assert translation.tokens[0] == "</s>", name


def _flat(contents: ModelFolder) -> ModelFolder:
    """The model with no preference for any token."""
    name = "transformer.source.tokens.weight"
    return replace(contents, weights={**contents.weights, name: np.zeros_like(contents.weights[name])})


def test_score_gives_a_translation_its_own_score(engine: Translator, sentences: list[str]) -> None:
    source = engine.tokenizers.source
    pieces = [" ".join(source.pieces(source.encode(sentence))) for sentence in sentences[:40]]
    options: list[dict[str, Any]] = [{}, {"iterations": 4, "stop_when_stable": True}, {"strategy": "easy_first"}]
    for settings in options:
        actual = engine.translate(pieces, pretokenized=True, **settings)
        scored = engine.score(pieces, [" ".join(one.tokens) for one in actual], pretokenized=True, **settings)
        assert [one.tokens for one in scored] == [one.tokens for one in actual]
        for one, other in zip(scored, actual, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-6)
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-6)


def test_an_unlikely_target_has_a_low_score(engine: Translator, expected: Callable[[str], str]) -> None:
    right, wrong = engine.score(["luri tisa."] * 2, [expected("luri tisa."), "IROK ENAB OMIT."])
    assert right.score > wrong.score + 0.5


def test_empty_lines_stay_empty_and_long_ones_are_cut(engine: Translator, sentences: list[str]) -> None:
    long = " ".join(sentences[40:60])
    empty, whole, blank = engine.translate(["", long, " \t "], iterations=2, length_candidates=1)
    assert (empty.text, blank.text) == ("", "")
    assert len(whole.parts) > 1
    assert [part.text for part in whole.parts] == [
        one.text for one in engine.translate([long], iterations=2, length_candidates=1)[0].parts
    ]


def test_suppressed_tokens_are_never_said(engine: Translator, sentences: list[str]) -> None:
    usual = engine.translate(sentences[:20], iterations=2)
    special = engine.tokenizers.target.special
    banned = next(token for one in usual for token in one.tokens if token not in ("</s>", "▁"))
    ids = [special.pad, special.bos, special.mask, *engine.tokenizers.target.ids([banned])]
    actual = engine.translate(sentences[:20], iterations=2, suppress_tokens=tuple(ids))
    assert not any(banned in one.tokens for one in actual)
