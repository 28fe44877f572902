"""The libraries whose arrays decoding works with."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest


@pytest.fixture(scope="session", params=["numpy", "torch"])
def xp(request: pytest.FixtureRequest) -> ModuleType:
    """NumPy and PyTorch in turn, under the names of the array API standard."""
    return import_module(f"array_api_compat.{request.param}")
