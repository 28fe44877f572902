"""The page that `maskpredict export browser` writes, in a real browser, behind the plainest of web servers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from maskpredict import Translator
from maskpredict.export import export_browser
from maskpredict.runtime.lines import Line
from tests.conformance import CASES, EARLY_EXIT, LENGTHS, PASSES_N, PLAIN, Answer, assert_same

from .asking import answer_of, ask, text_of


@pytest.fixture(scope="module")
def pages(cmlm_folder: Path, runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The toy model as a page, by precision."""
    place = tmp_path_factory.mktemp("pages")
    return {
        precision: export_browser(cmlm_folder, place / precision, runtime=runtime, precision=precision).folder
        for precision in ("float32", "int8")
    }


@pytest.fixture(scope="module")
def url(pages: dict[str, Path], host: Callable[[Path], str]) -> str:
    """Below a path, where a host may well put it."""
    return f"{host(pages['float32'].parent)}float32/"


@pytest.fixture(scope="module")
def ours(cmlm_folder: Path) -> Translator:
    return Translator(cmlm_folder, device="cpu", compute_type="float32")


PLAIN_CASES = [case for case in CASES if case.feature in (PLAIN, PASSES_N, EARLY_EXIT, LENGTHS)]


def test_every_sentence_is_translated_as_in_python(
    open_page: Callable[..., Page], ours: Translator, sentences: list[str]
) -> None:
    """The cases of all engines; strategies, n-best lists and reference lengths are not on the page."""
    questions = [("translate", {"text": text_of(sentences), "settings": case.settings}) for case in PLAIN_CASES]
    for case, answer in zip(PLAIN_CASES, ask(open_page(), *questions), strict=True):
        expected = ours.translate(sentences, raw=True, trace=True, **case.settings)
        assert answer["translatedText"] == text_of([own.text for own in expected]), case.name
        assert_same([answer_of(found) for found in answer["sentences"]], [Answer.of(own) for own in expected])


def test_pins_and_given_words_are_kept_as_in_python(
    open_page: Callable[..., Page], ours: Translator, sentences: list[str]
) -> None:
    settings: dict[str, Any] = {"iterations": 4, "length_candidates": 3}
    lines: list[Line] = []
    questions: list[tuple[str, dict[str, Any]]] = []
    for sentence in sentences[40:52]:
        words = ours.translate([sentence])[0].text.removesuffix(".").split()
        pins: list[tuple[str, int | None]] = [(words[-1], None), ("ENAB OMIT", None), (words[0], 1)]
        lines.append(Line(sentence, pins=tuple(text if place is None else (text, place) for text, place in pins)))
        given = [{"phrase": text, "position": place} for text, place in pins]
        questions.append(("rewrite", {"sentence": sentence, "pins": given, "settings": settings}))
        tokens = [None if place % 3 else token for place, token in enumerate(ours.translate([sentence])[0].tokens)]
        for template in ([*tokens[:-1], None], [*tokens[:-1], "</s>"]):
            lines.append(Line(sentence, template=tuple(template)))
            questions.append(("fill", {"sentence": sentence, "tokens": template, "settings": settings}))
    expected = list(ours.translate_lines(lines, raw=True, **settings))
    assert [found["text"] for found in ask(open_page(), *questions)] == [own.text for own in expected]


def test_eight_bits_mostly_find_the_same(
    url: str, new_context: Callable[..., BrowserContext], ours: Translator, sentences: list[str]
) -> None:
    settings: dict[str, Any] = {"iterations": 4, "length_candidates": 2}
    page = new_context().new_page()
    page.goto(url.replace("float32", "int8"))
    (answer,) = ask(page, ("translate", {"text": text_of(sentences), "settings": settings}))
    expected = [own.text for own in ours.translate(sentences, raw=True, **settings)]
    same = sum(found["text"] == own for found, own in zip(answer["sentences"], expected, strict=True))
    assert same > 0.7 * len(sentences)


def test_a_text_without_end_is_translated_in_pieces(open_page: Callable[..., Page]) -> None:
    text = " ".join(["bane kosa, time"] * 60)
    (answer,) = ask(open_page(), ("translate", {"text": text, "settings": {"iterations": 1, "length_candidates": 1}}))
    assert len(answer["sentences"]) > 5
    assert " ".join(sentence["source"] for sentence in answer["sentences"]) == text


def typed(page: Page, text: str) -> None:
    """Type a text and wait for its passes."""
    page.locator("#source-text").fill(text)
    expect(page.locator(".row.last")).to_be_visible()


def test_a_person_types_watches_and_changes_a_word(open_page: Callable[..., Page], ours: Translator) -> None:
    page = open_page(reduced_motion="reduce")  # else the passes are played in some seconds
    expect(page.locator("#source-language")).to_have_text("xx")
    typed(page, "bane kosa time.")
    expected = ours.translate(["bane kosa time."], speed="balanced")[0]
    expect(page.locator("#translation")).to_have_text(expected.text)
    expect(page.locator("#took")).to_have_text(re.compile(r"^\d+ pass(es)?, [\d.]+ m?s$"))
    expect(page.locator(".row")).to_have_count(expected.passes)
    page.get_by_role("spinbutton", name="Passes").fill("6")
    page.get_by_role("spinbutton", name="Lengths").fill("3")
    expect(page.locator(".row")).to_have_count(6)
    expect(page.locator(".chip")).to_have_count(3)
    page.locator(".row.last button.token").first.click()
    page.get_by_role("button", name="Pin it").click()
    page.get_by_role("button", name="Re-form the sentence").click()
    expect(page.locator(".row.last .token.pinned").first).to_be_visible()
    page.locator(".row.last button.token").first.click()
    page.get_by_label("Or say it with").fill("UFIT")
    page.get_by_role("button", name="Put in").click()
    expect(page.locator("#translation")).to_have_text(re.compile("^UFIT"))


def test_what_is_typed_last_is_what_is_translated(open_page: Callable[..., Page], ours: Translator) -> None:
    page = open_page("#speed=best&q=" + "+".join(["bane"] * 16))
    page.locator("#source-text").fill("kosa time.")
    expect(page.locator("#translation")).to_have_text(ours.translate(["kosa time."], speed="best")[0].text)
    page.locator("#clear").click()
    expect(page.locator("#translation")).to_be_empty()


def test_once_loaded_the_page_needs_no_network(open_page: Callable[..., Page], ours: Translator) -> None:
    page = open_page("#q=bane.")
    expect(page.locator(".row.last")).to_be_visible()
    page.context.set_offline(True)
    page.locator("#source-text").fill("kosa time lusa.")
    expect(page.locator("#translation")).to_have_text(ours.translate(["kosa time lusa."], speed="balanced")[0].text)
    page.locator(".row.last button.token").first.click()
    expect(page.get_by_role("button", name="Pin it")).to_be_visible()


def test_it_is_dark_where_people_want_that_and_fits_a_phone(open_page: Callable[..., Page]) -> None:
    page = open_page("#q=bane+kosa+time+lusa+bari.", viewport={"width": 390, "height": 844}, color_scheme="dark")
    expect(page.locator(".row.last")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 20, 22)"


def test_markup_in_a_text_stays_text(open_page: Callable[..., Page]) -> None:
    page = open_page()
    typed(page, "<img src=x onerror=alert(1)> bane kosa.")
    expect(page.locator("main img")).to_have_count(0)


def test_the_download_is_shown_while_text_can_be_typed(url: str, new_context: Callable[..., BrowserContext]) -> None:
    held: list[Route] = []
    page = new_context().new_page()
    page.context.route("**/decoder.onnx", lambda route: held.append(route))
    page.goto(url)
    expect(page.locator("#loaded-text")).to_have_text(re.compile(r"\d+ of \d+ MB"))
    page.locator("#source-text").fill("bane kosa.")
    assert 0 < float(page.locator("#loaded").get_attribute("value") or 0) < 1
    held[0].continue_()
    expect(page.locator(".row.last")).to_be_visible()
    expect(page.locator("#loading")).to_be_hidden()


def test_a_download_that_fails_is_said(url: str, new_context: Callable[..., BrowserContext]) -> None:
    page = new_context().new_page()
    page.context.route("**/decoder.onnx", lambda route: route.fulfill(status=404))
    page.goto(url)
    sentence = "The model could not be loaded: model/decoder.onnx could not be loaded (404)."
    expect(page.locator("#status")).to_have_text(sentence)


def test_opened_as_a_file_it_says_how_to_open_it(
    pages: dict[str, Path], new_context: Callable[..., BrowserContext]
) -> None:
    page = new_context().new_page()
    page.goto((pages["float32"] / "index.html").as_uri())
    expect(page.locator("#as-file")).to_contain_text("python -m http.server")
