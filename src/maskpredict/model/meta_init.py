"""Modules on PyTorch's meta device: built without memory, to be given existing weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


@contextmanager
def meta_init() -> Iterator[None]:
    """Give modules built in this context parameters without storage."""
    with torch.device("meta"), _SkipRandomInit():
        yield


class _SkipRandomInit(TorchFunctionMode):
    """Skips normal initialisation.

    Meta tensors have no values, and PyTorch would import its compiler for it, which takes a second and 70 MB.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        if func is nn.init.normal_ or func is Tensor.normal_:
            return args[0] if args else keywords["tensor"]
        return func(*args, **keywords)
