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


def test_the_words_of_a_text_are_found_among_its_tokens(visit: Visit) -> None:
    page = visit.open()
    tokens = ["▁The", "▁um", "brella", ".", "</s>", "▁lost"]
    assert call(page, "tokens", "placesOfWords", tokens, "The umbrella.") == [0, 1]
    assert call(page, "tokens", "placesOfWords", tokens, "The big umbrella.") is None
    assert call(page, "tokens", "lettersOf", tokens, {"start": 1, "end": 4}) == {"start": 1, "end": 3}
    assert call(page, "tokens", "lettersOf", tokens, {"start": 3, "end": 4}) is None
    assert call(page, "tokens", "lettersOf", tokens, {"start": 5, "end": 6}) is None
    assert call(page, "tokens", "ended", tokens) == ["▁The", "▁um", "brella", ".", "</s>"]


def test_terms_are_read_as_they_are_written(visit: Visit) -> None:
    page = visit.open()
    terms = [{"source": "Haus", "target": "house", "soft": False}, {"source": "rot", "target": "red", "soft": True}]
    assert call(page, "terms", "parseTerms", call(page, "terms", "writtenTerms", terms)) == terms
    assert call(page, "terms", "parseTerms", 'a,"b, ""c"""\r\n\r\nhalf\r\nd,e,soft', {"csv": True}) == [
        {"source": "a", "target": 'b, "c"', "soft": False},
        {"source": "d", "target": "e", "soft": True},
    ]
