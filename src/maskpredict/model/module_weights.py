"""Conversion between the weights of a model folder and the parameters of PyTorch modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from maskpredict.errors import UserError

AnyWeights = Mapping[str, npt.NDArray[Any]] | Mapping[str, Tensor]


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Return a module's parameters by name in float32 on the CPU; tied ones under their first name only."""
    return {name: parameter.detach().float().cpu() for name, parameter in module.named_parameters()}


def weights_of(module: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """Return a module's parameters as arrays for a model folder."""
    return {name: tensor.numpy() for name, tensor in tensors_of(module).items()}


def load_weights(module: nn.Module, weights: AnyWeights) -> None:
    """Copy weights into a module's parameters."""
    check_names(module, weights)
    for name, parameter in module.named_parameters():
        weight = torch.as_tensor(weights[name])
        check_shape(name, weight, parameter)
        parameter.data.copy_(weight)


def take_weights(module: nn.Module, weights: AnyWeights) -> None:
    """Give a module that was built under `meta_init` its parameters, without a second copy in memory."""
    check_names(module, weights)
    names: dict[Tensor, str] = {parameter: name for name, parameter in module.named_parameters()}
    taken: dict[nn.Parameter, nn.Parameter] = {}
    for part in module.modules():
        for place, parameter in list(part.named_parameters(recurse=False)):
            if parameter not in taken:  # tied parameters stay tied
                taken[parameter] = nn.Parameter(torch.as_tensor(weights[names[parameter]]).float())
                check_shape(names[parameter], taken[parameter], parameter)
            part.register_parameter(place, taken[parameter])


def check_names(module: nn.Module, weights: AnyWeights) -> None:
    """Refuse weights whose names are not those of the module's parameters."""
    expected = dict(module.named_parameters()).keys()
    missing, unknown = expected - weights.keys(), weights.keys() - expected
    if missing or unknown:
        names = ", ".join(sorted(missing or unknown)[:3])
        raise UserError(f"the weights do not fit the model's config: {'missing' if missing else 'unknown'} {names}.")


def check_shape(name: str, weight: Tensor | npt.NDArray[Any], parameter: Tensor) -> None:
    """Refuse a weight whose shape is not that of its parameter."""
    if tuple(weight.shape) != tuple(parameter.shape):
        raise UserError(
            f"the weights do not fit the model's config: {name} has shape {list(weight.shape)}, "
            f"expected {list(parameter.shape)}."
        )
