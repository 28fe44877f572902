"""Augmentation: training pairs repeated with other numbers, names, placeholders, letter case or final marks.

Each change is the same on both sides, so the pair stays a translation. They teach a model to copy strings that it has
never seen, which a corpus of ordinary sentences hardly does, and to keep capitals.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from maskpredict.bounds import NonNegativeInt, PositiveFloat, Share
from maskpredict.config import check_bounds
from maskpredict.corpus.reading import Pair
from maskpredict.errors import UserError

CORPUS_NAME = "augmented"
"""Name of the corpus that the changed pairs make up."""

NAMES_REMEMBERED = 20_000
"""Names of the text that replace others; a uniform sample of those seen so far would not be better."""

_NUMBER = re.compile(r"(?<![\w.,])\d{2,}(?![.,]?\w)")
"""Whole numbers of two or more digits. One digit often decides between singular and plural."""
_NAME = re.compile(r"(?<![\w.,])[^\W\d_a-zß-öø-ÿ][^\W\d_]{3,}(?!\w)")
"""Capitalised words of four or more letters; German capitalises all nouns, but those do not occur on both sides."""
_FINAL_MARK = re.compile(r"(?<=\w)[.!?]$")


@dataclass(frozen=True)
class AugmentationConfig:
    """Shares of the training pairs that are repeated in a changed form, and single words; with all at 0, none."""

    numbers: Share = 0.0
    """A number that both sides have is replaced by a random one."""
    names: Share = 0.0
    """A name that both sides have is replaced by another of the text, or by one made of two of them."""
    placeholders: Share = 0.0
    """A number or name that both sides have is replaced by a placeholder, address or file name, such as {0} or %s."""
    capitals: Share = 0.0
    """Both sides are written in capitals."""
    lower_case: Share = 0.0
    """The source is written in lower case, the target is not."""
    bare: Share = 0.0
    """The final mark is left out on both sides, as in headings and single words."""
    words: NonNegativeInt = 0
    """Most single words to add with their translations, from a lexicon that is made of the text."""
    weight: PositiveFloat = 1.0
    """Sampling weight of the changed pairs in training, relative to their number."""
    seed: NonNegativeInt = 1
    """Seed of all choices."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.total > 1:
            raise UserError(f"the shares of augmented pairs add up to {self.total:g}; use at most 1.")

    @property
    def total(self) -> float:
        """Share of pairs that are tried; those without a shared number or name are left out."""
        return self.numbers + self.names + self.placeholders + self.capitals + self.lower_case + self.bare

    @property
    def active(self) -> bool:
        """True if anything is added to the text."""
        return bool(self.total or self.words)


def augmented(pairs: Iterable[Pair], config: AugmentationConfig) -> Iterator[Pair]:
    """Changed copies of some pairs, the same for the same seed."""
    rng = random.Random(config.seed)
    names: list[str] = []
    for pair in pairs:
        shared_names = _shared(_NAME, pair)
        for name in shared_names:
            _remember(names, name, rng)
        draw = rng.random()
        if draw < config.numbers:
            changed = _with_replaced(pair, _shared(_NUMBER, pair), lambda: _number(rng), rng)
        elif (draw := draw - config.numbers) < config.names:
            changed = _with_replaced(pair, shared_names, lambda: _name(names, rng), rng)
        elif (draw := draw - config.names) < config.placeholders:
            both = _shared(_NUMBER, pair) + shared_names
            changed = _with_replaced(pair, both, lambda: _placeholder(rng), rng)
        elif (draw := draw - config.placeholders) < config.capitals:
            changed = Pair(pair.source.upper(), pair.target.upper())
        elif (draw := draw - config.capitals) < config.lower_case:
            changed = Pair(pair.source.lower(), pair.target)
        elif draw - config.lower_case < config.bare:
            changed = _bare(pair)
        else:
            continue
        if changed != pair:
            yield changed


def _bare(pair: Pair) -> Pair:
    """The pair without its final marks; unchanged if a side has none."""
    if not all(_FINAL_MARK.search(side) for side in pair):
        return pair
    return Pair(*(side[:-1] for side in pair))


def _shared(pattern: re.Pattern[str], pair: Pair) -> list[str]:
    """The strings that match exactly once on each side and are equal."""
    source, target = pattern.findall(pair.source), pattern.findall(pair.target)
    return [word for word in source if source.count(word) == 1 and target.count(word) == 1]


def _with_replaced(pair: Pair, strings: list[str], make: Callable[[], str], rng: random.Random) -> Pair:
    """The pair with one of the strings replaced on both sides; unchanged if there is none."""
    if not strings:
        return pair
    old, new = rng.choice(strings), make()
    whole = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    return Pair(*(whole.sub(lambda _: new, side, count=1) for side in pair))


def _remember(names: list[str], name: str, rng: random.Random) -> None:
    if len(names) < NAMES_REMEMBERED:
        names.append(name)
    else:
        names[rng.randrange(NAMES_REMEMBERED)] = name


def _number(rng: random.Random) -> str:
    return str(rng.randrange(10, 10 ** rng.randint(2, 8)))


def _name(names: list[str], rng: random.Random) -> str:
    """A name of the text, or the beginning of one with the end of another."""
    first, second = rng.choice(names), rng.choice(names)
    if rng.random() < 0.5:
        return first
    return first[: rng.randint(2, len(first) - 1)] + second[rng.randint(2, len(second) - 1) :]


def _placeholder(rng: random.Random) -> str:
    def letters(most: int) -> str:
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, most)))

    digit = rng.randrange(10)
    return rng.choice(
        [
            *(f"{{{digit}}}", f"{{{letters(8)}}}", f"%{digit}", "%s", "%d", f"${digit}", f"${letters(8).upper()}"),
            *(f"<{letters(3)}>", f"[{digit}]", f"__{letters(6).upper()}__", f"@{letters(10)}", f"#{_number(rng)}"),
            *(f"https://{letters(10)}.org/{letters(8)}", f"{letters(8)}@{letters(8)}.com", f"www.{letters(10)}.de"),
            *(f"{letters(8)}_{letters(8)}.txt", f"{letters(6)}.py", f"v{digit}.{rng.randrange(20)}"),
            *(f"{letters(3).upper()}-{_number(rng)}", f"{rng.randrange(1900, 2100)}-0{1 + digit % 9}-1{digit}"),
        ]
    )
