"""Takes the pictures of the page for the docs, from a running server with a German-English model.

python tests/browser/screenshots.py http://127.0.0.1:8000/ docs/images
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

SENTENCE = "Die Kinder haben den ganzen Nachmittag am Fluss gespielt und sind jetzt müde."
STATE = f"#from=de&to=en&speed=own&T=6&l=4&q={quote(SENTENCE)}"
WIDE, PHONE = (1200, 900), (390, 844)


def take(
    browser: Browser,
    url: str,
    file: Path,
    size: tuple[int, int],
    scheme: Literal["light", "dark"],
    frame: int | None = None,
) -> None:
    """Write one picture of the whole page, at a frame of the player or when it has finished."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=1.5,
    )
    page = context.new_page()
    page.goto(f"{url}{STATE}")
    page.wait_for_selector(".row.last")
    if frame is not None:
        page.locator(".slider").fill(str(frame))
    page.wait_for_timeout(600)  # for the transitions
    page.screenshot(path=file, full_page=True)
    context.close()


def main(url: str, folder: Path) -> None:
    """Write all pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, url, folder / "page.png", WIDE, "light")
        take(browser, url, folder / "page-masked.png", WIDE, "light", frame=4)
        take(browser, url, folder / "page-dark.png", WIDE, "dark")
        take(browser, url, folder / "page-phone.png", PHONE, "light")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
