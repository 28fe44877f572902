"""Stand-ins: names that models copy, in place of spans that must not change.

A name keeps the sentence whole: "Write to Barroso." is translated like any other. docs/text.md says how well it works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from maskpredict.decoding.trace import Trace
from maskpredict.runtime.lines import Line
from maskpredict.runtime.text.spans import Span, SpanKind
from maskpredict.runtime.translation import Translation
from maskpredict.tokenizer import WORD_START, Tokenizers

NAMES = ("Barroso", "Washington", "London", "Paris", "Madrid", "Boston", "Martin", "Tom", "Schulz", "Berlin")
NUMBERS = ("47", "83", "29", "64", "58", "92")
"""Names and numbers that the shipped models were found to copy best."""


@dataclass(frozen=True)
class StandIns:
    """The names and numbers that a model can say."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, tokenizers: Tokenizers) -> StandIns:
        """Return those in a model's vocabulary, names that are one subword first."""

        def subwords(text: str) -> list[int]:
            return [*tokenizers.source.encode(text), *tokenizers.target.encode(text)]

        unknown = {tokenizers.source.special.unk, tokenizers.target.special.unk}
        names = [name for name in NAMES if not unknown.intersection(subwords(name))]
        numbers = [number for number in NUMBERS if not unknown.intersection(subwords(number))]
        return cls(tuple(sorted(names, key=lambda name: len(subwords(name)))), tuple(numbers))

    @property
    def reordered(self) -> StandIns:
        """Return the same, others first: what was lost once may be lost again."""
        half = len(self.names) // 2
        return StandIns(self.names[half:] + self.names[:half], self.numbers[2:] + self.numbers[:2])

    def other_than(self, text: str, count: int) -> str:
        """Return some names that a text does not contain, or fewer if there are no more."""
        return " ".join([name for name in self.names if name.lower() not in text.lower()][:count])

    def chosen(self, text: str, spans: Sequence[Span]) -> list[str] | None:
        """Return one for each span that the text does not contain, or None if there are too few."""
        lowered = text.lower()
        names = (name for name in self.names if name.lower() not in lowered)
        numbers = (number for number in self.numbers if number not in text)
        is_number = [span.kind in (SpanKind.COUNT, SpanKind.NUMBER) for span in spans]
        chosen = [next(numbers if number else names, None) for number in is_number]
        return None if None in chosen else [one for one in chosen if one is not None]


@dataclass(frozen=True)
class Disguise:
    """A text with stand-ins for its spans, and what each of them stands for."""

    text: str
    originals: Mapping[str, str]

    @classmethod
    def of(cls, text: str, spans: Sequence[Span], names: Sequence[str], shown: Sequence[str]) -> Disguise:
        """Put a name in place of each span; `shown` is what the span becomes in the translation."""
        parts, end = [], 0
        for span, name in zip(spans, names, strict=True):
            parts += [text[end : span.start], name]
            end = span.end
        return cls("".join([*parts, text[end:]]), dict(zip(names, shown, strict=True)))

    def respelled(self, spell: Callable[[str], str]) -> Disguise:
        """Return a disguise with what is between the names spelled otherwise."""
        return replace(self, text="".join(self._between_names(self.text, spell)))

    def line(self, line: Line) -> Line:
        """Return a line with this text and constraints that have the same names in place of the originals."""
        template = line.template
        if isinstance(template, tuple):
            template = tuple(token and self._token(token, self._names) for token in template)
        elif template is not None:
            template = self._hidden(template)
        pins = tuple(self._hidden(pin) if isinstance(pin, str) else (self._hidden(pin[0]), pin[1]) for pin in line.pins)
        return replace(line, source=self.text, pins=pins, template=template)

    def is_whole(self, translation: str) -> bool:
        """Return True if each name is in the translation exactly once."""
        return not self.originals or sorted(self._pattern.findall(translation)) == sorted(self.originals)

    def removed(self, translation: Translation, spell: Callable[[str], str]) -> Translation:
        """Return the translation with the originals in place of the names, and what is between them spelled otherwise.

        A name that is there again is left out; an original that is missing follows at the end.
        """
        if not self.originals:
            return replace(translation, text=spell(translation.text))
        missing = dict(self.originals)
        parts = self._between_names(translation.text, spell)
        parts[1::2] = [missing.pop(name, "") for name in parts[1::2]]
        text = " ".join(["".join(parts), *missing.values()])
        trace = translation.trace and self._in_trace(translation.trace)
        return replace(translation, text=text, tokens=self._in_tokens(translation.tokens), trace=trace)

    def _between_names(self, text: str, spell: Callable[[str], str]) -> list[str]:
        """Return text and names in turns, the text spelled otherwise."""
        if not self.originals:
            return [spell(text)]
        return [part if place % 2 else spell(part) for place, part in enumerate(self._pattern.split(text))]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)({'|'.join(self.originals)})(?!\w)")

    @cached_property
    def _names(self) -> dict[str, str]:
        return {original: name for name, original in self.originals.items()}

    def _hidden(self, text: str) -> str:
        for original, name in self._names.items():
            text = text.replace(original, name)
        return text

    def _in_tokens(self, tokens: list[str]) -> list[str]:
        return [self._token(token, self.originals) for token in tokens]

    def _in_trace(self, trace: Trace) -> Trace:
        return replace(
            trace,
            candidates=[
                replace(
                    candidate,
                    passes=[replace(step, tokens=self._in_tokens(step.tokens)) for step in candidate.passes],
                )
                for candidate in trace.candidates
            ],
        )

    @staticmethod
    def _token(token: str, texts: Mapping[str, str]) -> str:
        text = token.removeprefix(WORD_START)
        return token.removesuffix(text) + texts[text] if text in texts else token
