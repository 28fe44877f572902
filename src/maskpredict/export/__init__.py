"""Export of models to other runtimes, one file per format. A new format is a new file and a line here."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from maskpredict.export.browser_folder import export_browser
from maskpredict.export.ctranslate2_folder import export_ctranslate2
from maskpredict.export.onnx_graphs import export_onnx
from maskpredict.export.transformers_folder import export_transformers
from maskpredict.export.writing import Exported
from maskpredict.model.folder import ModelFolder


class Export(Protocol):
    """Function that writes a model, given by name, path or content, as a new folder."""

    def __call__(
        self, model: str | Path | ModelFolder, out: Path, *, precision: str = ..., overwrite: bool = False
    ) -> Exported: ...


EXPORTS: dict[str, Export] = {
    "ctranslate2": export_ctranslate2,
    "onnx": export_onnx,
    "transformers": export_transformers,
    "browser": export_browser,
}
"""Export functions by name of the format."""

__all__ = [
    "EXPORTS",
    "Export",
    "Exported",
    "export_browser",
    "export_ctranslate2",
    "export_onnx",
    "export_transformers",
]
