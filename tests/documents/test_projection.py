"""Tags go around the words that translate those they were around: none is lost, none doubled, all well nested."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from maskpredict.documents.block import Item, Sentence, Tag, TagKind, Text
from maskpredict.documents.projection import MAX_PLACED, place_tags
from maskpredict.runtime.word_alignment import WordAlignment

OPEN, CLOSE, POINT = TagKind.OPEN, TagKind.CLOSE, TagKind.POINT


def sentence(*parts: str | tuple[TagKind, int]) -> Sentence:
    return Sentence(tuple(Text(part) if isinstance(part, str) else Tag(part[0], part[1], part[1]) for part in parts))


def spelled(items: list[Item]) -> str:
    marks = {OPEN: "<{}>", CLOSE: "</{}>", POINT: "<{}/>"}
    return "".join(item.text if isinstance(item, Text) else marks[item.kind].format(item.pair) for item in items)


def aligned(source: str, translation: str, *pairs: tuple[int, int]) -> WordAlignment:
    """An alignment of words by their numbers in the translation and the source."""
    sources, targets = source.split(), translation.split()
    weights = [[8.0 if (t, s) in pairs else 0.0 for s in range(len(sources))] for t in range(len(targets))]
    return WordAlignment(tuple(map(len, sources)), tuple(map(len, targets)), tuple(map(tuple, weights)))


def test_a_tag_follows_its_word() -> None:
    source = sentence("Wir gehen ", (OPEN, 0), "morgen", (CLOSE, 0), " schwimmen.")
    translation = "We will swim tomorrow."
    items = place_tags(source, translation, aligned(source.text, translation, (0, 0), (1, 1), (2, 3), (3, 2)))
    assert spelled(items) == "We will swim <0>tomorrow</0>."


def test_tags_inside_others_stay_inside_them() -> None:
    source = sentence("Die ", (OPEN, 0), "Frau ", (OPEN, 1), "im Zug", (CLOSE, 1), (CLOSE, 0), " liest.")
    translation = "There reads the woman on-train."
    items = place_tags(source, translation, aligned(source.text, translation, (1, 4), (3, 1), (4, 3), (4, 2)))
    assert spelled(items) == "There reads the <0>woman <1>on-train</1></0>."


def test_two_tags_change_places_with_their_words() -> None:
    source = sentence((OPEN, 0), "eins", (CLOSE, 0), " und ", (OPEN, 1), "zwei", (CLOSE, 1), " Ende")
    source = Sentence((Text("Da "), *source.items))
    translation = "There second and firstly end"
    items = place_tags(source, translation, aligned(source.text, translation, (0, 0), (1, 3), (2, 2), (3, 1), (4, 4)))
    assert spelled(items) == "There <1>second</1> and <0>firstly</0> end"


def test_what_no_other_word_explains_at_the_beginning_belongs_to_what_begins_the_source() -> None:
    source = sentence((OPEN, 0), "Trotz Regen", (CLOSE, 0), " gingen wir.")
    source = Sentence((Text(""), *source.items))
    translation = "In spite of rain we went."
    items = place_tags(source, translation, aligned(source.text, translation, (1, 0), (3, 1), (4, 3), (5, 2)))
    assert spelled(items) == "<0>In spite of rain</0> we went."


def test_punctuation_is_no_word_for_a_tag_when_there_are_others() -> None:
    source = sentence("Was kostet ein ", (OPEN, 0), "Ticket", (CLOSE, 0), " ", (OPEN, 1), "heute", (CLOSE, 1), "?")
    translation = "How much is a ticket ?"
    items = place_tags(source, translation, aligned(source.text, translation, (0, 0), (1, 0), (2, 1), (3, 2), (4, 3)))
    assert spelled(items).endswith("<0>ticket</0> ?")


def test_a_point_stays_behind_its_word() -> None:
    source = sentence("Der Hund", (POINT, 0), " bellt laut.")
    translation = "Loudly barks the doggy."
    items = place_tags(source, translation, aligned(source.text, translation, (0, 3), (1, 2), (3, 1)))
    assert spelled(items) == "Loudly barks the doggy<0/>."


def test_a_piece_of_code_takes_the_place_of_its_translation() -> None:
    code = Tag(POINT, "<code>f(x)</code>", text="f(x)")
    source = Sentence((Text("Rufe "), code, Text(" auf.")))
    assert place_tags(source, "Call f(x).", None) == [Text("Call "), code, Text(".")]
    alignment = aligned(source.text, "Call garbled now.", (0, 0), (1, 1), (2, 2))
    assert place_tags(source, "Call garbled now.", alignment) == [Text("Call "), code, Text(" now.")]


def test_a_tag_that_goes_on_beyond_the_sentence_reaches_its_edge() -> None:
    source = sentence("Wir gehen ", (OPEN, 0), "morgen früh")
    assert spelled(place_tags(source, "We go tomorrow morning", None)) == "We go <0>tomorrow morning"
    source = sentence("Wir gehen", (CLOSE, 0), " morgen früh")
    assert spelled(place_tags(source, "We go tomorrow morning", None)) == "We go</0> tomorrow morning"


def test_a_tag_around_a_space_is_around_no_word() -> None:
    source = sentence("Wir gehen", (OPEN, 0), " ", (CLOSE, 0), "morgen schwimmen")
    assert "<0></0>" in spelled(place_tags(source, "We will swim tomorrow", None))


def test_a_sentence_that_stays_the_same_keeps_its_tags_where_they_are() -> None:
    source = sentence("a ", (OPEN, 0), " ", (CLOSE, 0), "b")
    assert place_tags(source, source.text, None) == list(source.items)


@st.composite
def tagged(draw: st.DrawFn, limit: int = 8) -> Sentence:
    """A sentence with any tags in it, also some that begin before it or end after it."""
    items: list[Item] = []
    stack: list[int] = []
    for number in range(draw(st.integers(0, limit))):
        items.append(Text(draw(st.sampled_from(["Ein ", "Hund", ", ", "bellt ", " ", "x", "日本"]))))
        kind = draw(st.sampled_from(["open", "close", "point", "code", "stray"]))
        if kind == "open":
            items.append(Tag(OPEN, number, number))
            stack.append(number)
        elif kind == "close" and stack:
            pair = stack.pop()
            items.append(Tag(CLOSE, number, pair))
        elif kind == "close":
            items.append(Tag(CLOSE, number, 1_000 + number))
        else:
            items.append(Tag(POINT, number, text="f(x)" if kind == "code" else ""))
    return Sentence((*items, Text("Ende.")))


def is_nested(items: list[Item]) -> bool:
    stack: list[int] = []
    for item in items:
        if isinstance(item, Tag) and item.kind is OPEN:
            stack.append(item.pair)
        elif isinstance(item, Tag) and item.kind is CLOSE and stack and stack.pop() != item.pair:
            return False
    return True


@settings(max_examples=300)
@given(tagged() | tagged(limit=2 * MAX_PLACED), st.text(alphabet="ab .,日\u0301", max_size=40), st.data())
def test_no_tag_is_lost_or_doubled_and_all_are_nested(source: Sentence, translation: str, data: st.DataObject) -> None:
    alignment = data.draw(st.none() | alignments(*data.draw(st.tuples(*[st.integers(0, 6)] * 2))))
    items = place_tags(source, translation, alignment)
    tags = [item for item in items if isinstance(item, Tag)]
    assert sorted(tags, key=lambda tag: tag.source) == [item for item in source.items if isinstance(item, Tag)]
    assert is_nested(items) or not is_nested(list(source.items))
    if not any(tag.text for tag in tags):
        assert "".join(item.text for item in items) == translation


def alignments(units: int, subwords: int) -> st.SearchStrategy[WordAlignment]:
    sizes = st.integers(0, 9)
    rows = st.lists(st.tuples(*[st.floats(0, 20)] * units), min_size=subwords, max_size=subwords)
    return st.builds(
        lambda source, target, weights: WordAlignment(source, target, tuple(weights)),
        st.tuples(*[sizes] * units), st.tuples(*[sizes] * subwords), rows,
    )  # fmt: skip
