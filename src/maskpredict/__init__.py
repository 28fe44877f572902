"""Machine translation in a constant number of parallel steps: masked language models and mask-predict.

The public names load on first use, so that `import maskpredict` costs nothing and does not import PyTorch.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskpredict.errors import UserError as UserError
    from maskpredict.runtime.translator import Translation as Translation
    from maskpredict.runtime.translator import Translator as Translator

__version__ = "0.1.0"

if "OMP_WAIT_POLICY" not in os.environ:
    # Threads that wait for each other spin for milliseconds unless told otherwise, before PyTorch is imported. A single
    # other program on the machine then makes a translation a hundred times slower. docs/speed.md says what this costs.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")

_HOME_OF = {
    "Translation": "maskpredict.runtime.translator",
    "Translator": "maskpredict.runtime.translator",
    "UserError": "maskpredict.errors",
}

__all__ = ["Translation", "Translator", "UserError", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'maskpredict' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
