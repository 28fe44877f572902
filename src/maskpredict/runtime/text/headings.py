"""Single words and short headings, which models of whole sentences translate poorly.

They are asked for twice, as a sentence and as an item of a list, and the likelier translation is taken. A sentence is
likelier to become one ("I would like to make a comment") or to say a word twice; docs/text.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from maskpredict.languages import Languages
from maskpredict.runtime.translation import Translation

MAX_WORDS, MAX_MORE_WORDS = 3, 1
"""Words of a heading that is asked for twice, and by how many its translation should have more."""
ITEM_MARKS = "-;"
ARTICLES = {"en": ("a", "an", "the"), "de": ("der", "die", "das", "ein", "eine", "dem", "den", "des", "einen", "einem")}
_WORD = re.compile(r"\w+")
_ITEM = re.compile(r"[-–•\s]*(.*?)[\s;]*", re.DOTALL)


def is_short(text: str) -> bool:
    """Return whether a text without a mark at its end is worth to be asked for twice."""
    return len(text.split()) <= MAX_WORDS


def as_item(text: str) -> str:
    """Return a heading as an item of a list."""
    return f"- {text};"


def without_marks(source: str, translation: Translation) -> Translation:
    """Return the translation of an item as that of a heading, with a capital if the source has one."""
    hypotheses = tuple(without_marks(source, one) for one in translation.hypotheses)
    match = _ITEM.fullmatch(translation.text)
    text = match[1] if match else translation.text
    if source[:1].isupper():
        text = text[:1].upper() + text[1:]
    return replace(translation, text=text, hypotheses=hypotheses)


def without_article(source: str, text: str, languages: Languages) -> str:
    """Return a heading in English without an article that its source does not have: Programm is Programme."""
    first = source.split(maxsplit=1)[0].lower()
    article, _, rest = text.partition(" ")
    if languages.target != "en" or first in ARTICLES.get(languages.source, (first,)):
        return text
    if not rest or article.lower() not in ARTICLES["en"]:
        return text
    return rest[0].upper() + rest[1:] if article[0].isupper() else rest


def best_heading(source: str, translations: Sequence[Translation]) -> Translation:
    """Return the likeliest of those that look like a heading, or of all."""
    return max(translations, key=lambda one: (_is_like_heading(source, one.text), one.score))


def _is_like_heading(source: str, text: str) -> bool:
    words = _WORD.findall(text.casefold())
    no_longer = len(text.split()) <= len(source.split()) + MAX_MORE_WORDS
    return bool(words) and no_longer and len(set(words)) == len(words)
