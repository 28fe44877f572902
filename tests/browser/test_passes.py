"""The player and what a person can do to a sentence in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, Page, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Visit

    Visits = Callable[..., Visit]

TEXT = "bane kosa timo luri kofu."


def words(row: Locator) -> list[str]:
    """The words of a row, the end mark left out."""
    found: list[str] = row.locator(".word").evaluate_all(
        "all => all.filter(one => !one.querySelector('.end')).map(one => one.textContent)"
    )
    return found


def masked(page: Page) -> int:
    """How many words can be seen to be masked: hatched, and their letters gone."""
    return page.locator(".row.masked:not(.later) .token").evaluate_all(
        """all => all.filter(one =>
            getComputedStyle(one, '::before').opacity === '1' &&
            getComputedStyle(one.querySelector('.letters')).opacity === '0').length"""
    )


def label(page: Page) -> Locator:
    """What is said beside the slider."""
    return page.locator(".frame-label")


def mark(page: Page, place: int, action: str = "Pin it") -> None:
    """Open the card of the word at a position, and do something with it."""
    page.locator(".row.last .token").nth(place).click()
    page.get_by_role("button", name=action).click()


def test_there_is_a_row_for_each_pass_and_the_last_is_the_translation(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="6", l="2")
    expect(page.locator(".row")).to_have_count(6)
    assert " ".join(words(page.locator(".row.last"))) == page.locator("#translation").inner_text()
    expect(label(page)).to_contain_text("Pass 6 of 6")


def test_passes_and_lengths_can_be_set(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="6", l="2")
    page.get_by_label("Passes T").fill("3")
    expect(page.locator(".row")).to_have_count(3)
    page.get_by_label("Lengths l").fill("4")
    expect(page.locator(".chip")).to_have_count(4)
    assert visit.asked[-1]["iterations"] == 3
    assert visit.asked[-1]["length_candidates"] == 4


def test_a_speed_sets_both_and_a_number_of_ones_own_leaves_it(visit: Visit) -> None:
    page = visit.translated(TEXT)
    page.get_by_text("Best", exact=True).click()
    expect(page.get_by_label("Passes T")).to_have_value("10")
    assert visit.asked[-1]["speed"] == "best"
    page.get_by_label("Passes T").fill("2")
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator("input[value=own]")).to_be_checked()


def test_the_first_frame_is_all_masks_and_each_pass_fills_some_in(new_visit: Visits) -> None:
    page = new_visit(reduced_motion="reduce").translated(TEXT, speed="own", T="4", l="1")
    positions = page.locator(".row.last .token").count()
    page.locator(".slider").press("Home")
    assert masked(page) == positions
    expect(label(page)).to_have_text(f"Pass 1 of 4: {positions} masked")
    page.get_by_label("One step forward").click()
    assert masked(page) == 0
    expect(label(page)).to_have_text(f"Pass 1 of 4: {positions} predicted")
    page.get_by_label("One step forward").click()
    assert masked(page) == positions * 3 // 4
    page.get_by_label("One step back").click()
    expect(label(page)).to_contain_text("Pass 1 of 4")


def test_playing_goes_from_the_first_mask_to_the_last_word(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="2", l="1")
    page.get_by_role("button", name="Play").click()
    expect(label(page)).to_contain_text("Pass 1 of 2")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".finished .row.last")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_words_show_how_sure_they_are_by_colour_length_and_number(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    token = page.locator(".row").first.locator(".token").first
    sure = float(token.evaluate("one => one.style.getPropertyValue('--probability')"))
    assert token.get_attribute("data-sure") == str(min(4, int(sure * 5)))
    bar, whole = token.evaluate("one => [parseFloat(getComputedStyle(one, '::after').width), one.clientWidth - 1]")
    assert abs(bar - max(3, sure * whole)) < 1
    token.hover()
    expect(page.locator(".told")).to_contain_text(f"{round(sure * 100)}\u00a0% sure in pass 1")
    expect(page.locator(".same-place")).to_have_count(4)


def test_length_candidates_have_scores_and_can_be_looked_at(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="3")
    expect(page.locator(".chip")).to_have_count(3)
    best = page.locator(".chip", has_text="best")
    expect(best.locator("input")).to_be_checked()
    other = page.locator(".chip").filter(has_not_text="best").first
    length = int(other.locator(".chip-main").inner_text())
    assert other.locator(".chip-side").inner_text().startswith("\u2212")
    other.click()
    expect(page.locator(".row.last .token")).to_have_count(length)
    assert " ".join(words(page.locator(".row.last"))) == page.locator("#translation").inner_text()


def test_an_alternative_can_be_taken_and_the_first_one_taken_back(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="4")
    before = page.locator("#translation").inner_text()
    alternative = page.locator(".alternative").first
    text = alternative.locator(".alternative-text").inner_text()
    assert text != before
    alternative.click()
    expect(page.locator("#translation")).to_have_text(text)
    assert " ".join(words(page.locator(".row.last"))) == text
    page.locator(".alternative", has_text=before).click()
    expect(page.locator("#translation")).to_have_text(before)


def test_a_pinned_word_stays_while_the_rest_forms_anew(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="2", l="1")
    tokens = page.locator(".row.last .token")
    word = words(page.locator(".row.last"))[1]
    place = page.locator(".row.last .word").nth(0).locator(".token").count()
    width = page.locator(".row.last .word").nth(1).locator(".token").count()
    mark(page, place)
    expect(tokens.nth(place)).to_contain_class("pinned")
    expect(page.locator(".steering-text")).to_contain_text("1 word pinned")
    expect(page.locator(".token.anew")).to_have_count(tokens.count() - width - 1)
    page.get_by_role("button", name="Re-form the sentence").click()
    expect(label(page)).to_contain_text("Pass 1 of 2")  # it plays
    expect(page.locator(".finished .row.last")).to_be_visible()
    given = visit.asked[-1]["template"]["tokens"]
    assert [index for index, token in enumerate(given) if token] == [*range(place, place + width), len(given) - 1]
    assert words(page.locator(".row.last"))[1] == word
    expect(page.locator(".row.last .pinned")).to_have_count(width)
    page.get_by_role("button", name="Back to before").click()
    expect(page.locator(".row.last .pinned")).to_have_count(0)


def test_a_word_that_is_masked_again_is_predicted_from_all_others(new_visit: Visits) -> None:
    visit = new_visit(reduced_motion="reduce")
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    width = page.locator(".row.last .word").nth(0).locator(".token").count()
    mark(page, 0, "Mask it again")
    expect(page.locator(".token.anew")).to_have_count(width)
    expect(page.locator(".steering-text")).to_contain_text("1 word masked")
    page.get_by_role("button", name="Re-form the sentence").click()
    expect(page.get_by_role("button", name="Back to before")).to_be_attached()
    expect(page.locator(".finished .row.last")).to_be_visible()
    given = visit.asked[-1]["template"]["tokens"]
    assert [index for index, token in enumerate(given) if token is None] == list(range(width))
    assert page.locator(".row").first.locator(".token.fresh").count() == width
    assert page.locator("#translation").inner_text() == " ".join(words(page.locator(".row.last")))


def test_marks_can_be_cleared_and_a_single_piece_can_be_marked(visit: Visit) -> None:
    page = visit.translated(TEXT, speed="own", T="4", l="1")
    several = page.locator(".row.last .word").filter(has=page.locator(".token + .token")).first
    several.locator(".token").nth(1).click()
    page.get_by_label("only the piece").check()
    page.get_by_role("button", name="Mask it again").click()
    expect(page.locator(".token.anew")).to_have_count(1)
    page.get_by_role("button", name="Clear marks").click()
    expect(page.locator(".token.anew")).to_have_count(0)
    expect(page.get_by_role("button", name="Re-form the sentence")).to_be_hidden()


def replace_word(page: Page, number: int, text: str) -> None:
    """Put another text in the place of a word of the last row."""
    page.locator(".row.last .word").nth(number).locator(".token").first.click()
    page.get_by_label("Or say it with").fill(text)
    page.get_by_role("button", name="Put in").click()
    expect(page.get_by_role("button", name="Back to before")).to_be_attached()
    expect(page.locator(".finished .row.last")).to_be_visible()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_word_can_be_replaced_and_its_neighbours_stay(new_visit: Visits, number: int) -> None:
    visit = new_visit(reduced_motion="reduce")
    page = visit.translated("bane kosa luri.", speed="own", T="4", l="1")
    before = page.locator("#translation").inner_text().split(" ")
    replace_word(page, number, "EKITAR")
    after = [*before[:number], "EKITAR." if number == 2 else "EKITAR", *before[number + 1 :]]
    expect(page.locator("#translation")).to_have_text(" ".join(after))
    pinned = page.locator(".row.last .word").filter(has=page.locator(".pinned"))
    expect(pinned).to_have_count(1)
    expect(pinned).to_have_text(after[number])


def test_a_replaced_word_stays_pinned_when_others_are_formed_anew(new_visit: Visits) -> None:
    visit = new_visit(reduced_motion="reduce")
    page = visit.translated(TEXT, speed="own", T="4", l="2")
    replace_word(page, 1, "OMIT")
    page.locator(".row.last .word").nth(3).locator(".token").first.click()
    page.get_by_role("button", name="Pin it").click()
    page.get_by_role("button", name="Re-form the sentence").click()
    expect(page.locator(".row.last .word").filter(has=page.locator(".pinned"))).to_have_count(2)
    assert words(page.locator(".row.last"))[1].startswith("OMIT")


def test_everything_can_be_done_with_the_keyboard(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy&speed=own&T=3&l=2")
    page.locator("#source-text").focus()
    page.keyboard.type(TEXT)
    expect(page.locator(".row.last")).to_be_visible()

    def tab_to(selector: str) -> None:
        for _ in range(40):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached")

    tab_to(".chip input")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".chip input:focus")).to_be_checked()
    tab_to(".rows")
    page.keyboard.press("Home")
    expect(label(page)).to_contain_text("Pass 1 of 3")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(label(page)).to_contain_text("Pass 2 of 3")
    page.keyboard.press("ArrowLeft")
    expect(label(page)).to_contain_text("Pass 1 of 3")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("End")
    tab_to(".row.last .token")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".word-card")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".row.last .token").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pin it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".row.last .pinned").first).to_be_visible()
    tab_to(".steering .primary")
    page.keyboard.press("Enter")
    expect(page.locator(".rows")).to_be_focused()
    expect(page.get_by_role("button", name="Back to before")).to_be_visible()


def test_who_wants_no_motion_sees_the_result_at_once(new_visit: Visits) -> None:
    page = new_visit(reduced_motion="reduce").translated(TEXT, speed="own", T="4", l="1")
    mark(page, 0)
    page.get_by_role("button", name="Re-form the sentence").click()
    expect(page.get_by_role("button", name="Back to before")).to_be_visible()
    expect(label(page)).to_contain_text("Pass 4 of 4")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
