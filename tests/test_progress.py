"""Progress outside a terminal: plain lines on stderr, nothing on stdout, nothing at all when quiet."""

from __future__ import annotations

import pytest

from maskpredict.progress import Progress


def test_a_finished_task_is_one_plain_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        task = progress.task("Encoding [train]", total=2_000)
        task.advance(1_500, loss="3.21")
        task.advance(loss="3.20")
        task.finish()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "Encoding [train]: 1,501  0 s  loss 3.20\n"


def test_lines_are_occasional_and_say_how_much_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress() as progress:
        task = progress.task("Training", total=100)
        task.advance(10)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr("maskpredict.progress.SECONDS_BETWEEN_LINES", 0.0)
        task.advance(10)
    assert capsys.readouterr().err == "Training: 20 of 100  0 s\n"


def test_quiet_progress_counts_but_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet=True) as progress:
        task = progress.task("Encoding")
        task.advance(3)
        task.finish()
    assert task.done == 3
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with Progress() as progress:
        task = progress.task("Encoding", total=10)
        task.advance(10, loss="3.2")
        task.finish()
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "loss 3.2" in shown
    assert "━" in shown


def test_nothing_is_cut_at_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with Progress() as progress:
        task = progress.task("Training", total=300_000)
        task.advance(123_456, loss="3.210", rate="5.0e-04", tokens="1,000,000/s")
    shown = capsys.readouterr().err
    for number in ("123456/300000", "loss 3.210", "rate 5.0e-04", "tokens 1,000,000/s"):
        assert number in shown
    assert "…" not in shown
    assert "━" in shown
