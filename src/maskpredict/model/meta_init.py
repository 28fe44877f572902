"""Modules on PyTorch's meta device: built in no time and no memory, to be given weights that exist already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


@contextmanager
def meta_init() -> Iterator[None]:
    """Build modules inside this context with parameters that have a shape and no storage."""
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):
    """Leaves out the drawing of normal random numbers.

    There is nothing to draw them into, and to find that out, PyTorch would import its compiler: a second, and 70 MB.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func is nn.init.normal_ or func is Tensor.normal_:
            return args[0] if args else given["tensor"]
        return func(*args, **given)
