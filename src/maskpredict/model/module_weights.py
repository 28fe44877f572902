"""Conversion between the weights of a model folder and the parameters of PyTorch modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from maskpredict.model.parameter_shapes import Shapes, check_weights

AnyWeights = Mapping[str, npt.NDArray[Any]] | Mapping[str, Tensor]


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Return a module's parameters by name in float32 on the CPU; tied ones under their first name only."""
    return {name: parameter.detach().float().cpu() for name, parameter in module.named_parameters()}


def weights_of(module: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """Return a module's parameters as arrays for a model folder."""
    return {name: tensor.numpy() for name, tensor in tensors_of(module).items()}


def load_weights(module: nn.Module, weights: AnyWeights) -> None:
    """Copy weights into a module's parameters."""
    check_weights(weights, shapes_of(module))
    for name, parameter in module.named_parameters():
        parameter.data.copy_(torch.as_tensor(weights[name]))


def take_weights(module: nn.Module, weights: AnyWeights) -> None:
    """Give a module that was built under `meta_init` its parameters, without a second copy in memory."""
    check_weights(weights, shapes_of(module))
    names: dict[Tensor, str] = {parameter: name for name, parameter in module.named_parameters()}
    taken: dict[nn.Parameter, nn.Parameter] = {}
    for part in module.modules():
        for place, parameter in list(part.named_parameters(recurse=False)):
            if parameter not in taken:  # tied parameters stay tied
                taken[parameter] = nn.Parameter(torch.as_tensor(weights[names[parameter]]).float())
            part.register_parameter(place, taken[parameter])


def shapes_of(module: nn.Module) -> Shapes:
    """Return the shapes of a module's parameters by name, for `check_weights`."""
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
