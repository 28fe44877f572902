"""Mask-predict in the terminal: one line per pass, as in Figure 1 of the paper.

Each line shows the target after a pass. The colour of a word shows its probability, from orange (low) over grey to blue
(high), a scale for colour-blind people too; words of low probability are underlined. Words in brackets are masked and
predicted again by the next pass. The first line is the fully masked target. In alignments, blanks are small dots, and a
word that only continues its left neighbour is dim.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.style import Style
from rich.text import Text

from maskpredict.decoding.trace import Pass, Trace

SECONDS_A_PASS = 0.6
UNSURE = 0.5
"""Words with a lower probability are underlined."""

_WORD_START = "▁"
_CONTINUES = "@@"
_END_MARK = "</s>"
_BLANK = "<s>"
"""Spelling of a blank; no other target has this symbol."""
_SCALE = ["#d55e00", "#e69f00", "#999999", "#56b4e9", "#0072b2"]


@dataclass(frozen=True)
class Signs:
    """Characters for masks, end marks, blanks and brackets."""

    mask: str
    end: str
    blank: str
    opening: str
    closing: str


_PRETTY = Signs(mask="▁▁▁", end="·", blank="˙", opening="[", closing="]")
_ASCII = Signs(mask="___", end=".", blank="'", opening="[", closing="]")


def play(trace: Trace, source: str, console: Console | None = None, delay: float = SECONDS_A_PASS) -> None:
    """Print the passes of a translation, one after another in a terminal, all at once elsewhere."""
    console = console or Console()
    passes = trace.passes
    console.print(Text.assemble(("source  ", "bold"), _encodable(source, console)), soft_wrap=True)
    if passes:
        console.print(Text.assemble(_label(0), render_start(passes[0], signs_for(console))), soft_wrap=True)
    for number, step in enumerate(passes, 1):
        if console.is_terminal:
            time.sleep(delay)
        following = passes[number] if number < len(passes) else None
        line = render_pass(step, following, signs_for(console))
        console.print(Text.assemble(_label(number), _encodable_text(line, console)), soft_wrap=True)
    console.print()


def render_start(first: Pass, signs: Signs = _PRETTY) -> Text:
    """The target before the first pass: masks and pinned words."""
    places = zip(first.masked, first.tokens, strict=True)
    words = [signs.mask if masked else _shown(token, signs) for masked, token in places]
    return Text(" ".join(words), style="dim", no_wrap=True)


def render_pass(step: Pass, following: Pass | None = None, signs: Signs = _PRETTY) -> Text:
    """The target after a pass; brackets mark words that the `following` pass masks again."""
    masked_next = following.masked if following else [False] * len(step.ids)
    text = Text(no_wrap=True)
    for place, token in enumerate(step.tokens):
        if _begins_word(step.tokens, place) and len(text):
            text.append(" ")
        style = confidence_style(step.probabilities[place])
        if token in (_END_MARK, _BLANK) or _continues_alignment(step.tokens, place):
            style += Style(dim=True)
        shown = _shown(token, signs)
        if masked_next[place]:
            style += Style(bold=True)
            shown = f"{signs.opening}{shown}{signs.closing}"
        text.append(shown, style)
    return text


def confidence_style(probability: float) -> Style:
    """Colour and underline of a word with this probability."""
    place = min(int(probability * len(_SCALE)), len(_SCALE) - 1)
    return Style(color=_SCALE[place], underline=probability < UNSURE)


def signs_for(console: Console) -> Signs:
    """Unicode signs if the encoding of the console has them, else ASCII."""
    return _PRETTY if _can_write(_PRETTY.mask + _PRETTY.end + _PRETTY.blank, console) else _ASCII


def _begins_word(tokens: Sequence[str], place: int) -> bool:
    """Return whether a subword starts a word, in SentencePiece or in BPE with @@."""
    if tokens[place] in (_END_MARK, _BLANK):
        return True
    if any(token.startswith(_WORD_START) for token in tokens):
        return tokens[place].startswith(_WORD_START)
    return place == 0 or not tokens[place - 1].endswith(_CONTINUES)


def _continues_alignment(tokens: Sequence[str], place: int) -> bool:
    """Return whether the position says what its left neighbour says, in an alignment, which then has the word once."""
    return place > 0 and tokens[place] == tokens[place - 1] and _BLANK in tokens


def _shown(token: str, signs: Signs) -> str:
    if token == _END_MARK:
        return signs.end
    return signs.blank if token == _BLANK else _spelled(token)


def _spelled(token: str) -> str:
    return token.removeprefix(_WORD_START).removesuffix(_CONTINUES)


def _label(number: int) -> tuple[str, str]:
    return f"{f't = {number}':<8}", "bold"


def _can_write(text: str, console: Console) -> bool:
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _encodable(text: str, console: Console) -> str:
    """The text with characters that the console cannot encode replaced by question marks."""
    if _can_write(text, console):
        return text
    return text.encode(console.encoding, errors="replace").decode(console.encoding)


def _encodable_text(text: Text, console: Console) -> Text:
    plain = _encodable(text.plain, console)  # one character for one, so the styles keep their places
    return Text(plain, spans=text.spans, no_wrap=True)
