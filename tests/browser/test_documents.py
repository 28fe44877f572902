"""A document that is dropped on the page comes back translated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Visit

DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def drop(page: Page, name: str, text: str) -> None:
    page.wait_for_function("document.querySelectorAll('#target-language option').length > 0")
    page.evaluate(DROP, [name, text])


def test_a_dropped_document_is_translated_and_offered_for_download(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("#from=xx&to=yy")
    drop(page, "page.html", "<p>bane kosa.<br>12</p>")
    link = page.locator("#document a")
    expect(link).to_have_text("page.html")
    with page.expect_download() as download:
        link.click()
    download.value.save_as(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.startswith("<p>")
    assert text.endswith("<br>12</p>")
    assert "bane" not in text


def test_a_document_that_cannot_be_translated_is_explained(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    drop(page, "letter.docx", "no archive")
    expect(page.locator("#document")).to_contain_text("letter.docx: The document is damaged")
    assert "400" in visit.complaints.pop()  # the browser reports the refusal, too


def test_a_translation_can_be_cancelled(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    page.route("**/translate_file", lambda route: None)  # no answer comes
    drop(page, "a.txt", "bane.")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#document")).to_be_empty()
