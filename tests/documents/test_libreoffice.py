"""LibreOffice opens translated documents and finds the translation in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.documents.office_files import odt_file, presentation, word_file, workbook
from tests.documents.translating import translated

needs_libreoffice = pytest.mark.skipif(
    shutil.which("soffice") is None and "CI" not in os.environ, reason="LibreOffice is not installed"
)


@needs_libreoffice
def test_libreoffice_opens_what_was_translated(tmp_path: Path) -> None:
    files = {"a.docx": word_file(), "b.odt": odt_file(), "c.pptx": presentation(), "d.xlsx": workbook()}
    for name, content in files.items():
        (tmp_path / name).write_bytes(translated(name, content))
    convert(tmp_path, "txt:Text", "a.docx", "b.odt")
    convert(tmp_path, "csv", "d.xlsx")
    convert(tmp_path, "html", "c.pptx")
    assert "MEHR STEHT AUF DIESER SEITE." in (tmp_path / "a.txt").read_text(encoding="utf-8")
    assert "DER SCHWARZE HUND SCHLÄFT1 IM GARTEN." in (tmp_path / "b.txt").read_text(encoding="utf-8")
    assert "WIR GEHEN" in (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "EIN ROTER APFEL,3" in (tmp_path / "d.csv").read_text(encoding="utf-8")


def convert(folder: Path, kind: str, *names: str) -> None:
    """Convert files with a profile of their own, beside a LibreOffice that may be open."""
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", kind, "--outdir", str(folder)]
    subprocess.run([*command, *(str(folder / name) for name in names)], check=True, capture_output=True, timeout=120)
