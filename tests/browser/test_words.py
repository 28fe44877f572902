"""A word that is clicked offers other words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Visit

TEXT = "bane kosa timo luri."


def test_a_word_of_the_translation_offers_others_and_one_of_them_takes_its_place(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    before = page.locator("#translation").inner_text().split(" ")
    page.locator("#translation .pickable-word").nth(1).click()
    expect(page.locator(".word-title")).to_have_text(before[1])
    other = page.locator(".other-word").first
    word = other.inner_text()
    assert word != before[1]
    other.click()
    expect(page.locator("#translation")).to_have_text(" ".join([before[0], word, *before[2:]]))
    page.get_by_role("button", name="Back to before").click()
    expect(page.locator("#translation")).to_have_text(" ".join(before))


def test_punctuation_is_not_part_of_the_word_that_is_asked_about(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    page.locator("#translation .pickable-word").last.click()
    expect(page.locator(".word-others")).to_have_attribute("aria-busy", "false")
    asked = visit.asked[-1]
    assert "." not in "".join(asked["tokens"][asked["start"] : asked["end"]])


def test_a_sentence_that_is_not_shown_is_picked_before_its_words(visit: Visit) -> None:
    page = visit.translated("bane kosa. Timo luri.")
    first, second = page.locator(".sentence").all()
    expect(first.locator(".pickable-word").first).to_be_visible()
    expect(second.locator(".pickable-word")).to_have_count(0)
    second.click()
    expect(page.locator(".sentence").nth(1).locator(".pickable-word").first).to_be_visible()


def test_words_that_cannot_be_found_are_not_missed(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    page.route("**/v1/words", lambda route: route.fulfill(status=400, json={"error": "No."}))
    page.locator("#translation .pickable-word").first.click()
    expect(page.locator(".word-others")).to_have_count(0)
    expect(page.get_by_role("button", name="Pin it")).to_be_visible()
    assert "400" in visit.complaints.pop()  # the browser reports the refusal, too
