"""Numbers of a text, to notice one that changed in translation.

    missing_numbers("Es kostet 1.250,50 Euro.", "It costs 1,250 euros.", Languages("de", "en"))  # the span of 1.250,50

Numbers are compared by value, as the two languages write them. Small ones may become words.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from maskpredict.languages import Languages
from maskpredict.runtime.text.spans import Span, SpanKind

_NUMBER = re.compile(r"\d{1,3}(?:[  ]\d{3})+(?![\d])(?:,\d+)?|\d+(?:[.,'’]\d+)*")
_UNIT = re.compile(
    r"[ \u00a0\u202f]?"
    r"(°[CF]?|%|‰|[€$£]|[kcmµn]?m[²³]?(?:/[sh])?|[kmµ]?g|[kMG]?Wh?|[kMGT]i?B|[kMG]?Hz|[mc]?l|mbar)(?!\w)"
)
_CURRENCIES = {
    "€": "€|EUR|[Ee]uro",
    "$": r"\$|USD|[Dd]ollar",
    "£": "£|GBP|[Pp]ound|[Pp]fund",
    "%": "%|[Pp]er ?cent|Prozent",
}
_POINT_LANGUAGES = frozenset({"en", "zh", "ja", "ko", "he", "th", "hi"})
"""Languages that write a decimal point; others write a comma."""
_WORDS = {
    "en": "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "seventeen|eighteen|nineteen|twenty",
    "de": "null|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|"
    "siebzehn|achtzehn|neunzehn|zwanzig",
}
_OTHER_WORDS = {
    "en": {
        1: "a|an|first|once",
        2: "second|both|twice|double",
        3: "third",
        5: "fifth",
        8: "eighth",
        9: "ninth",
        12: "twelfth",
        20: "twentieth",
    },
    "de": {1: "erste|einmal", 3: "dritte", 7: "siebte", 16: "sechzehn"},
}
_SMALL = 20
"""Largest number that may become a word."""


def missing_numbers(source: str, target: str, languages: Languages) -> list[Span]:
    """Return the spans of the source's numbers, with their units, that are not in the target."""
    numbers = list(_NUMBER.finditer(source))
    if not numbers:
        return []
    available = Counter(value for match in _NUMBER.finditer(target) for value in _values(match[0], languages.target))
    missing = []
    for match in numbers:
        values, unit = _values(match[0], languages.source), _UNIT.match(source, match.end())
        has_unit = unit is None or _has_unit(target, unit[1])
        if has_unit and all(available[value] > 0 for value in values):
            available.subtract(values)
        elif not (has_unit and _is_spelled(match[0], target, languages.target)):
            missing.append(Span(match.start(), unit.end() if unit else match.end(), SpanKind.NUMBER))
    return missing


def with_unit_spaces(source: str, target: str) -> str:
    """Return the target with the source's spaces, or none, in front of units; money and percent are the language's."""
    numbers = list(_NUMBER.finditer(source))
    units = [unit for match in numbers if (unit := _UNIT.match(source, match.end())) and unit[1] not in _CURRENCIES]
    spaces: dict[str, set[str]] = {}
    for unit in units:
        spaces.setdefault(unit[1], set()).add(unit[0].removesuffix(unit[1]))
    for unit_text, (space, *others) in spaces.items():
        if not others:
            target = re.sub(rf"(?<=\d)[ \u00a0\u202f]?({re.escape(unit_text)})(?!\w)", rf"{space}\1", target)
    return target


def convert_number(text: str, languages: Languages) -> str:
    """Return a number and its unit as the target language writes them; what is no quantity, such as a time, stays."""
    source, target = _marks(languages.source), _marks(languages.target)
    quantity = re.match(
        rf"\d{{1,3}}(?:\{source.group}\d{{3}})+(?!\d)(?:\{source.decimal}\d+)?|\d+\{source.decimal}\d+", text
    )
    if quantity is None or source == target:
        return text
    swap = {source.group: target.group, source.decimal: target.decimal}
    return "".join(swap.get(character, character) for character in quantity[0]) + text[quantity.end() :]


class _Marks(NamedTuple):
    """Marks within numbers."""

    group: str
    decimal: str


def _marks(language: str) -> _Marks:
    return _Marks(",", ".") if language in _POINT_LANGUAGES else _Marks(".", ",")


def _values(number: str, language: str) -> list[str]:
    """Return a number as digits with a decimal point, or as several numbers if it is no quantity, such as a time."""
    group, decimal = _marks(language)
    plain = re.sub(rf"(?<=\d)[{group}  '’](?=\d{{3}}(?!\d))", "", number)
    whole, mark, fraction = plain.partition(decimal)
    if mark and fraction.isdecimal() and whole.isdecimal():
        return [f"{int(whole)}.{fraction.rstrip('0') or '0'}"]
    return [str(int(part)) for part in re.findall(r"\d+", plain)]


def _is_spelled(number: str, target: str, language: str) -> bool:
    if not number.isdecimal() or int(number) > _SMALL:
        return False
    if language not in _WORDS:
        return True
    value = int(number)
    stems = f"{_WORDS[language].split('|')[value]}|{_OTHER_WORDS[language].get(value, 'zero')}"
    return re.search(rf"(?:\b|-)(?:{stems})", target, re.IGNORECASE) is not None


def _has_unit(target: str, unit: str) -> bool:
    if unit in _CURRENCIES:
        return re.search(_CURRENCIES[unit], target) is not None
    return re.search(rf"\d[ \u00a0\u202f]?{re.escape(unit)}(?!\w)", target) is not None
