"""A translation after each pass, as in Figure 1 of the paper, with a sentence of our own."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskpredict.decoding.trace import Pass
from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.end_mark import END_MARK, before_end_mark
from maskpredict.paper.models import MODEL
from maskpredict.paper.plot import panels
from maskpredict.paper.study import Study, passes_and_candidates
from maskpredict.paper.table import Column, ResultTable

PASSES = 4
SENTENCES = {
    "de": "Die kleine Bäckerei am Marktplatz hat wegen der langen Bauarbeiten seit drei Wochen geschlossen.",
    "en": "The small bakery on the market square has been closed for three weeks because of the road works.",
}
"""Source sentences by language, written for this package."""
LETTERS = 84
"""Characters on a line of the figure."""
HIGHLIGHT = "#ffe08a"
_WORD_START = "▁"
_SIGNS = {END_MARK: "·", "<s>": "_"}
"""How the end mark and the blank of an alignment are drawn."""


@dataclass(frozen=True)
class Token:
    """A subword after a pass."""

    text: str
    masked: bool
    """True if the next pass masks it."""
    starts_word: bool


@dataclass(frozen=True)
class Example:
    """A source and its translation after each pass."""

    source: str
    passes: tuple[tuple[Token, ...], ...]
    reason: str = ""
    """Reason why there is no translation."""


def figure1(study: Study) -> Example:
    """Trace the translation of the sentence with one length candidate and four passes."""
    language = study.dataset.languages.source
    source = study.figure1 or SENTENCES.get(language, "")
    if not source:
        return Example("", (), f"no sentence of {language} comes with the package; give one.")
    try:
        translator = study.models.translator(MODEL)
        settings = study.settings_of(MODEL, passes_and_candidates(PASSES, 1))
        (translation,) = translator.translate([source], trace=True, raw=True, **settings)
        if translation.trace is None:
            raise UserError("the sentence is too long to be followed pass by pass; give a shorter one.")
    except UserError as error:
        return Example(source, (), str(error))
    steps = translation.trace.passes
    following = [*steps[1:], None]
    return Example(source, tuple(_tokens(step, after) for step, after in zip(steps, following, strict=True)))


def _tokens(step: Pass, following: Pass | None) -> tuple[Token, ...]:
    masked = following.masked if following else [False] * len(step.tokens)
    shown = len(before_end_mark(step.tokens)) if following is None else len(step.tokens)
    return tuple(
        Token(_SIGNS.get(token, token.removeprefix(_WORD_START)), masked[place], _begins(step, place))
        for place, token in enumerate(step.tokens[:shown])
    )


def _begins(step: Pass, place: int) -> bool:
    token = step.tokens[place]
    continued = place > 0 and step.tokens[place - 1].endswith("@@")
    spaced = any(other.startswith(_WORD_START) for other in step.tokens)
    return token == END_MARK or (token.startswith(_WORD_START) if spaced else not continued)


def _table(result: Example) -> ResultTable:
    columns = (Column("pass"), Column("target; the next pass predicts the words in brackets again"))
    if result.reason:
        return ResultTable(columns, (("", result.reason),))
    rows = tuple((f"t = {number}", _text(tokens)) for number, tokens in enumerate(result.passes))
    return ResultTable(columns, (("source", result.source), *rows))


def _text(tokens: tuple[Token, ...]) -> str:
    pieces = []
    for place, token in enumerate(tokens):
        space = " " if token.starts_word and place else ""
        pieces.append(space + (f"[{token.text}]" if token.masked else token.text))
    return "".join(pieces)


def _draw(result: Example) -> Figure | None:
    if result.reason or not _can_draw(result):
        return None
    blocks = [("source", _wrapped(tuple(Token(word, False, True) for word in result.source.split())))]
    blocks += [(f"t = {number}", _wrapped(tokens)) for number, tokens in enumerate(result.passes)]
    height = sum(len(lines) + 0.45 for _, lines in blocks)
    figure, (axes,) = panels(height=0.28 * height + 0.2)
    axes.set(xlim=(-9, LETTERS), ylim=(-height, 0.5))
    axes.set_axis_off()
    y = 0.0
    for label, lines in blocks:
        axes.text(-9, y - 0.5, label, family="DejaVu Sans Mono", fontsize=9, weight="bold", va="center")
        for line in lines:
            _draw_line(axes, line, y - 0.5)
            y -= 1
        y -= 0.45
    return figure


def _can_draw(result: Example) -> bool:
    """True if the figure's font has all characters; it has no Chinese and Japanese ones."""
    text = result.source + "".join(token.text for step in result.passes for token in step)
    return all(ord(letter) < 0x2E80 for letter in text)


def _wrapped(tokens: tuple[Token, ...]) -> list[list[tuple[int, Token]]]:
    """Tokens with their start columns, wrapped into lines of at most `LETTERS`."""
    lines: list[list[tuple[int, Token]]] = [[]]
    column = 0
    for token in tokens:
        start = column + 1 if token.starts_word and column else column
        if start + len(token.text) > LETTERS and lines[-1]:
            lines.append([])
            start = 0
        lines[-1].append((start, token))
        column = start + len(token.text)
    return lines


def _draw_line(axes: Axes, line: list[tuple[int, Token]], y: float) -> None:
    for column, token in line:
        if token.masked:
            axes.barh(y, len(token.text), 0.86, left=column, color=HIGHLIGHT, edgecolor="none")
        # One text per character keeps a fixed grid with any font.
        for place, letter in enumerate(token.text):
            axes.text(column + place + 0.5, y, letter, family="DejaVu Sans Mono", fontsize=9, ha="center", va="center")


ANALYSIS = Analysis(
    name="figure1",
    title="A translation, pass by pass",
    about="The target after each of four passes, with one length candidate.",
    result=Example,
    run=figure1,
    table=_table,
    draw=_draw,
)
