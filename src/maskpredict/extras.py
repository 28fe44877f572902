"""Optional dependencies: which modules each extra of the package installs, and the error when one is missing.

`pip install maskpredict` translates, fills, scores and prepares data. Everything else is an extra in pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from maskpredict.errors import UserError

EXTRAS = {
    "train": ("torch", "tensorboard", "zstandard", "py3langid", "sacrebleu", "matplotlib"),
    "teachers": (
        *("torch", "tensorboard", "zstandard", "py3langid", "sacrebleu", "matplotlib"),
        *("transformers", "ctranslate2"),
    ),
    "evaluate": ("sacrebleu", "matplotlib"),
    "bench": ("torch", "ctranslate2", "transformers", "sacrebleu", "matplotlib"),
    "export": ("torch", "ctranslate2", "onnxscript", "transformers"),
    "serve": (
        "fastapi",
        "uvicorn",
        "prometheus_client",
        "python_multipart",
        "py3langid",
        "lxml",
        "polib",
    ),
    "documents": ("lxml", "polib"),
    "hub": ("huggingface_hub",),
    "ray": ("ray", "zstandard"),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
"""Modules that an extra installs, by the name of the extra; rich brings markdown-it-py to every installation."""

_TITLES = {
    "torch": "PyTorch",
    "tensorboard": "TensorBoard",
    "sacrebleu": "sacreBLEU",
    "matplotlib": "Matplotlib",
    "ctranslate2": "CTranslate2",
    "fastapi": "FastAPI",
    "prometheus_client": "prometheus-client",
    "python_multipart": "python-multipart",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
}
"""Names that people know modules by, where they differ from the module's."""


def require(extra: str, needed_by: str, modules: Sequence[str] | None = None) -> None:
    """Raise a `UserError` that names the extra unless its modules, or only those given, are installed."""
    wanted = EXTRAS[extra] if modules is None else modules
    missing = [_TITLES.get(module, module) for module in wanted if not _is_installed(module)]
    if missing:
        *first, last = missing
        listed = f"{', '.join(first)} and {last}" if first else last
        raise UserError(f"{needed_by} needs {listed}: pip install 'maskpredict[{extra}]'.")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package that it would be in is missing
        return False
