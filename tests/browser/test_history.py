"""The browser keeps translations of before; a link carries one to somebody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import Visit

    Visits = Callable[..., Visit]

TEXT = "bane kosa timo luri."


def test_a_translation_is_kept_and_comes_back_with_a_click(visit: Visit) -> None:
    page = visit.translated(TEXT)
    translation = page.locator("#translation").inner_text()
    expect(page.locator(".past li")).to_have_count(1)
    page.fill("#source-text", "Something else.")
    expect(page.locator(".past li")).to_have_count(2)
    page.reload()
    page.locator("#history summary").click()
    old = page.locator(".past li").nth(1)
    expect(old).to_contain_text(translation)
    old.locator(".past-open").click()
    expect(page.locator("#source-text")).to_have_value(TEXT)
    expect(page.locator("#translation")).to_have_text(translation)
    expect(page.locator(".past li").first).to_contain_text(TEXT)  # now the latest
    expect(page.locator(".past li")).to_have_count(2)


def test_text_that_goes_on_is_one_entry(visit: Visit) -> None:
    page = visit.translated("bane kosa")
    expect(page.locator(".past li")).to_have_count(1)
    page.fill("#source-text", TEXT)
    expect(page.locator(".past li")).to_contain_text(TEXT)
    expect(page.locator(".past li")).to_have_count(1)


def test_the_history_can_be_forgotten_and_switched_off(visit: Visit) -> None:
    page = visit.translated(TEXT)
    expect(page.locator(".past li")).to_have_count(1)
    page.locator("#history summary").click()
    page.get_by_label("Keep new ones").uncheck()
    page.get_by_role("button", name="Forget all").click()
    expect(page.locator(".past li")).to_have_count(0)
    page.fill("#source-text", "bane")
    page.wait_for_timeout(2_000)  # longer than a translation stays until it is kept
    assert page.evaluate("localStorage.getItem('history')") is None


def test_damaged_history_is_as_good_as_none(visit: Visit) -> None:
    visit.page.add_init_script("localStorage.setItem('history', '[{\"text\": 3}, null]')")
    page = visit.open("#from=xx&to=yy")
    expect(page.locator("#history")).to_contain_text("Nothing yet.")


def test_a_link_carries_settings_text_and_terms_to_somebody_else(visit: Visit, new_visit: Visits) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.translated(TEXT, speed="own", T="3", l="2")
    page.locator("#glossary summary").click()
    page.get_by_label("Term", exact=True).fill("luri")
    page.get_by_label("Its translation", exact=True).fill("EKUL")
    expect(page.locator("#translation")).to_contain_text("EKUL")
    page.click("#share")
    expect(page.locator("#share")).to_have_accessible_name("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    other = new_visit()
    other.page.goto(link)
    expect(other.page.locator("#translation")).to_have_text(page.locator("#translation").inner_text())
    expect(other.page.locator("#source-text")).to_have_value(TEXT)
    assert other.asked[-1] == visit.asked[-1]
    assert other.page.evaluate("localStorage.getItem('terms xx yy')") is None  # they are not taken over
