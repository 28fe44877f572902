"""Compares the numbers that a page prints with the files they come from.

A comment in front of a table, a paragraph or a list names the file and the place of every number in it:

    <!-- figures: results/de-en/scores.json
    system=teacher split=test.{europarl,tatoeba} bleu
    benchmarks/results/race-cpu/bench.json ratios racer=a baseline=b batch_size=1 times_as_fast.median
    system=final settings.iterations=10 !settings.length_threshold split=test.europarl bleu - system=teacher ... bleu
    settings: 10 2,000
    -->

A line holds the steps from the top of a JSON file to a number:

    times_as_fast.median      keys, or indices of a list, with dots between them
    settings.iterations=10    the items of a list whose value at these keys is 10
    command~=de-en-ar         the items of a list whose value at these keys contains this text
    !settings.length_weight   the items of a list that have no value, or null, at these keys
    {a,b}                     two lines in one, the first with a and the second with b
    A - B, A + B, A * B, A / B   arithmetic, from left to right; A and B may be plain numbers

Steps with spaces stand in quotes. A line may begin with another file. In a file that is not JSON, the one step is a
regular expression, and its groups are the numbers. Lines that are indented continue the line before them.

In a table, the cells right of the first column that hold nothing but numbers must be the numbers of the lines, in
order. So must the numbers of a paragraph or a list, except for those that stand behind `settings:`. A number is right
when rounding the file's gives it; 17.2% is 0.172 in the file.

`<!-- figures: none -->` says that the numbers of the next block are no measurements.
"""

from __future__ import annotations

import itertools
import json
import operator
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_COMMENT = re.compile(r"^<!-- figures: (.*?)\s*-->$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.=@#'^])(?<!\w-)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?(?!\w|\.\d)")
_UNIT = r"(?:ms|(?:milli|micro)?seconds?|BLEU|points?|times|updates|MB|GB)"
_MEASURED = re.compile(rf"(?<![\w.=@#'^])(?<!\w-)(?:\d[\d,]*\.\d+(?!\.\d|\d)|\d[\d,]*%|\d[\d,]* {_UNIT}\b)")
_NO_FIGURES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\d{4}-\d\d-\d\d|Python \d\.\d+|^\d+\. ", re.DOTALL | re.MULTILINE
)
_BETWEEN_NUMBERS = re.compile(r"[\s*/–()]|\b(?:and|ms)\b")
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class FigureError(Exception):
    """A comment that cannot be read, or a number that is not in its file."""


@dataclass(frozen=True)
class Block:
    """A table, paragraph or list of a page, with the comment in front of it."""

    place: str
    """Page and line, for messages."""
    text: str
    comment: str | None
    """Text behind `figures:`, or None without such a comment."""

    @property
    def is_table(self) -> bool:
        return self.text.startswith("|")

    @property
    def looks_measured(self) -> bool:
        """Whether a number in it has decimals, a percent sign or a unit."""
        text = " ".join(_figure_cells(self.text)) if self.is_table else self.text
        return _MEASURED.search(_NO_FIGURES.sub(" ", text)) is not None


def blocks(page: Path) -> list[Block]:
    """All tables, paragraphs and lists of a page; fenced code and headings are left out."""
    found: list[Block] = []
    comment: str | None = None
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), page.read_text("utf-8"), flags=re.M | re.S)
    line = 1
    for part in re.split(r"(\n[ \t]*\n|(?<=-->)\n)", text):
        body = part.strip()
        if matched := _COMMENT.fullmatch(body):
            comment = matched[1]
        elif body and not body.startswith(("#", "<!--")):
            begins = line + part[: len(part) - len(part.lstrip())].count("\n")
            found.append(Block(f"{page.name}:{begins}", body, comment))
            comment = None
        line += part.count("\n")
    return found


def check(block: Block, root: Path) -> None:
    """Raise FigureError unless the block's numbers are those of its comment's files."""
    if block.comment is None or block.comment == "none":
        return
    lines, settings = _lines(block.comment)
    try:
        expected = [(line, value) for line in lines for value in _values(line, root)]
    except FigureError as error:
        raise FigureError(f"{block.place}: {error}") from error
    if block.is_table:
        printed = [number for cell in _figure_cells(block.text) for number in _NUMBER.findall(cell)]
        _check_table(block.place, printed, expected)
    else:
        _check_text(block.place, _NUMBER.findall(_NO_FIGURES.sub(" ", block.text)), expected, settings)


def _check_table(place: str, printed: list[str], expected: list[tuple[str, float]]) -> None:
    if len(printed) != len(expected):
        raise FigureError(f"{place}: {len(printed)} numbers, but the comment names {len(expected)}")
    for number, (line, value) in zip(printed, expected, strict=True):
        if not is_rounded(number, value):
            raise FigureError(f"{place}: {number} is {value:g} in its file: {line}")


def _check_text(place: str, printed: list[str], expected: list[tuple[str, float]], settings: set[str]) -> None:
    remaining = list(expected)
    for number in printed:
        if remaining and is_rounded(number, remaining[0][1]):
            remaining.pop(0)
        elif number not in settings:
            wanted = f"want {remaining[0][1]:g}: {remaining[0][0]}" if remaining else "want no more numbers"
            raise FigureError(f"{place}: {number} is neither measured nor a setting here; {wanted}")
    if remaining:
        line, value = remaining[0]
        raise FigureError(f"{place}: {value:g} is not in the text: {line}")


def is_rounded(printed: str, value: float) -> bool:
    """Whether rounding a value gives the printed number; 9,200 may be 9,180 but 100 may not be 90."""
    digits = printed.rstrip("%").replace(",", "")
    scaled = value * 100 if printed.endswith("%") else value
    _, _, decimals = digits.partition(".")
    trailing_zeros = 0 if decimals else len(digits) - len(digits.rstrip("0"))
    half_unit = 0.5 * 10.0 ** (trailing_zeros - len(decimals))
    tolerance = min(half_unit, max(0.5, 0.01 * abs(scaled))) if trailing_zeros else half_unit
    return abs(abs(scaled) - float(digits)) <= tolerance + 1e-9


def _figure_cells(table: str) -> list[str]:
    """Cells right of the first column, below the header, that hold nothing but numbers."""
    rows = [line.strip().strip("|").split("|") for line in table.splitlines()[2:]]
    cells = [cell.strip() for row in rows for cell in row[1:]]
    return [cell for cell in cells if cell and not _BETWEEN_NUMBERS.sub("", _NUMBER.sub("", cell))]


def _lines(comment: str) -> tuple[list[str], set[str]]:
    """Expanded lines, each with its file in front, and the numbers that are settings."""
    default, *rest = re.sub(r"\n[ \t]+", " ", comment).splitlines()
    lines: list[str] = []
    settings: set[str] = set()
    for line in rest:
        if line.startswith("settings:"):
            settings |= set(line.removeprefix("settings:").split())
        else:
            lines += _expanded(line if _is_file(shlex.split(line)[0]) else f"{default} {line}")
    return lines, settings


def _expanded(line: str) -> Iterator[str]:
    """The lines that one with braces stands for; regular expressions keep theirs."""
    if not shlex.split(line)[0].endswith(".json"):
        yield line
        return
    parts = re.split(r"\{([^{}]*)\}", line)
    for chosen in itertools.product(*(part.split(",") for part in parts[1::2])):
        yield "".join(itertools.chain(*itertools.zip_longest(parts[::2], chosen, fillvalue="")))


def _is_file(word: str) -> bool:
    return "/" in word and re.search(r"\.(json|md|yaml)$", word) is not None


def _values(line: str, root: Path) -> list[float]:
    """The numbers at the place that a line names."""
    words = shlex.split(line)
    if not words[0].endswith(".json"):
        return _matched(root / words[0], words[1:])
    default, result, pending = words[0], None, operator.add
    for is_operator, group in itertools.groupby(words, key=_OPERATORS.__contains__):
        steps = list(group)
        if is_operator:
            pending = _OPERATORS[steps[0]]
            continue
        operand = _operand(steps, default, root)
        result = operand if result is None else pending(result, operand)
    assert result is not None
    return [float(result)]


def _operand(steps: list[str], default: str, root: Path) -> float:
    file, steps = (steps[0], steps[1:]) if _is_file(steps[0]) else (default, steps)
    if len(steps) == 1 and re.fullmatch(r"\d+(\.\d+)?", steps[0]):
        return float(steps[0])
    if not (root / file).is_file():
        raise FigureError(f"there is no file {file}")
    value = _look_up(_parsed(root / file), steps)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FigureError(f"no number at {' '.join(steps)} of {file}")
    return float(value)


def _matched(path: Path, steps: list[str]) -> list[float]:
    if len(steps) != 1 or not path.is_file():
        raise FigureError(f"{path.name}: want a file and one regular expression")
    text = path.read_text("utf-8")
    matched = re.search(steps[0], text)
    if not matched:
        raise FigureError(f"{path.name} has no {steps[0]!r}")
    numbers = range(1, len(matched.groups()) + 1)
    return [float(matched[n].replace(",", "")) / (100 if text[matched.end(n)] == "%" else 1) for n in numbers]


@cache
def _parsed(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _look_up(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if step.startswith("!"):
            value = [item for item in value if _at(item, step[1:]) is None]
        elif "~=" in step:
            keys, _, text = step.partition("~=")
            value = [item for item in value if text in str(_at(item, keys))]
        elif "=" in step:
            keys, _, text = step.partition("=")
            value = [item for item in value if str(_at(item, keys)) == text]
        else:
            value = _at(_only(value, steps), step)
    return value


def _only(value: Any, steps: list[str]) -> Any:
    """The item of a list that the filters have left, or the value as it is if nothing was filtered."""
    is_filtered = any(mark in step for step in steps for mark in ("=", "!")) and isinstance(value, list)
    if is_filtered and len(value) != 1:
        raise FigureError(f"{len(value)} items are as in {' '.join(steps)}; want one")
    return value[0] if is_filtered else value


def _at(value: Any, keys: str) -> Any:
    """The value at keys with dots between them; None where there is none."""
    for key in keys.split("."):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return None
    return value
