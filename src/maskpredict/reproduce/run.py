"""`reproduce`: runs the stages of a recipe within a time limit, and skips finished ones."""

from __future__ import annotations

import logging
import platform
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch

from maskpredict.errors import UserError
from maskpredict.reproduce.deadline import Deadline
from maskpredict.reproduce.preparation import check_test_sets
from maskpredict.reproduce.recipe import Recipe
from maskpredict.reproduce.records import Record, fingerprint, set_aside
from maskpredict.reproduce.stages import Stage, StageContext, stages
from maskpredict.training.distributed import is_distributed, is_main_process


def machine_name() -> str:
    """Product name of the first GPU, or the architecture of the CPU."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    return f"cpu ({platform.machine()})"


class State(StrEnum):
    """State of a stage."""

    waiting = "waiting"
    unfinished = "unfinished"
    finished = "finished"
    out_of_date = "out of date"


@dataclass(frozen=True)
class StageState:
    """A stage of a recipe with its state and its record."""

    stage: Stage
    state: State
    values: dict[str, Any]
    fingerprint: str
    record: Record | None

    @property
    def reason(self) -> str:
        """Reason why it is out of date; empty if it is not."""
        return self.record.difference(self.values) if self.record and self.state is State.out_of_date else ""

    @property
    def seconds(self) -> float:
        """Time spent on the stage so far."""
        return self.record.seconds if self.record else 0.0


@dataclass(frozen=True)
class Reproduction:
    """Outcome of a call of `reproduce`."""

    finished: bool
    left: tuple[str, ...]
    """Unfinished stages, in order; the same call continues with them."""


def stage_states(recipe: Recipe, work: Path) -> list[StageState]:
    """State of each stage in this folder."""
    states: dict[str, StageState] = {}
    for stage in stages(recipe):
        values = stage.values(recipe)
        before = states[stage.needs[-1]].fingerprint if stage.needs else ""
        now = fingerprint(values, before)
        record = Record.read(_record_path(work, stage))
        state = _state(record, now)
        if record and state is State.out_of_date and record.can_continue(values, before, stage.growing):
            state = State.unfinished
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
    command: str = "",
) -> Reproduction:
    """Run the stages of a recipe in the folder `work`, or continue them, for at most `seconds`.

    `data` is the folder of the corpora, `stage` the only stage to run. A stage whose values have changed is run again
    only with `redo`, and its earlier result is kept under another name. `command` is that of this call, for reports.
    """
    context = StageContext(recipe, work, data, Deadline(seconds), quiet, command)
    states = stage_states(recipe, work)
    selected = _selected(states, stage)
    if stage is not None:
        _check_inputs(selected[0], states, work)
    _validate_states(selected, work, redo)
    if recipe.outside and {"distill", "prepare"} <= {one.stage.name for one in selected if one.state != State.finished}:
        check_test_sets(recipe, data)
    for number, current in enumerate(selected):
        if current.state is State.finished:
            continue
        _refuse_several_processes(current.stage)
        if current.state is State.out_of_date and is_main_process():
            kept = set_aside([*(work / name for name in current.stage.makes), _record_path(work, current.stage)])
            logging.getLogger(__name__).warning("The earlier result of %s is kept as %s.", current.stage.name, kept)
        if current.state is State.out_of_date:
            current = replace(current, record=None)
        if context.deadline.over or not _run_stage(current, context):
            return Reproduction(False, tuple(later.stage.name for later in selected[number:]))
    return Reproduction(True, ())


def _run_stage(current: StageState, context: StageContext) -> bool:
    """Run a stage and write its record; returns True if it is finished."""
    path, started = _record_path(context.work, current.stage), time.monotonic()
    record = Record(current.fingerprint, current.values, seconds=current.seconds, machine=machine_name())
    context.work.mkdir(parents=True, exist_ok=True)
    if is_main_process():
        record.write(path)
    finished = current.stage.run(context)
    seconds = round(current.seconds + time.monotonic() - started, 1)
    if is_main_process():
        replace(record, finished=finished, seconds=seconds).write(path)
    return finished


def _refuse_several_processes(stage: Stage) -> None:
    """Raise `UserError` under torchrun for a stage that runs in one process."""
    if is_distributed() and not stage.shared:
        raise UserError(f"the stage {stage.name} runs in one process; run it without torchrun.")


def _selected(states: list[StageState], name: str | None) -> list[StageState]:
    if name is None:
        return states
    matching = [current for current in states if current.stage.name == name]
    if not matching:
        names = ", ".join(current.stage.name for current in states)
        raise UserError(f"there is no stage {name!r}; choose one of {names}.")
    return matching


def _check_inputs(selected: StageState, states: list[StageState], work: Path) -> None:
    """Raise `UserError` if an input of the stage is missing or outdated; its record may be on another machine."""
    for current in states:
        if current.stage.name not in selected.stage.needs:
            continue
        result = work / current.stage.makes[0]
        usable = result.exists() and current.state in (State.finished, State.waiting)
        if not usable:
            state = current.state if result.exists() else "missing"
            raise UserError(
                f"{selected.stage.name} needs {result}, which is {state}; run the stage {current.stage.name}."
            )


def _validate_states(selected: list[StageState], work: Path, redo: bool) -> None:
    """Raise `UserError` for outdated stages without `redo`, and for results that contradict the records."""
    for current in selected:
        name, result = current.stage.name, work / current.stage.makes[0]
        if current.state is State.out_of_date and not redo:
            raise UserError(
                f"the stage {name} in {work} is out of date ({current.reason}); go back to the old values, "
                "or add --redo to run it and the following stages again, which keeps the old results."
            )
        if current.state is State.waiting and result.exists():
            raise UserError(
                f"{result} exists, but its record {_record_path(work, current.stage)} does not; "
                "copy the record there, or move the folder away."
            )
        if current.state is State.finished and not result.exists():
            raise UserError(
                f"{_record_path(work, current.stage)} says that {name} is finished, but {result} is missing; "
                "copy the folder there, name a later stage with --stage, or delete that file to run the stage again."
            )


def _state(record: Record | None, now: str) -> State:
    if record is None:
        return State.waiting
    if record.fingerprint != now:
        return State.out_of_date
    return State.finished if record.finished else State.unfinished


def _record_path(work: Path, stage: Stage) -> Path:
    return work / f"{stage.name}.json"
