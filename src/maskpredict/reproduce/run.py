"""`reproduce`: go through the stages of a recipe, as far as the time allows, skipping what is done."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from maskpredict.errors import UserError
from maskpredict.reproduce.deadline import Deadline
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.records import Record, fingerprint, set_aside
from maskpredict.reproduce.stages import Stage, StageContext, stages

COMPANY = int(os.environ.get("WORLD_SIZE", "1")) > 1
"""True under torchrun, when other processes work beside this one."""
FIRST = os.environ.get("RANK", "0") == "0"
"""True for the one process that writes records."""


class State(StrEnum):
    """Where a stage stands."""

    waiting = "waiting"
    begun = "begun"
    finished = "finished"
    out_of_date = "out of date"


@dataclass(frozen=True)
class StageState:
    """Where a stage of a recipe stands, and why."""

    stage: Stage
    state: State
    values: dict[str, Any]
    fingerprint: str
    record: Record | None

    @property
    def reason(self) -> str:
        """Why it is out of date, in words."""
        return self.record.difference(self.values) if self.record and self.state is State.out_of_date else ""

    @property
    def seconds(self) -> float:
        """Time spent on it so far."""
        return self.record.seconds if self.record else 0.0


@dataclass(frozen=True)
class Reproduction:
    """How a call of `reproduce` ended."""

    finished: bool
    left: tuple[str, ...]
    """Stages that the same call has to go on with, in order."""


def stage_states(recipe: Recipe, work: Path) -> list[StageState]:
    """Where each stage stands in this folder."""
    states: dict[str, StageState] = {}
    for stage in stages(recipe):
        values = stage.values(recipe)
        before = states[stage.needs[-1]].fingerprint if stage.needs else ""
        now = fingerprint(values, before)
        record = Record.read(_record_path(work, stage))
        state = _state(record, now)
        if record and state is State.out_of_date and record.can_continue(values, before, stage.growing):
            state = State.begun
        states[stage.name] = StageState(stage, state, values, now, record)
    return list(states.values())


def reproduce(
    recipe: Recipe,
    work: Path,
    *,
    data: Path | None = None,
    stage: str | None = None,
    seconds: float | None = None,
    redo: bool = False,
    quiet: bool = False,
) -> Reproduction:
    """Make the stages of a recipe in the folder `work`, or go on with them, for at most `seconds`.

    `data` is where the corpora lie, `stage` the only stage to make. A stage whose values have changed is made again
    only with `redo`, and its earlier result is kept under another name.
    """
    context = StageContext(recipe, work, data, Deadline(seconds), quiet)
    states = stage_states(recipe, work)
    wanted = _wanted(states, stage)
    if stage is not None:
        _check_inputs(wanted[0], states, work)
    _validate_states(wanted, work, redo)
    for number, own in enumerate(wanted):
        if own.state is State.finished:
            continue
        _refuse_several_processes(own.stage)
        if own.state is State.out_of_date and FIRST:
            kept = set_aside([*(work / name for name in own.stage.makes), _record_path(work, own.stage)])
            logging.getLogger(__name__).warning("The earlier result of %s is kept as %s.", own.stage.name, kept)
        if own.state is State.out_of_date:
            own = replace(own, record=None)
        if context.deadline.over or not _make(own, context):
            return Reproduction(False, tuple(later.stage.name for later in wanted[number:]))
    return Reproduction(True, ())


def _make(own: StageState, context: StageContext) -> bool:
    """Work on a stage and write down how far it came."""
    path, started = _record_path(context.work, own.stage), time.monotonic()
    record = Record(own.fingerprint, own.values, seconds=own.seconds)
    context.work.mkdir(parents=True, exist_ok=True)
    if FIRST:
        record.write(path)
    finished = own.stage.run(context)
    seconds = round(own.seconds + time.monotonic() - started, 1)
    if FIRST:
        replace(record, finished=finished, seconds=seconds).write(path)
    return finished


def _refuse_several_processes(stage: Stage) -> None:
    """What one process does must not be done by several at once."""
    if COMPANY and not stage.shared:
        raise UserError(f"the stage {stage.name} is made by one process; call it without torchrun.")


def _wanted(states: list[StageState], name: str | None) -> list[StageState]:
    if name is None:
        return states
    found = [own for own in states if own.stage.name == name]
    if not found:
        names = ", ".join(own.stage.name for own in states)
        raise UserError(f"there is no stage {name!r}; choose one of {names}.")
    return found


def _check_inputs(wanted: StageState, states: list[StageState], work: Path) -> None:
    """What the stage reads must be there; its record may have stayed on another machine, but must not contradict."""
    for own in states:
        if own.stage.name not in wanted.stage.needs:
            continue
        result = work / own.stage.makes[0]
        there = result.exists() and own.state in (State.finished, State.waiting)
        if not there:
            state = own.state if result.exists() else "not there"
            raise UserError(f"{wanted.stage.name} needs {result}, which is {state}; make the stage {own.stage.name}.")


def _validate_states(wanted: list[StageState], work: Path, redo: bool) -> None:
    """Nothing is thrown away or built upon unless it is known to be what was asked for."""
    for own in wanted:
        name, result = own.stage.name, work / own.stage.makes[0]
        if own.state is State.out_of_date and not redo:
            raise UserError(
                f"the stage {name} in {work} is out of date ({own.reason}); go back to the old values, "
                "or add --redo to make it and what follows again, keeping the old results beside."
            )
        if own.state is State.waiting and result.exists():
            raise UserError(
                f"{result} is there, but {_record_path(work, own.stage)}, which says how it was made, is not; "
                "bring it along, or move the folder away."
            )
        if own.state is State.finished and not result.exists():
            raise UserError(
                f"{_record_path(work, own.stage)} says that {name} is finished, but {result} is not there; "
                "bring it along, name a later stage with --stage, or delete that file to make it again."
            )


def _state(record: Record | None, now: str) -> State:
    if record is None:
        return State.waiting
    if record.fingerprint != now:
        return State.out_of_date
    return State.finished if record.finished else State.begun


def _record_path(work: Path, stage: Stage) -> Path:
    return work / f"{stage.name}.json"
