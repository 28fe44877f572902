"""A document that is dropped on the page comes back translated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from maskpredict.serve.queue.documents import FIRST_SENTENCES

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


def test_a_document_can_be_chosen_instead_of_dropped(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a document").click()
    chooser.value.set_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"bane kosa."})
    expect(page.locator(".document a")).to_have_text("a.txt")


def test_progress_and_the_first_sentences_are_shown(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    lines = [f"bane kosa{' luri' * length}." for length in range(FIRST_SENTENCES + 3)]
    drop(page, "a.txt", "\n".join(lines))
    expect(page.locator(".document a")).to_be_visible()
    expect(page.locator(".document")).to_contain_text(f"{len(lines)} of {len(lines)} sentences")
    assert page.locator(".preview dt").all_inner_texts() == lines[:4]
    assert all(page.locator(".preview dd").all_inner_texts())


def test_a_document_that_cannot_be_translated_is_explained(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    drop(page, "letter.docx", "no archive")
    expect(page.locator("#document")).to_contain_text("letter.docx: The document is damaged")
    assert "400" in visit.complaints.pop()  # the browser reports the refusal, too


def test_a_translation_can_be_cancelled(visit: Visit) -> None:
    page = visit.open("#from=xx&to=yy")
    page.route("**/v1/documents", lambda route: None)  # no answer comes
    drop(page, "a.txt", "bane.")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#document")).to_be_empty()
