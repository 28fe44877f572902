"""Arrays of NumPy or PyTorch, used through the Python array API standard.

The files of this package name neither library: `array_namespace(x)` returns the functions of the library of `x`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from array_api_compat import array_namespace, device

__all__ = ["Array", "array_namespace", "device"]

Array: TypeAlias = Any
"""An array of any library that follows the standard. Names end in shapes: `tokens_BT` is [B, T]."""
