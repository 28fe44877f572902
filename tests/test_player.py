"""The terminal player: what is sure, what is masked next, with and without colour and Unicode."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from maskpredict.decoding.trace import CandidateTrace, Pass, Trace
from maskpredict.player import confidence_style, play, render_pass

FIRST = Pass([True] * 4, [5, 6, 7, 2], [0.9, 0.2, 0.6, 0.99], ["▁good", "▁good", "ness", "</s>"])
SECOND = Pass([False, True, False, False], [5, 8, 7, 2], [0.9, 0.7, 0.6, 0.99], ["▁good", "▁happi", "ness", "</s>"])
TRACE = Trace([CandidateTrace(4, -0.2, [FIRST, SECOND])], chosen=0)


def shown(encoding: str = "utf-8", **options: object) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    play(TRACE, "gute Güte", Console(file=stream, width=60, **options), delay=0)  # type: ignore[arg-type]
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


def test_subwords_are_joined_and_the_next_masks_are_marked() -> None:
    assert render_pass(FIRST, SECOND).plain == "good [good]ness ·"
    assert render_pass(SECOND).plain == "good happiness ·"


def test_bpe_with_continuation_marks_is_joined_too() -> None:
    step = Pass([True] * 3, [5, 6, 2], [1.0, 1.0, 1.0], ["happi@@", "ness", "</s>"])
    assert render_pass(step).plain == "happiness ·"


def test_an_alignment_shows_blanks_small_and_continued_words_dim() -> None:
    step = Pass([True] * 5, [5, 5, 1, 7, 2], [1.0] * 5, ["▁good", "▁good", "<s>", "▁day", "</s>"])
    text = render_pass(step)
    assert text.plain == "good good ˙ day ·"
    dim = [text.plain[span.start : span.end] for span in text.spans if getattr(span.style, "dim", False)]
    assert dim == ["good", "˙", "·"]


def test_the_whole_story_is_told_line_by_line() -> None:
    lines = shown().splitlines()
    assert lines[0] == "source  gute Güte"
    assert lines[1] == "t = 0   ▁▁▁ ▁▁▁ ▁▁▁ ▁▁▁"
    assert lines[2] == "t = 1   good [good]ness ·"
    assert lines[3] == "t = 2   good happiness ·"


def test_sure_and_unsure_words_differ_in_colour_and_without_it() -> None:
    sure, unsure = confidence_style(0.95), confidence_style(0.1)
    assert sure.color != unsure.color
    assert unsure.underline
    assert not sure.underline


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 1.0])
def test_every_probability_has_a_style(probability: float) -> None:
    assert confidence_style(probability).color is not None


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    plain = shown(force_terminal=True)
    assert "38;" not in plain
    assert "[good]" in plain.replace("\x1b[1;4m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_an_ascii_terminal_gets_ascii() -> None:
    lines = shown("ascii").splitlines()
    assert lines[0] == "source  gute G?te"
    assert lines[1] == "t = 0   ___ ___ ___ ___"
    assert lines[2] == "t = 1   good [good]ness ."


def test_a_trace_without_passes_shows_the_source_alone() -> None:
    stream = io.StringIO()
    play(Trace([CandidateTrace(2, 0.0, [])], 0), "x", Console(file=stream))
    assert stream.getvalue().strip() == "source  x"
