"""The sentences of a text in any language, by the library sentencex."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_SENTENCE = 600
"""Characters in a sentence. Longer ones are cut, so that one of them does not delay the whole batch."""

_LINE = re.compile("[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER_AT_END = re.compile(r"(?P<before>(?:.*\s)?)\d{1,2}\.\s*")
CLAUSE_END = re.compile(r"(?<=[,;:،؛])\s+|(?<=[，、；：])\s*")
SPACE = re.compile(r"\s+")

Span = tuple[int, int]
"""Start and end in a text."""


def sentence_spans(text: str, language: str) -> Iterator[Span]:
    """Yield where the sentences of a text are, without outer spaces; what has no letters is in none of them.

    A line break ends a sentence. `language` is a code such as de; any other code is fine, too.
    """
    for line in _LINE.finditer(text):
        for start, end in cut_line(line[0], language):
            sentence = line[0][start:end]
            if _LETTER.search(sentence):
                begin = line.start() + start + len(sentence) - len(sentence.lstrip())
                yield from ((begin + first, begin + last) for first, last in _cut_if_long(sentence.strip()))


def cut_line(line: str, language: str) -> Iterator[Span]:
    """Yield where the sentences of a line are, outer spaces included; every character is in one of them."""
    import sentencex  # compiled code, which machines for training may lack and short lines do not need

    start = end = 0
    for part in sentencex.segment(language, line):
        end += len(part)
        number = _NUMBER_AT_END.fullmatch(line, start, end)
        # "1. Title" is one sentence and, outside English, "am 3. Mai" has no boundary inside.
        if number is None or (language == "en" and number["before"].strip()):
            yield start, end
            start = end
    if start < len(line):
        yield start, len(line)


def _cut_if_long(sentence: str) -> Iterator[Span]:
    """Yield the sentence, cut where it is too long: after a comma or the like, else at a space, else anywhere."""
    start = 0
    while len(sentence) - start > MAX_SENTENCE:
        end, after = (
            _last_boundary(CLAUSE_END, sentence, start)
            or _last_boundary(SPACE, sentence, start)
            or (
                start + MAX_SENTENCE,
                start + MAX_SENTENCE,
            )
        )
        yield start, end
        start = after
    yield start, len(sentence)


def _last_boundary(boundary: re.Pattern[str], sentence: str, start: int) -> Span | None:
    """Return the last boundary that leaves a piece of a good size, if there is one."""
    matches = list(boundary.finditer(sentence, start + MAX_SENTENCE // 4, start + MAX_SENTENCE))
    return matches[-1].span() if matches else None
