"""AdamW on summed gradients: normalize by the global token count, clip, step."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from maskpredict.systems.base import System
from maskpredict.training.adamw import AdamW
from maskpredict.training.config import OptimizerConfig
from maskpredict.training.distributed import ProcessGroup
from maskpredict.training.engine import TrainingEngine, part_seed
from maskpredict.training.loader import Update

SCALER = "loss_scale"
"""Name under which a checkpoint keeps the loss scale of float16."""


class Optimizer:
    """AdamW over the gradients that an engine has accumulated."""

    def __init__(
        self,
        system: System,
        config: OptimizerConfig,
        group: ProcessGroup,
        scaler: torch.amp.GradScaler | None = None,
    ) -> None:
        self.config, self.group, self.scaler = config, group, scaler
        self.parameters = list(system.parameters())
        self.adam = AdamW(self.parameters, config, fused=system.device.type == "cuda")
        self.skipped = torch.zeros(2, dtype=torch.int64, device=system.device)
        """Skipped updates, and how many of them came last in a row; on the device, to be read rarely."""

    def update(self, engine: TrainingEngine, update: Update, number: int, seed: int, rate: float) -> Tensor:
        """Make one step; returns the sums of the update over all processes (loss, count, then named parts).

        An update whose loss or gradient is not finite changes no weight, is counted in `skipped`, and has sums of 0.
        """
        self.adam.zero_grad()
        sums = torch.stack([engine.accumulate(p.arrays, part_seed(seed, number, p.number)) for p in update.parts]).sum(
            0
        )
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        self.group.all_reduce([*gradients])
        self.group.all_reduce([sums])
        if self.scaler:
            self.scaler.unscale_(self.adam)  # type: ignore[arg-type]  # which reads param_groups alone
        # Without a counted token, as when no pair has an alignment, gradients are zero.
        torch._foreach_div_(gradients, sums[1].clamp(min=1).to(gradients[0].dtype))
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.clip or math.inf)
        self.adam.rate = rate
        finite = torch.isfinite(sums[0])
        if not self.scaler:  # which looks for the largest scale whose gradients are finite, and skips the others
            finite &= torch.isfinite(norm)
        self._step(finite)
        self.skipped = torch.where(finite, self.skipped * self.skipped.new_tensor([1, 0]), self.skipped + 1)
        return torch.where(finite, sums, torch.zeros_like(sums))

    def _step(self, finite: Tensor) -> None:
        """Change the weights if `finite` is True."""
        if self.scaler:
            if finite:
                self.scaler.step(self.adam)  # type: ignore[arg-type]
            self.scaler.update()
        elif self.adam.fused:
            # Read by the kernel on the device, as from GradScaler, without waiting for it.
            self.adam.step(found_inf=(~finite).float())
        elif finite:
            self.adam.step()

    def state(self, names: list[str]) -> dict[str, Tensor]:
        """Moments and step counts by parameter name, for a checkpoint; empty before the first update."""
        moments = {
            f"{kind}.{name}": state[kind]
            for name, parameter in zip(names, self.parameters, strict=True)
            if (state := self.adam.state.get(parameter))
            for kind in ("exp_avg", "exp_avg_sq", "step")
        }
        if self.scaler:
            saved = self.scaler.state_dict()
            moments[SCALER] = torch.tensor([saved["scale"], saved["_growth_tracker"]], dtype=torch.float64)
        return moments

    def restore(self, names: list[str], saved: dict[str, Tensor]) -> None:
        """Load what `state` returned."""
        for name, parameter in zip(names, self.parameters, strict=True):
            if f"exp_avg.{name}" not in saved:
                continue
            step_device = parameter.device if self.adam.fused else torch.device("cpu")
            self.adam.state[parameter] = {
                "exp_avg": saved[f"exp_avg.{name}"].to(parameter),
                "exp_avg_sq": saved[f"exp_avg_sq.{name}"].to(parameter),
                "step": saved[f"step.{name}"].to(step_device),
            }
        if self.scaler and SCALER in saved:
            scale, tracker = saved[SCALER].tolist()
            self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": scale, "_growth_tracker": int(tracker)})
