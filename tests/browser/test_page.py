"""The page around the player: translating, languages, the address, looks, and what it does when the server is gone."""

from __future__ import annotations

import json
import re
import shlex
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, TimeoutError, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Server, Visit

    Visits = Callable[..., Visit]

TEXT = "bane kosa timo luri."
LONGER = "kofu tike lumo bari neba. Kosa ti lune!"


def translation(page: Page) -> str:
    """The translation that is shown, once there is one."""
    expect(page.locator("#translation")).not_to_be_empty()
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    return page.locator("#translation").inner_text()


def from_server(url: str, text: str) -> str:
    """What the server says of a text, without a browser."""
    body = json.dumps({"q": text, "source": "xx", "target": "yy", "speed": "balanced"}).encode()
    request = urllib.request.Request(f"{url}v1/translate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["translatedText"])


def test_text_is_translated_while_it_is_typed(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    page.locator("#source-text").press_sequentially(TEXT, delay=5)
    assert translation(page) == from_server(visit.url, TEXT)
    assert page.locator("#count").inner_text() == f"{len(TEXT)} / 5000"
    assert len(visit.asked) < len(TEXT) / 2  # a pause in typing is waited for


def test_an_answer_that_is_no_longer_wanted_is_cancelled(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    page.route("**/v1/translate", lambda route: None, times=1)  # the first request gets no answer
    page.fill("#source-text", "bane")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "true")
    with page.expect_event("requestfailed") as failed:
        page.fill("#source-text", TEXT)
    assert failed.value.failure == "net::ERR_ABORTED"
    assert translation(page) == from_server(visit.url, TEXT)


def test_languages_are_those_of_the_server_and_auto_detection_is_named(visit: Visit) -> None:
    page = visit.open()
    assert page.locator("#source-language option").evaluate_all("all => all.map(one => one.value)") == [
        "auto",
        "xx",
        "yy",
    ]
    page.fill("#source-text", "bane kosa timo luri kofu.")
    translation(page)
    expect(page.locator("#source-language option").first).to_contain_text("(auto)")
    expect(page.locator("#detected")).to_contain_text("% sure")


def test_swapping_exchanges_languages_and_texts(visit: Visit) -> None:
    page = visit.translated(TEXT)
    before = translation(page)
    page.click("#swap")
    expect(page.locator("#source-text")).to_have_value(before)
    assert page.locator("#source-language").input_value() == "yy"
    assert page.locator("#target-language").input_value() == "xx"


def test_the_translation_is_copied(new_visit: Visits) -> None:
    page = new_visit(permissions=["clipboard-read", "clipboard-write"]).translated(TEXT)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_accessible_name("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == translation(page)


def test_copying_works_where_the_clipboard_is_closed_to_pages(new_visit: Visits) -> None:
    visit = new_visit(permissions=["clipboard-read"])
    visit.page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('closed'))")
    page = visit.translated(TEXT)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_accessible_name("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == translation(page)


def test_an_address_reopens_the_same_translation(visit: Visit, new_visit: Visits) -> None:
    page = visit.translated(TEXT)
    page.get_by_label("Passes T").fill("3")
    expect(page.locator(".row")).to_have_count(3)
    before = translation(page)
    page.reload()
    assert translation(page) == before
    other = new_visit().open(page.evaluate("location.hash"))
    expect(other.locator(".row")).to_have_count(3)
    assert other.locator("#source-text").input_value() == TEXT
    assert translation(other) == before


def test_a_text_too_long_for_an_address_survives_reloading(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    text = TEXT + "\n" + "bane " * 400
    page.fill("#source-text", text)
    translation(page)
    assert len(page.url) < 200
    page.reload()
    expect(page.locator("#source-text")).to_have_value(text)


def test_line_breaks_stay_and_any_sentence_can_be_looked_at(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    page.fill("#source-text", f"{TEXT}\n\n{LONGER}")
    assert translation(page).count("\n\n") == 1
    expect(page.locator("#sentence-steps")).to_contain_text("Sentence 1 of 3")
    page.get_by_label("Next sentence").click()
    expect(page.locator("#sentence-source")).to_have_text("kofu tike lumo bari neba.")
    page.locator(".sentence").nth(2).click()
    expect(page.locator("#sentence-source")).to_have_text("Kosa ti lune!")
    expect(page.locator(".sentence.picked")).to_have_text(page.locator(".sentence").nth(2).inner_text())


def test_markup_in_a_text_stays_text(visit: Visit) -> None:
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>."
    page = visit.open("#from=xx&to=yy")
    page.fill("#source-text", f"{TEXT} {evil}")
    translation(page)
    page.goto(f"{visit.url}#from={evil}&to={evil}&q={evil}")
    page.reload()
    translation(page)
    assert page.title() == "maskpredict"
    assert page.locator("main img, main script").count() == 0


def test_the_request_is_shown_as_a_command_that_works(visit: Visit) -> None:
    text = "bane 'kosa' \"timo\" $luri."
    page = visit.open("#from=xx&to=yy")
    page.fill("#source-text", text)
    shown = translation(page)
    page.click("#curl summary")
    command = page.locator("#curl-command").inner_text().replace("\\\n", "")  # a shell joins such lines
    program, address, header, kind, data, body = shlex.split(command)
    assert (program, header, kind, data) == ("curl", "-H", "Content-Type: application/json", "-d")
    request = urllib.request.Request(address, body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.load(answer)["translatedText"] == shown


def background(page: Page) -> str:
    """The colour behind everything."""
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_dark_mode_follows_the_system_or_a_choice_that_is_remembered(new_visit: Visits) -> None:
    light, dark = new_visit().open(), new_visit(color_scheme="dark").open()
    assert background(light) != background(dark)
    light.click("#theme")
    assert light.locator("#theme").get_attribute("aria-label") == "Colours: light"
    light.click("#theme")
    assert background(light) == background(dark)
    light.reload()
    assert background(light) == background(dark)
    light.click("#theme")
    assert light.locator("#theme").get_attribute("aria-label") == "Colours: as the system"
    assert background(light) != background(dark)


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_sticks_out_on_a_phone(new_visit: Visits, width: int) -> None:
    page = new_visit(viewport={"width": width, "height": 800}).translated(LONGER + " " + "bane" * 30)
    page.locator(".row.last .token").first.click()
    page.get_by_role("button", name="Pin it").click()
    page.click("#curl summary")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    panes = page.locator(".pane")
    first, second = panes.nth(0).bounding_box(), panes.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    assert second["y"] >= first["y"] + first["height"] - 1  # stacked


def test_without_storage_the_page_still_works(visit: Visit) -> None:
    for store in ("localStorage", "sessionStorage"):
        visit.page.add_init_script(f"Object.defineProperty(window, '{store}', {{ get() {{ throw new Error(); }} }})")
    page = visit.translated(TEXT)
    page.click("#theme")
    assert translation(page) == from_server(visit.url, TEXT)


def test_everything_that_can_be_operated_has_a_name(visit: Visit) -> None:
    page = visit.translated(LONGER)
    for control in page.locator(":is(button, input, select, textarea):visible").all():
        expect(control).to_have_accessible_name(re.compile(r"\S"))
    assert page.locator("[role=status]").count() >= 1
    assert page.locator("#translation").get_attribute("aria-live") == "polite"


def test_a_text_over_the_limit_is_kept_and_not_sent(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    text = "bane " * 1001
    page.fill("#source-text", text)
    expect(page.locator("#status")).to_contain_text("5 characters too long")
    assert visit.asked == []
    page.fill("#source-text", TEXT)
    translation(page)
    expect(page.locator("#status")).to_be_empty()


def test_a_busy_server_is_asked_again_when_it_said_so(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"error": "The queue is full."}}
    page.route("**/v1/translate", lambda route: route.fulfill(**busy), times=1)
    page.fill("#source-text", TEXT)
    expect(page.locator("#status")).to_contain_text("busy")
    assert translation(page) == from_server(visit.url, TEXT)
    expect(page.locator("#status")).to_be_empty()
    visit.complaints = [line for line in visit.complaints if "503" not in line]


def test_a_server_that_wants_a_key_is_given_it(new_visit: Visits, locked_server: Server) -> None:
    visit = new_visit(locked_server.url)
    page = visit.open("#from=xx&to=yy")
    page.fill("#source-text", TEXT)
    expect(page.locator("#status")).to_contain_text("key")
    page.get_by_label("API key").fill("sesame")
    page.get_by_role("button", name="Use it").click()
    translation(page)
    assert "sesame" not in page.locator("#curl-command").all_text_contents()[0]
    page.reload()
    translation(page)  # the tab remembers it
    visit.complaints = [line for line in visit.complaints if "403" not in line]


def test_when_the_server_is_gone_the_text_stays_and_it_goes_on_when_it_is_back(visit: Visit, server: Server) -> None:
    page = visit.translated("bane kosa.")
    before = translation(page)
    server.stop()
    try:
        page.fill("#source-text", TEXT)
        expect(page.locator("#status")).to_contain_text("cannot be reached")
        assert page.locator("#source-text").input_value() == TEXT
        assert translation(page) == before
    finally:
        server.start()
    with suppress(TimeoutError):  # the page may have tried again by itself, and taken the button away
        page.get_by_role("button", name="Try now").click(timeout=2000)
    expect(page.locator("#status")).to_be_empty()
    assert translation(page) == from_server(visit.url, TEXT)
    visit.complaints = [line for line in visit.complaints if "ERR_CONNECTION_REFUSED" not in line]
