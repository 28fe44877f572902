"""CTC models on every engine: one pass, collapsed, the same text from all."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from maskpredict import Translator, UserError
from tests.engines.conftest import SUBJECTS


@pytest.fixture(scope="module", params=SUBJECTS)
def engine(
    request: pytest.FixtureRequest, ctc_folder: Path, open_engine: Callable[[Path, str], Translator]
) -> Translator:
    return open_engine(ctc_folder, request.param)


@pytest.fixture(scope="module")
def plain(ctc_folder: Path) -> Translator:
    return Translator(ctc_folder, device="cpu", compute_type="float32", engine="torch")


def test_the_text_is_that_of_the_plain_engine(engine: Translator, plain: Translator, sentences: list[str]) -> None:
    pairs = list(zip(engine.translate(sentences), plain.translate(sentences), strict=True))
    if engine.compute_type == "float32":
        assert [one.tokens for one, _ in pairs] == [other.tokens for _, other in pairs]
        assert all(one.score == pytest.approx(other.score, abs=1e-4) for one, other in pairs)
    else:
        assert sum(one.text == other.text for one, other in pairs) >= 0.6 * len(pairs)


def test_it_takes_one_pass_and_says_nothing_twice_in_a_row(engine: Translator, sentences: list[str]) -> None:
    for translation in engine.translate(sentences):
        assert translation.passes == 1
        assert translation.lengths == ()


def test_batch_and_order_change_nothing(engine: Translator, sentences: list[str]) -> None:
    together = engine.translate(sentences)
    order = random.Random(2).sample(range(len(sentences)), len(sentences))
    again = engine.translate([sentences[place] for place in order], max_batch_size=3, batch_type="examples")
    assert again == [together[place] for place in order]


def test_score_prefers_what_the_model_says(engine: Translator, plain: Translator, sentences: list[str]) -> None:
    said = [one.text for one in engine.translate(sentences[:20])]
    scored = engine.score(sentences[:20], said)
    other = engine.score(sentences[:20], [*said[1:], said[0]])
    assert sum(one.score for one in scored) > sum(one.score for one in other)
    if engine.compute_type == "float32":
        expected = plain.score(sentences[:20], said)
        assert [one.score for one in scored] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_empty_short_and_long_sources(engine: Translator, sentences: list[str]) -> None:
    empty, short, long = engine.translate(["", "lu", " ".join(sentences[40:60])])
    assert empty.text == ""
    assert short.passes == 1
    assert len(long.parts) > 1


def test_pins_and_targets_that_do_not_fit_are_refused(engine: Translator) -> None:
    with pytest.raises(UserError, match="models of the system ctc cannot pin words"):
        engine.translate(["luri."], pins=[["IROK"]])
    with pytest.raises(UserError, match="too long for its source"):
        engine.score(["lu"], ["IROK ENAB OMIT IROK ENAB OMIT IROK"])
