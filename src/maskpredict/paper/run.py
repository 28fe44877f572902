"""`analyze`: run the analyses, one after the other, and write down what each found as soon as it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.errors import UserError
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.finding import Finding, setup_of, write_finding
from maskpredict.paper.models import MODEL
from maskpredict.paper.study import Study
from maskpredict.paper.translations import Stopped


@dataclass(frozen=True)
class AnalyzeReport:
    """How a call of `analyze` ended."""

    finished: bool
    """False when it was told to stop; the same call continues."""
    done: tuple[str, ...]
    left: tuple[str, ...]


def analyze(study: Study, only: Sequence[str] = ()) -> AnalyzeReport:
    """Run the named analyses, or all. What cannot be measured becomes an empty cell with a reason."""
    names = list(dict.fromkeys(only)) or list(ANALYSES)
    check_names(names)
    _validate(study)
    for number, name in enumerate(names):
        study.machines.clear()
        try:
            result = ANALYSES[name].run(study)
        except Stopped:
            return AnalyzeReport(False, tuple(names[:number]), tuple(names[number:]))
        write_finding(study.out, Finding(ANALYSES[name], setup_of(study), result))
    return AnalyzeReport(True, tuple(names), ())


def check_names(names: Sequence[str]) -> None:
    """Refuse the name of an analysis that there is not."""
    for name in names:
        if name not in ANALYSES:
            raise UserError(f"there is no analysis {name!r}; choose some of {', '.join(ANALYSES)}.")


def _validate(study: Study) -> None:
    """A wrong folder or name is a mistake to be told at once, not a hundred empty cells."""
    if study.split not in study.dataset.splits:
        raise UserError(f"{study.data} has no split {study.split!r}; it has {', '.join(study.dataset.splits)}.")
    if study.limit is not None and study.limit < 1:
        raise UserError(f"the limit is {study.limit} sentences; use 1 or more.")
    study.normalized([])
    study.models.translator(MODEL)
