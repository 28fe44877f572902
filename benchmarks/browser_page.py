"""Size, load time and latency of an exported web page.

    python benchmarks/browser_page.py FOLDER [--iterations 4] [--words 30] [--threads]

FOLDER is the output of `maskpredict export browser`. The script serves it locally and opens it in headless Chromium.
Load time ends when the model is ready, and excludes the network. A sentence of `--words` words is translated into as
many subwords, so that the predicted length has no effect. The latency is the median of twenty translations after the
first. `--threads` sends the headers that let a page use several cores.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

SENTENCE = (
    "Wer mit dem Fahrrad zur Arbeit fährt, spart nicht nur Geld, sondern kommt in einer großen Stadt oft auch "
    "schneller an als jemand, der im Auto sitzt und an jeder zweiten Ampel warten muss, obwohl er sich sehr beeilt."
)
TRANSLATIONS = 21
MEASURE = """async ([words, iterations, rounds]) => {
    const { createEngine } = await import("/page/engine.js");
    const started = performance.now();
    const engine = await new Promise((resolve, reject) => {
        const made = createEngine({ onLoading() {}, onReady: () => resolve(made), onFailed: reject });
    });
    const loaded = (performance.now() - started) / 1000;
    const [sentence, tokens] = [words.join(" "), new Array(words.length).fill(null)];
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
        const answer = await new Promise((onAnswer, onTrouble) => {
            engine.ask("fill", { sentence, tokens, settings: { iterations } }, { onAnswer, onTrouble });
        });
        times.push(answer.seconds);
    }
    return { loaded, times };
}"""


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder, optionally with the headers that allow shared memory."""

    isolated = False

    def end_headers(self) -> None:
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Suppress the log."""


def measured(page: Page, url: str, words: list[str], iterations: int) -> dict[str, Any]:
    """Times in a page that has the folder's modules but not its model, so that the model is loaded once."""
    page.goto(f"{url}browser.json")
    found: dict[str, Any] = page.evaluate(MEASURE, [words, iterations, TRANSLATIONS])
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--threads", action="store_true")
    asked = parser.parse_args()
    Handler.isolated = asked.threads
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(asked.folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = SENTENCE.split()[: asked.words]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        found = measured(chromium.new_page(), f"http://127.0.0.1:{server.server_port}/", words, asked.iterations)
        version = chromium.version
        chromium.close()
    server.shutdown()
    sizes = {path: path.stat().st_size for path in asked.folder.rglob("*") if path.is_file()}
    downloads = json.loads((asked.folder / "browser.json").read_text(encoding="utf-8"))["downloads"]
    print(f"folder      {sum(sizes.values()) / 1e6:.1f} MB, of which {sum(downloads.values()) / 1e6:.1f} MB are loaded")
    print(f"load        {found['loaded']:.1f} s")
    print(f"a sentence  {statistics.median(found['times'][1:]):.2f} s (the first {found['times'][0]:.2f} s)")
    print(f"with        {len(words)} words, T={asked.iterations}, Chromium {version}, {time.strftime('%Y-%m-%d')}")


if __name__ == "__main__":
    main()
