"""Draw docs/images/iterations.svg: the passes of one sentence by the shipped model de-en, as the terminal shows them.

.venv/bin/python docs/images/make_iterations.py
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from maskpredict import Translator
from maskpredict.player import play

SENTENCE = "Die Kinder haben den ganzen Nachmittag am Fluss gespielt und sind jetzt müde."
ITERATIONS, LENGTH_CANDIDATES = 6, 4
COLUMNS = 108

# Rich's own frame draws a window and fetches a font from the network; a picture in a README needs neither.
FRAME = """\
<svg viewBox="0 30 {width} {terminal_height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect y="30" width="{width}" height="{terminal_height}" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def make(model: str, sentence: str, out: Path) -> None:
    """Translate a sentence and draw its passes."""
    # In float32, since int8 is rounded differently on different CPUs.
    translator = Translator(model, device="cpu", compute_type="float32", intra_threads=1)
    (translation,) = translator.translate(
        [sentence], iterations=ITERATIONS, length_candidates=LENGTH_CANDIDATES, trace=True
    )
    assert translation.trace is not None
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor", legacy_windows=False)
    play(translation.trace, sentence, console)
    svg = console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=FRAME, unique_id="passes")
    out.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make("de-en", SENTENCE, Path(__file__).with_name("iterations.svg"))
