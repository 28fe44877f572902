"""The training loop: one for every system.

A run is a sequence of updates. Each is a function of the current weights and of its position in the data, so a run that
stopped for any reason (time limit, Ctrl-C, a killed process) resumes from its last checkpoint and ends the same.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from maskpredict.corpus.batches import PackedBatches, PaddedBatches
from maskpredict.corpus.dataset import Dataset
from maskpredict.disk_errors import explain_disk_errors
from maskpredict.errors import UserError
from maskpredict.model.module_weights import load_weights, tensors_of
from maskpredict.model.padding import round_up
from maskpredict.model.training_record import TrainingRecord
from maskpredict.progress import Progress, Task
from maskpredict.training.checkpoint import (
    RunState,
    average_weights,
    checkpoints,
    intact,
    keep_best,
    newest_checkpoint,
    remove_superseded,
    save_checkpoint,
)
from maskpredict.training.config import TrainConfig
from maskpredict.training.distributed import ProcessGroup, join_process_group, local_device
from maskpredict.training.divergence import Divergence
from maskpredict.training.engine import CapturedEngine, EagerEngine, TrainingEngine
from maskpredict.training.loader import Update, UpdateLoader
from maskpredict.training.metrics import MetricsLog, Throughput
from maskpredict.training.optimizer import Optimizer
from maskpredict.training.run_folder import RunFolder
from maskpredict.training.schedule import learning_rate, rewarmup_share
from maskpredict.training.setup import (
    compute_dtype,
    new_system,
    save_model,
    start_of,
    training_split,
    uses_cuda_graph,
)
from maskpredict.training.signals import catch_signals
from maskpredict.training.validation import Validation
from maskpredict.training.watchdog import Watchdog

SECONDS_BETWEEN_RECORDS = 1.0
"""Minimum time between two reads of the loss on a GPU, each of which synchronizes with it."""
UPDATES_BETWEEN_CHECKS = 16
"""Updates between two reads of the number of skipped updates on a GPU."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainResult:
    """Outcome of a call of `train`."""

    finished: bool
    """False when the run was interrupted; the same call continues it."""
    updates: int
    model: Path | None
    """The finished model folder."""
    signal: int | None = None
    """Number of the signal (SIGINT or SIGTERM) that ended the call, if one did."""


def train(config: TrainConfig, *, stop_after: float | None = None, quiet: bool = False) -> TrainResult:
    """Train a model, or resume a run; with `stop_after`, stop with a checkpoint after that many seconds."""
    deadline = time.monotonic() + stop_after if stop_after is not None else None
    if config.threads:
        torch.set_num_threads(config.threads)
    device = local_device(config.device)
    with (
        join_process_group(device, config.stuck_after) as group,
        Progress(quiet=quiet or not group.is_main) as progress,
        catch_signals() as signals,
        Watchdog(group.rank, config.stuck_after) as watchdog,
    ):
        run = Run(config, device, group, watchdog)
        task = progress.task("Training", total=config.steps)
        task.advance(run.state.update)
        try:
            with explain_disk_errors(config.run):
                run.make_updates(task, lambda: bool(signals) or (deadline is not None and time.monotonic() > deadline))
        finally:
            run.close()
        if run.finished:
            return TrainResult(True, run.state.update, run.finish())
        number = int(group.max(float(signals[0] if signals else 0), device))  # all processes end alike
        return TrainResult(False, run.state.update, None, number or None)


class Run:
    """The state of a run between two updates."""

    def __init__(
        self, config: TrainConfig, device: torch.device, group: ProcessGroup, watchdog: Watchdog | None = None
    ) -> None:
        self.config, self.device, self.group = config, device, group
        self.watchdog = watchdog or Watchdog(group.rank, None)
        self.dataset = Dataset(Path(config.data))
        self.folder = RunFolder(config)
        self.dtype = compute_dtype(config, device)
        self.system = new_system(config, self.dataset).to(device).train()
        self.names = [name for name, _ in self.system.named_parameters()]
        self.scaler = torch.amp.GradScaler(device.type) if self.dtype == torch.float16 else None
        self.optimizer = Optimizer(self.system, config.optimizer, group, self.scaler)
        self.part_tokens = config.batch.part_tokens
        self.engine, self.loader = self._engine()
        self.validation = Validation(config, self.dataset, self.system, group)
        # Created last, so that a mistake in the config leaves no folder behind.
        if group.is_main:
            self.folder.open(config)
            remove_superseded(self.folder.checkpoints)
            self.system.check_pairs(training_split(config, self.dataset))
        group.barrier()
        self.saved_at: int | None = None
        """Update of the checkpoint that was read or written last."""
        self.state = self._resume()
        self.metrics = MetricsLog(self.folder.path, self.state.update) if group.is_main else None
        self.throughput, self.sums, self.divergence = Throughput(), torch.zeros(0), Divergence()
        self.start = start_of(config)
        self.uncounted_tokens = 0
        """Target tokens of this process that are not in `state` yet."""

    @property
    def finished(self) -> bool:
        """True if the run has reached its end."""
        patience = self.config.validation.patience
        out_of_patience = patience is not None and self.state.validations_since_best >= patience
        return self._progress() >= 1.0 or out_of_patience

    def _progress(self) -> float:
        """Finished share of the run, 0 to 1, by updates or by time."""
        by_time = self.state.seconds / self.config.seconds if self.config.seconds else 0.0
        return max(self.state.update / self.config.steps, by_time)

    def _resume(self) -> RunState:
        saved = newest_checkpoint(self.folder.checkpoints)
        if saved is None:
            return RunState()
        self.saved_at = saved.state.update
        load_weights(self.system, saved.weights)
        skipped = (saved.state.skipped, saved.state.skipped_in_a_row)
        self.optimizer.skipped = torch.tensor(skipped, dtype=torch.int64, device=self.device)
        if saved.optimizer is None:
            return replace(saved.state, forgot_at=saved.state.update)
        self.optimizer.restore(self.names, saved.optimizer)
        return saved.state

    def _engine(self) -> tuple[TrainingEngine, UpdateLoader]:
        batch, captured = self.config.batch, uses_cuda_graph(self.config, self.device, self.dtype)
        # Every process computes the same number of micro-batches, smaller ones where there would be too few.
        parts = round_up(max(1, round(batch.tokens / self.part_tokens)), self.group.world_size)
        batches = (PackedBatches if captured else PaddedBatches)(
            training_split(self.config, self.dataset),
            self.system.special,
            tokens=batch.tokens // parts,
            max_length=batch.max_length,
            slot=self.system.reserves_slot,
            seed=self.config.seed,
        )
        loader = UpdateLoader(batches, parts, self.group.rank, self.group.world_size)
        if captured:
            compiled = self.config.engine != "captured"
            return CapturedEngine(self.system, self.dtype, batch.max_length, compiled=compiled), loader
        return EagerEngine(self.system, self.dtype, batch.max_length, self.scaler), loader

    def make_updates(self, task: Task, stop: Callable[[], bool]) -> None:
        """Make updates until the run is finished or `stop()` is True; then save a checkpoint."""
        started, before = time.monotonic(), self.state.seconds
        updates = self.loader.updates(self.state.position)
        try:
            while not self.finished:
                self.watchdog.progress(f"update {self.state.update + 1}")
                update = next(updates)
                try:
                    self._learn(update)
                except torch.OutOfMemoryError as error:
                    self._use_smaller_parts(error)
                    updates.close()
                    updates = self.loader.updates(self.state.position)
                    continue
                seconds = self.group.max(before + time.monotonic() - started, self.device)
                self.state = replace(self.state, update=self.state.update + 1, position=update.after, seconds=seconds)
                self._check_skipped()
                self._record(task)
                if self._validation_is_due(update):
                    self._validate()
                if self.group.any(stop(), self.device):
                    break
                if self.state.update % self.config.checkpoint_every == 0:
                    self.save()
        finally:
            updates.close()
        if self.saved_at != self.state.update:
            self.save()

    def _learn(self, update: Update) -> None:
        number = self.state.update + 1
        self.system.set_progress(self._progress())
        rate = learning_rate(self.config.optimizer, number, self._progress())
        rate *= rewarmup_share(self.state.forgot_at, number, self.config.rewarmup)
        sums = self.optimizer.update(self.engine, update, number, self.config.seed, rate)
        self.sums = sums if len(self.sums) == 0 else self.sums + sums
        tokens = sum(part.arrays.target_tokens for part in update.parts)
        self.throughput.tokens += self.group.world_size * tokens
        self.uncounted_tokens += tokens

    def _use_smaller_parts(self, error: torch.OutOfMemoryError) -> None:
        """Halve the micro-batches after the device ran out of memory; updates stay the same."""
        smaller = self.part_tokens // 2
        # Several processes would have to agree, and below two sentences there is nothing to halve.
        if self.group.world_size > 1 or smaller < 2 * self.config.batch.max_length:
            raise UserError(
                f"micro-batches of {self.part_tokens} tokens do not fit the memory; reduce batch.part_tokens, "
                "batch.max_length or the size of the model."
            ) from error
        logger.warning(
            "Micro-batches of %d tokens do not fit the memory; continuing with %d (batch.part_tokens).",
            self.part_tokens,
            smaller,
        )
        self.part_tokens = smaller
        del self.engine
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.engine, self.loader = self._engine()

    def _check_skipped(self) -> None:
        """Warn of skipped updates, and end the run when there were too many in a row."""
        if self.device.type == "cuda" and self.state.update % UPDATES_BETWEEN_CHECKS:
            return
        before = self.state.skipped
        skipped, in_a_row = self.optimizer.skipped.tolist()
        self.state = replace(self.state, skipped=skipped, skipped_in_a_row=in_a_row)
        if in_a_row >= self.config.max_skipped:
            self.save()
            raise UserError(
                f"the loss or a gradient of the last {in_a_row} updates, up to {self.state.update:,}, is not a finite "
                f"number; {self.folder.checkpoints} has the weights from before them. Continue with precision=float32, "
                "or start a new run with a lower optimizer.rate."
            )
        if skipped > before and in_a_row == skipped - before and self.group.is_main:
            logger.warning(
                "Update %d is skipped, since its loss or a gradient is not a finite number (%d such updates so far).",
                self.state.update,
                skipped,
            )

    def _record(self, task: Task) -> None:
        """Record the loss: at every update on a CPU, about once a second on a GPU."""
        if self.device.type == "cuda" and time.monotonic() - self.throughput.since < SECONDS_BETWEEN_RECORDS:
            task.advance()
            return
        total, count, *parts = self.sums.tolist()
        self.sums = torch.zeros(0)
        speed = self.throughput.tokens_per_second()
        rate = self.optimizer.adam.rate
        loss = total / max(count, 1)
        values: dict[str, Any] = {"loss": loss}
        values |= {name: part / max(count, 1) for name, part in zip(self.system.loss_parts, parts, strict=True)}
        if self.state.skipped_in_a_row and not count:
            values = dict.fromkeys(values)
        elif self.group.is_main and (sentence := self.divergence.observe(loss, self.state.update)):
            logger.warning(sentence)
        values |= {"rate": rate, "epoch": self.state.position.epoch, "seconds": round(self.state.seconds, 3)}
        values |= {"skipped": self.state.skipped} if self.state.skipped else {}
        if self.metrics:
            self.metrics.record("train", self.state.update, {**values, "tokens_per_second": round(speed)})
        task.advance(loss=f"{loss:.3f}", rate=f"{rate:.1e}", tokens=f"{speed:,.0f}/s")

    def _validation_is_due(self, update: Update) -> bool:
        every = self.config.validation.every
        due = self.state.update % every == 0 if every else update.ends_epoch
        return due or self.finished

    def _validate(self) -> None:
        self.watchdog.progress(f"validation after update {self.state.update}")
        losses = self.validation.losses(self.dtype)
        best = math.inf if self.state.best_loss is None else self.state.best_loss
        better = losses["loss"] < best  # false if it is not a number
        self.state = replace(
            self.state,
            best_loss=losses["loss"] if better else self.state.best_loss,
            validations_since_best=0 if better else self.state.validations_since_best + 1,
        )
        if self.metrics:
            keep_best(self.folder.best, self.state, losses["loss"], tensors_of(self.system), self.config.keep_best)
            if self.config.validation.bleu_sentences:
                self.watchdog.progress(f"translation for BLEU after update {self.state.update}")
                losses["bleu"] = self.validation.bleu()
            self.metrics.record("valid", self.state.update, losses)
        self.group.barrier()
        self.throughput = Throughput()

    def save(self) -> None:
        """Write a checkpoint to resume from."""
        self.watchdog.progress(f"the checkpoint of update {self.state.update}")
        weights = tensors_of(self.system)
        if not all(torch.isfinite(weight).all() for weight in weights.values()):
            raise UserError(
                f"weights are not finite numbers after update {self.state.update:,}; {self.folder.checkpoints} keeps "
                "the last good checkpoint. Start a new run with a lower optimizer.rate."
            )
        skipped, in_a_row = self.optimizer.skipped.tolist()
        self.state = replace(self.state, skipped=skipped, skipped_in_a_row=in_a_row)
        if self.state.target_tokens is not None:
            tokens = self.group.sum(self.uncounted_tokens, self.device)
            self.state = replace(self.state, target_tokens=self.state.target_tokens + tokens)
            self.uncounted_tokens = 0
        if self.group.is_main:
            save_checkpoint(self.folder.checkpoints, self.state, weights, self.optimizer.state(self.names))
        self.saved_at = self.state.update
        self.group.barrier()

    def finish(self) -> Path:
        """Average the best checkpoints into the finished model folder."""
        if self.group.is_main:
            self.watchdog.progress("the finished model")
            best = intact(checkpoints(self.folder.best))
            weights = average_weights(best) if best else tensors_of(self.system)
            save_model(self.folder.model, self.system, weights, self.dataset, self._record_of_training(len(best)))
        self.group.barrier()
        return self.folder.model

    def _record_of_training(self, averaged: int) -> TrainingRecord:
        weights = f"mean of {averaged}" if averaged > 1 else "best" if averaged else "last"
        return TrainingRecord(self.start, self.state.update, self.state.target_tokens, weights)

    def close(self) -> None:
        """Close the metrics."""
        if self.metrics:
            self.metrics.close()
