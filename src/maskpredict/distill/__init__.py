"""Sequence-level knowledge distillation: a teacher's translations of the training sources replace the targets.

A teacher translates more consistently than the many people behind a corpus, and a model that predicts all words at once
learns far better from its text (the paper's section on distillation). The result is again a data folder.
"""

from __future__ import annotations

from maskpredict.distill.config import DistillConfig
from maskpredict.distill.run import DistillReport, distill

__all__ = ["DistillConfig", "DistillReport", "distill"]
