"""Writes subtitles by pysubs2, or reads some and prints their times and texts as JSON.

It runs in an environment of its own, which has pysubs2:  python use_pysubs2.py write|read FILE
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

CUES = (
    (1_000, 2_500, r"Der {\i1}schwarze{\i0} Hund\Nschläft heute."),
    (3_000, 4_750, r"- Kommst du?\N- Nein!"),
    (5_000, 6_000, "Das ist das Ende."),
)


def main(verb: str, file: str) -> None:
    """Write or read."""
    pysubs2: Any = import_module("pysubs2")
    if verb == "write":
        subtitles = pysubs2.SSAFile()
        subtitles.events = [pysubs2.SSAEvent(start=start, end=end, text=text) for start, end, text in CUES]
        subtitles.save(file)
    else:
        print(json.dumps([[event.start, event.end, event.text] for event in pysubs2.load(file)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
