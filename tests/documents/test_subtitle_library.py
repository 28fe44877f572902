"""pysubs2 writes the subtitles that we translate, and reads what we write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.documents.translating import translated

LIBRARY = "pysubs2==1.8.1"


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
def test_pysubs2_finds_all_cues_with_their_times_and_formats(name: str, tmp_path: Path) -> None:
    def pysubs2(verb: str) -> str:
        command = [find_uv_bin(), "run", "--quiet", "--isolated", "--no-project", "--with", LIBRARY, "python"]
        program = Path(__file__).with_name("use_pysubs2.py")
        done = subprocess.run([*command, str(program), verb, name], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    pysubs2("write")
    file = tmp_path / name
    file.write_bytes(translated(name, file.read_bytes()))
    cues = json.loads(pysubs2("read"))
    assert [cue[:2] for cue in cues] == [[1_000, 2_500], [3_000, 4_750], [5_000, 6_000]]
    assert [cue[2] for cue in cues] == [
        r"DER {\i1}SCHWARZE{\i0} HUND SCHLÄFT HEUTE.",
        r"- KOMMST DU?\N- NEIN!",
        "DAS IST DAS ENDE.",
    ]
