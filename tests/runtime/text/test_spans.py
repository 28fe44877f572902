"""Which parts of a text are spans that must not change, which numbers went missing, and how lines begin and end."""

from __future__ import annotations

import pytest

from maskpredict.languages import Languages
from maskpredict.runtime.text.frame import Frame, ended, same_ending
from maskpredict.runtime.text.numbers import convert_number, missing_numbers
from maskpredict.runtime.text.spans import SpanKind, find_spans


def spans(text: str) -> list[str]:
    return [span.of(text) for span in find_spans(text, lambda character: character not in "שלום²√")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello {name}, %(count)d of %s and %1$s in ${dir}.", ["{name}", "%(count)d", "%s", "%1$s", "${dir}"]),
        ("See (https://a.example/b?c=1), please.", ["https://a.example/b?c=1"]),
        ("Mail anna.m@example.com.", ["anna.m@example.com"]),
        ("Open /etc/hosts, C:\\Data\\New or main.py.", ["/etc/hosts", "C:\\Data\\New", "main.py"]),
        ("Run `a b` and f() with --flag=1.", ["`a b`", "f()", "--flag=1"]),
        ("Call +49 30 1234567 now.", ["+49 30 1234567"]),
        ("Version 1.2.3 of 2024-05-01.", ["1.2.3", "2024-05-01"]),
        ("<b>bold</b> text", ["<b>", "</b>"]),
        ("{hours}:{minutes}, {count}-fach", ["{hours}:{minutes}", "{count}-fach"]),
        ("{n, plural, one {# file} other {# files}}", ["{n, plural, one {# file} other {# files}}"]),
        ("He said שלום to x² and a √ b", ["שלום", "x²", "√"]),
    ],
)
def test_spans_are_found(text: str, found: list[str]) -> None:
    assert spans(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "A plain sentence, with a comma.",
        "50% of them and/or 3 km/h, 1.000.000 people at 12:30.",
        "That cost $5 (or 4 euros); see p. 12.",
        "She came in 1987 - alone; he didn't.",
    ],
)
def test_ordinary_text_has_none(text: str) -> None:
    assert spans(text) == []


def test_kinds_are_told_apart() -> None:
    kinds = [span.kind for span in find_spans("{name} has %d files 😊", lambda _: True)]
    assert kinds == [SpanKind.NAME, SpanKind.COUNT, SpanKind.SYMBOL]


@pytest.mark.parametrize(
    ("source", "target", "missing"),
    [
        ("Es sind 1.250,50 Euro.", "It is 1,250.50 euros.", []),
        ("Es sind 1.250,50 Euro.", "It is 125,050 euros.", ["1.250,50"]),
        ("Am 3. Mai kamen 17 Hunde.", "On 3 May, seventeen dogs came.", []),
        ("Am 3. Mai kamen 48 Hunde.", "On May 3rd, 84 dogs came.", ["48"]),
        ("2 und 2", "2 and 3", ["2"]),
        ("Sie hat 512 GB Platz.", "It has 512 MB of space.", ["512 GB"]),
        ("Das kostet 5 €.", "That costs EUR 5.", []),
        ("10 000 Leute", "10,000 people", []),
    ],
)
def test_a_number_that_changed_is_noticed(source: str, target: str, missing: list[str]) -> None:
    assert [span.of(source) for span in missing_numbers(source, target, Languages("de", "en"))] == missing


def test_quantities_are_converted_and_times_are_not() -> None:
    german = Languages("de", "en")
    assert [convert_number(text, german) for text in ("1.250,5 kg", "14.30", "2,4")] == ["1,250.5 kg", "14.30", "2.4"]
    assert convert_number("1,250.5 kg", german.reversed) == "1.250,5 kg"
    assert convert_number("2,4", Languages("de", "fr")) == "2,4"


@pytest.mark.parametrize("line", ["## Title", "- item ", "  > quoted", "1) first", "- [x] done", "plain", "-5 degrees"])
def test_a_frame_and_its_text_are_the_line(line: str) -> None:
    frame = Frame.of(line)
    assert frame.around(frame.text) == line
    assert frame.opening == line[: len(line) - len(line.lstrip(" #->x[]1)"))] or line.startswith("-5")


@pytest.mark.parametrize(
    ("source", "translation", "same"),
    [
        ("Heading", "Überschrift.", "Überschrift"),
        ("Heading", "Überschrift!", "Überschrift"),
        ("and so on", "und so weiter usw.", "und so weiter usw."),
        ("A sentence.", "Ein Satz", "Ein Satz."),
        ("Wait...", "Warte", "Warte"),
        ("Really?", "Wirklich?", "Wirklich?"),
    ],
)
def test_endings_are_those_of_the_source(source: str, translation: str, same: str) -> None:
    assert same_ending(source, translation) == same


def test_models_get_whole_sentences() -> None:
    assert [ended(text) for text in ("Milk", "Milk!", "Milk,", "(milk)")] == ["Milk.", "Milk!", "Milk,", "(milk)."]
