"""CTranslate2 in a real process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskpredict import Translator, UserError
from maskpredict.bench.racers.ctranslate2_process import CTranslate2Process, ProcessConfig
from maskpredict.export import export_ctranslate2


@pytest.fixture
def loaded(autoregressive_folder: Path, tmp_path: Path) -> ProcessConfig:
    export_ctranslate2(autoregressive_folder, tmp_path / "exported")
    return ProcessConfig(str(autoregressive_folder), str(tmp_path / "exported"), "cpu", 0, "float32", 1)


def test_it_translates_as_we_do_and_ends_with_whoever_asks(loaded: ProcessConfig, sentences: list[str]) -> None:
    process = CTranslate2Process(loaded)
    running = process.running
    ours = Translator(loaded.model, device="cpu", compute_type="float32").translate(sentences[:8], beam_size=2)
    assert process.translate(sentences[:8], beams=2) == [one.text for one in ours]
    del process
    assert running.poll() == 0


def test_what_goes_wrong_there_is_raised_here(loaded: ProcessConfig, sentences: list[str]) -> None:
    process = CTranslate2Process(loaded)
    with pytest.raises(RuntimeError, match="beam size"):
        process.translate(sentences[:1], beams=0)
    assert len(process.translate(sentences[:1], beams=1)) == 1
    process.running.kill()
    with pytest.raises(UserError, match="CTranslate2 ended with exit code -9"):
        process.translate(sentences[:1], beams=1)
