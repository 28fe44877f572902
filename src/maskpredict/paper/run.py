"""`analyze`: runs the analyses in turn and saves each result as soon as it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskpredict.errors import UserError
from maskpredict.paper.analyses import ANALYSES
from maskpredict.paper.counts import write_counts
from maskpredict.paper.finding import Finding, setup_of, write_finding
from maskpredict.paper.models import MODEL
from maskpredict.paper.study import Study
from maskpredict.paper.translations import Stopped


@dataclass(frozen=True)
class AnalyzeReport:
    """Outcome of a call of `analyze`."""

    finished: bool
    """False if it was stopped early; the same call then continues."""
    done: tuple[str, ...]
    left: tuple[str, ...]


def analyze(study: Study, only: Sequence[str] = ()) -> AnalyzeReport:
    """Run the named analyses, or all; a number that cannot be measured becomes an empty cell with a reason."""
    names = list(dict.fromkeys(only)) or list(ANALYSES)
    check_names(names)
    _validate(study)
    for number, name in enumerate(names):
        study.environments.clear()
        try:
            result = ANALYSES[name].run(study)
        except Stopped:
            return AnalyzeReport(False, tuple(names[:number]), tuple(names[number:]))
        if study.counts:
            write_counts(study.out, study.counts)
        write_finding(study.out, Finding(ANALYSES[name], setup_of(study), result))
    return AnalyzeReport(True, tuple(names), ())


def check_names(names: Sequence[str]) -> None:
    """Raise `UserError` for an unknown analysis."""
    for name in names:
        if name not in ANALYSES:
            raise UserError(f"there is no analysis {name!r}; choose some of {', '.join(ANALYSES)}.")


def _validate(study: Study) -> None:
    """Reject mistakes that would leave every cell empty, such as a wrong folder or split."""
    if study.split not in study.dataset.splits:
        raise UserError(f"{study.data} has no split {study.split!r}; it has {', '.join(study.dataset.splits)}.")
    if study.limit is not None and study.limit < 1:
        raise UserError(f"the limit is {study.limit} sentences; use 1 or more.")
    study.normalized([])
    study.models.translator(MODEL)
