"""Terms are edited on the page, kept by the browser, and sent with texts and documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from tests.browser.test_documents import drop

if TYPE_CHECKING:
    from tests.browser.conftest import Visit

TEXT = "bane luri."


def add_term(page: Page, source: str, target: str) -> None:
    page.locator("#glossary summary").click()
    page.get_by_label("Term", exact=True).last.fill(source)
    page.get_by_label("Its translation", exact=True).last.fill(target)


def test_a_term_is_put_in_and_stays_after_reloading(visit: Visit) -> None:
    page = visit.translated(TEXT)
    add_term(page, "luri", "EKUL")
    expect(page.locator("#translation")).to_contain_text("EKUL")
    assert visit.asked[-1]["terms"] == [{"source": "luri", "target": "EKUL", "soft": False}]
    page.reload()
    expect(page.locator("#translation")).to_contain_text("EKUL")
    expect(page.locator("#glossary-count")).to_have_text("1")
    page.locator("#glossary summary").click()
    page.get_by_label("Remove this term").first.click()
    expect(page.locator("#translation")).not_to_contain_text("EKUL")
    assert "terms" not in visit.asked[-1]


def test_terms_belong_to_a_direction(visit: Visit) -> None:
    page = visit.translated(TEXT)
    add_term(page, "luri", "EKUL")
    expect(page.locator("#glossary-count")).to_have_text("1")
    page.click("#swap")
    expect(page.locator("#glossary-count")).to_be_empty()


def test_contradicting_terms_are_explained(visit: Visit) -> None:
    page = visit.translated(TEXT)
    add_term(page, "luri", "EKUL")
    page.get_by_role("button", name="Add a term").click()
    page.get_by_label("Term", exact=True).last.fill("luri")
    page.get_by_label("Its translation", exact=True).last.fill("IROK")
    expect(page.locator("#status")).to_contain_text("keep one of them")
    assert "400" in visit.complaints.pop()  # the browser reports the refusal, too


def test_terms_are_read_from_a_file_and_written_to_one(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("#from=xx&to=yy")  # without a text: the toy model cannot say these terms
    page.locator("#glossary summary").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    content = b'luri,EKUL\n"ti, sa","a ""b""",soft\n\nhalf\n'
    chooser.value.set_files({"name": "terms.csv", "mimeType": "text/csv", "buffer": content})
    expect(page.locator("#glossary-count")).to_have_text("2")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    download.value.save_as(tmp_path / "terms.tsv")
    assert (tmp_path / "terms.tsv").read_text() == 'luri\tEKUL\nti, sa\ta "b"\tsoft\n'


def test_terms_are_used_for_documents(visit: Visit) -> None:
    page = visit.translated(TEXT)
    add_term(page, "luri", "EKUL")
    expect(page.locator("#translation")).to_contain_text("EKUL")
    drop(page, "a.txt", "luri tisa.")
    expect(page.locator(".preview dd")).to_contain_text("EKUL")


def test_terms_count_as_soon_as_the_language_is_detected(visit: Visit) -> None:
    page = visit.translated(TEXT)
    add_term(page, "luri", "EKUL")
    expect(page.locator("#translation")).to_contain_text("EKUL")
    page.goto("about:blank")
    page = visit.open("#from=auto&to=yy&q=bane+luri+tisa+kone.")
    expect(page.locator("#translation")).to_contain_text("EKUL")
