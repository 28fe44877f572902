"""Which files of a model folder may be opened: plain files inside it, of a size that its reader can take.

A folder from somebody else may have a link to a private file, a pipe that never ends, or a file that fills the memory.
"""

from __future__ import annotations

import os
from pathlib import Path

from maskpredict.errors import UserError

WEIGHTS_SUFFIX = ".safetensors"
MAX_BYTES = 200_000_000
"""Largest file of a model folder apart from its weights, which may have as many bytes as the machine has memory."""
_READ = ("config.json", "generation.json", "README.md", "*.model", "*.dict.json", f"*{WEIGHTS_SUFFIX}")


def check_files(folder: Path) -> None:
    """Refuse a model folder with links out of it, with pipes or devices, or with files that are too large to read.

    Links into the folder `blobs` of a Hugging Face cache are how that keeps its files, and allowed.
    """
    home = folder.resolve()
    allowed = (home, home.parent.parent / "blobs")
    for path in sorted(path for pattern in _READ for path in folder.glob(pattern)):
        target = path.resolve()
        if target.exists() and target.parent not in allowed:
            raise UserError(f"{path} is a link to a file outside of the model folder; copy the file itself there.")
        if target.exists() and not target.is_file():
            raise UserError(f"{path} is not a plain file; copy the model folder again.")
        limit = _memory() if path.suffix == WEIGHTS_SUFFIX else MAX_BYTES
        if target.exists() and target.stat().st_size > limit:
            size = target.stat().st_size / 1e6
            raise UserError(f"{path} has {size:,.0f} MB, more than the {limit / 1e6:,.0f} MB that can be read here.")


def _memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows
        return 1 << 63
