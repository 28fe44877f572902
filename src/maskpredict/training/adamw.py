"""AdamW: PyTorch's computation without its class, which imports PyTorch's compiler.

That import takes as long as that of PyTorch itself, over a second. Systems whose loss is a custom operator, as those
with alignments, still pay for it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim.adamw import adamw

from maskpredict.training.config import OptimizerConfig


class AdamW:
    """Adam with decoupled weight decay."""

    def __init__(self, parameters: list[Parameter], config: OptimizerConfig, *, fused: bool) -> None:
        self.parameters, self.config, self.fused = parameters, config, fused
        self.rate = config.rate
        self.state: dict[Parameter, dict[str, Tensor]] = {}
        """Moments and step count of each parameter that has had a gradient."""

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The parameters, where `torch.amp.GradScaler` looks for them."""
        return [{"params": self.parameters}]

    def zero_grad(self) -> None:
        """Set gradients to zero where they are: captured graphs add to them at fixed addresses."""
        if gradients := [parameter.grad for parameter in self.parameters if parameter.grad is not None]:
            torch._foreach_zero_(gradients)

    @torch.no_grad()
    def step(self, *, found_inf: Tensor | None = None) -> None:
        """Change the weights; not where `found_inf` is 1, which fused kernels read on the device."""
        learning = [parameter for parameter in self.parameters if parameter.grad is not None]
        states = [self._state(parameter) for parameter in learning]
        adamw(
            learning,  # type: ignore[arg-type]  # a list of tensors
            [parameter.grad for parameter in learning if parameter.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            foreach=False,
            fused=self.fused,
            found_inf=found_inf,
            amsgrad=False,
            beta1=self.config.beta1,
            beta2=self.config.beta2,
            lr=self.rate,
            weight_decay=self.config.weight_decay,
            eps=self.config.epsilon,
            maximize=False,
        )

    def _state(self, parameter: Parameter) -> dict[str, Tensor]:
        if parameter not in self.state:
            device = parameter.device if self.fused else torch.device("cpu")
            self.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.state[parameter]
