"""Sequence-level knowledge distillation: a teacher's translations of the training sources replace the targets.

A teacher translates more consistently than the many people behind a corpus, and a model that predicts all words at once
learns far better from its text (the paper's section on distillation). The result is again a data folder.

The names load on first use: `by_text` needs no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskpredict.distill.config import DistillConfig as DistillConfig
    from maskpredict.distill.run import DistillReport as DistillReport
    from maskpredict.distill.run import distill as distill

_HOME_OF = {
    "DistillConfig": "maskpredict.distill.config",
    "DistillReport": "maskpredict.distill.run",
    "distill": "maskpredict.distill.run",
}

__all__ = ["DistillConfig", "DistillReport", "distill"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'maskpredict.distill' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
