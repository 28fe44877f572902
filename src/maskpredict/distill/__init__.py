"""`distill`: an autoregressive teacher's translations of the training sources become the new target side.

One teacher says one thing where the people behind a corpus said many; a model that predicts all words at once learns
far better from the former (the paper's section on distillation). The result is again a data folder.
"""

from __future__ import annotations

from maskpredict.distill.config import DistillConfig
from maskpredict.distill.run import DistillReport, distill

__all__ = ["DistillConfig", "DistillReport", "distill"]
