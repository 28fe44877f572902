"""The page's pure functions, run where they will run: in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import Page

if TYPE_CHECKING:
    from tests.browser.conftest import Visit


def call(page: Page, module: str, function: str, *arguments: Any) -> Any:
    """What a function of one of the page's modules returns."""
    script = "async ([path, name, given]) => (await import(path))[name](...given)"
    return page.evaluate(script, [f"/static/{module}.js", function, list(arguments)])


def test_subwords_become_text(visit: Visit) -> None:
    page = visit.open()
    for tokens, text in [
        (["▁The", "▁um", "brella", ".", "</s>"], "The umbrella."),
        (["▁", "A", "▁b", "</s>", "▁lost", "</s>"], "A b"),
        (["▁a", "<unk>", "▁b", "</s>"], "a \u2047 b"),
        (["the", "um@@", "brella", ".", "</s>"], "the umbrella ."),
        (["</s>"], ""),
        (["▁very", "▁very", "<s>", "▁very", "um", "<s>", "brella", "</s>", "<s>"], "very veryumbrella"),
    ]:
        assert call(page, "tokens", "textOf", tokens) == text


def test_every_position_belongs_to_one_word(visit: Visit) -> None:
    tokens = ["▁The", "▁um", "brella", ".", "</s>", "▁more", "</s>"]
    words = call(visit.open(), "tokens", "wordsOf", tokens)
    assert [(word["start"], word["end"]) for word in words] == [(0, 1), (1, 4), (4, 5), (5, 6), (6, 7)]


def test_sentences_are_found_again_in_the_whole_text_even_when_they_repeat(visit: Visit) -> None:
    page = visit.open()
    texts = ["Yes.", "Yes.", "", "No."]
    answer = {
        "translatedText": "  Yes.\n\nYes. No.\n",
        "sentences": [{"source": "s", "text": text, "score": 0, "passes": 1} for text in texts],
    }
    work = call(page, "sentences", "readAnswer", answer)
    assert work["between"] == ["  ", "\n\n", "", " ", "\n"]
    assert call(page, "sentences", "wholeText", work) == answer["translatedText"]


def test_what_makes_no_sense_in_an_address_is_as_by_default(visit: Visit) -> None:
    page = visit.open()
    cases: list[tuple[str, dict[str, Any]]] = [
        ("#T=0&l=17&speed=warp", {"iterations": 10, "lengths": 5, "speed": "balanced"}),
        ("#T=7&l=2&speed=own&from=de&to=en&q=a%26b", {"iterations": 7, "speed": "own", "text": "a&b", "target": "en"}),
        ("#T=4.5&l=x", {"iterations": 10, "lengths": 5}),
    ]
    for fragment, expected in cases:
        state = call(page, "address", "readAddress", fragment)
        assert {name: state[name] for name in expected} == expected
