"""Alignment models in a real browser: the page of `maskpredict export browser`, and the service's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from maskpredict import Translator
from maskpredict.export import export_browser
from tests.conformance import ALIGNMENT_CASES, EARLY_EXIT, PASSES_N, PLAIN, Answer, assert_same

from .asking import answer_of, ask, text_of
from .conftest import Server, Visit

BLANK = "<s>"
PAGE_CASES = [case for case in ALIGNMENT_CASES if case.feature in (PLAIN, PASSES_N, EARLY_EXIT)]


@pytest.fixture(scope="module")
def url(
    alignment_folder: Path,
    runtime: Path,
    host: Callable[[Path], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    place = tmp_path_factory.mktemp("pages") / "alignment"
    return host(export_browser(alignment_folder, place, runtime=runtime, precision="float32").folder)


@pytest.fixture(scope="module")
def ours(alignment_folder: Path) -> Translator:
    return Translator(alignment_folder, device="cpu", compute_type="float32")


def test_every_sentence_is_translated_as_in_python(
    open_page: Callable[..., Page],
    ours: Translator,
    sentences: list[str],
) -> None:
    questions = [("translate", {"text": text_of(sentences), "settings": case.settings}) for case in PAGE_CASES]
    for case, answer in zip(PAGE_CASES, ask(open_page(), *questions), strict=True):
        expected = ours.translate(sentences, raw=True, trace=True, **case.settings)
        assert answer["translatedText"] == text_of([own.text for own in expected]), case.name
        found = [collapsed(answer_of(sentence)) for sentence in answer["sentences"]]
        # Many positions are certain within rounding, which then decides which of them are predicted again.
        tolerance = 1e-4 if case.settings.get("iterations") == 1 else 0.01
        assert_same(found, [Answer.of(own) for own in expected], tolerance)


def collapsed(answer: Answer) -> Answer:
    """The answer with the words that its positions say, and without its passes."""
    tokens = answer.tokens
    said = [token for place, token in enumerate(tokens) if token != BLANK and tokens[:place][-1:] != [token]]
    return replace(answer, tokens=said, candidates=[])


def test_a_person_sees_one_pass_then_as_many_as_they_ask_for(
    open_page: Callable[..., Page],
    ours: Translator,
) -> None:
    page = open_page("#speed=fast", reduced_motion="reduce")
    page.locator("#source-text").fill("bane kosa time.")
    expect(page.locator("#translation")).to_have_text(ours.translate(["bane kosa time."], iterations=1)[0].text)
    expect(page.locator(".row")).to_have_count(1)
    ask_for_three_passes(page)


def test_the_service_shows_the_same(
    alignment_folder: Path, ours: Translator, new_visit: Callable[..., Visit], tmp_path: Path
) -> None:
    served = Server([alignment_folder], tmp_path / "log")
    served.start()
    try:
        page = new_visit(served.url, reduced_motion="reduce").translated("bane kosa time.", speed="fast")
        expect(page.locator("#translation")).to_have_text(ours.translate(["bane kosa time."], iterations=1)[0].text)
        ask_for_three_passes(page)
    finally:
        served.stop()


def ask_for_three_passes(page: Page) -> None:
    """Set the number of passes, and look at every position of the last one."""
    expect(page.get_by_role("spinbutton", name="Lengths")).to_be_hidden()
    page.get_by_role("spinbutton", name="Passes").fill("3")
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator(".row.last .token.silent").first).to_be_visible()
    expect(page.locator(".row.last button.token")).to_have_count(0)
    expect(page.locator(".steering-text")).to_have_text(re.compile("a word or a blank"))
