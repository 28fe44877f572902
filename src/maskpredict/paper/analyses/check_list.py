"""Check-list: how often numbers, names, negation and the like survive, on sentences that come with the package.

BLEU hardly notices a wrong digit. Each system decodes as its folder says. The analysed model has a further column for
what `maskpredict translate` gives, which protects some of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.errors import UserError
from maskpredict.paper.analysis import Analysis
from maskpredict.paper.cell import Cell
from maskpredict.paper.check_sentences import CHECK_SENTENCES, CheckSentence
from maskpredict.paper.models import MODEL, title
from maskpredict.paper.report.published_numbers import direction_of
from maskpredict.paper.study import Study
from maskpredict.paper.table import Column, ResultTable

PROTECTED = f"{title(MODEL)}, protected"


@dataclass(frozen=True)
class CheckRow:
    """What the systems keep in sentences of one kind."""

    kind: str
    items: int
    """Things to keep; a sentence may have several."""
    kept: dict[str, Cell]
    """Share of them that a system keeps, 0 to 1, by its name."""


@dataclass(frozen=True)
class CheckedSentence:
    """The translations of one sentence."""

    kind: str
    source: str
    translations: dict[str, str]
    """By the name of the system."""


@dataclass(frozen=True)
class CheckList:
    """All kinds of sentences, and what became of each sentence."""

    rows: tuple[CheckRow, ...]
    sentences: tuple[CheckedSentence, ...]
    reason: str = ""
    """Reason why there is nothing."""


def check_list(study: Study) -> CheckList:
    """Translate the sentences with every model that was given, and look for what must be kept."""
    languages = study.dataset.languages
    sentences = CHECK_SENTENCES.get(direction_of(languages.source, languages.target))
    if sentences is None:
        return CheckList((), (), f"no sentences from {languages.source} to {languages.target} come with the package.")
    translations: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for role in study.competitors.paths:
        for name, raw in ((title(role), True), *([(PROTECTED, False)] if role == MODEL else [])):
            try:
                translator = study.models.translator(role)
                output = translator.translate([sentence.source for sentence in sentences], raw=raw)
                translations[name] = [translation.text for translation in output]
            except UserError as error:
                reasons[name] = str(error)
    kinds = dict.fromkeys(sentence.kind for sentence in sentences)
    return CheckList(
        tuple(_row(kind, sentences, translations, reasons) for kind in kinds),
        tuple(
            CheckedSentence(
                sentence.kind, sentence.source, {name: texts[place] for name, texts in translations.items()}
            )
            for place, sentence in enumerate(sentences)
        ),
    )


def _row(
    kind: str, sentences: Sequence[CheckSentence], translations: dict[str, list[str]], reasons: dict[str, str]
) -> CheckRow:
    of_kind = [(place, sentence) for place, sentence in enumerate(sentences) if sentence.kind == kind]
    items = [(place, wanted) for place, sentence in of_kind for wanted in sentence.kept]
    kept = {
        name: Cell(round(sum(bool(re.search(wanted, texts[place])) for place, wanted in items) / len(items), 4))
        for name, texts in translations.items()
    }
    return CheckRow(kind, len(items), kept | {name: Cell(reason=reason) for name, reason in reasons.items()})


def _table(result: CheckList) -> ResultTable:
    if result.reason:
        return ResultTable((Column("kept"),), ((result.reason,),))
    names = list(dict.fromkeys(name for row in result.rows for name in row.kept))
    columns = (Column("kept"), Column("things to keep"), *(Column(name, decimals=0, percent=True) for name in names))
    return ResultTable(columns, tuple((row.kind, str(row.items), *row.kept.values()) for row in result.rows))


ANALYSIS = Analysis(
    name="check_list",
    title="What is kept",
    about="Share of numbers, names and the like that survive translation, in sentences that come with the package. "
    "Each system decodes as its folder says; protected is what `maskpredict translate` gives.",
    result=CheckList,
    run=check_list,
    table=_table,
)
