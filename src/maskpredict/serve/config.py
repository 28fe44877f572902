"""Settings of the web service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maskpredict.errors import UserError

PACKED_FACTOR = 10
"""Limit of the bytes of a file, relative to that of its text: office programs add formats and pictures."""
_POSITIVE = (
    "workers",
    "max_queue",
    "timeout",
    "read_timeout",
    "char_limit",
    "batch_limit",
    "file_limit",
    "threads",
    "batch_tokens",
)
_NOT_NEGATIVE = ("batch_milliseconds", "rate_limit")


@dataclass(frozen=True)
class ServiceConfig:
    """Models to serve, how to compute, and limits for clients."""

    models: tuple[str, ...] = ()
    """Model folders, run folders or names of shipped models, each with an optional NAME= in front; by default the
    shipped models that are named after their languages."""
    load_only: tuple[str, ...] = ()
    """Names of the models to load; empty loads all. The default name of a model is its languages, as in de-en."""
    device: str = "auto"
    """auto, cpu, cuda or cuda:1."""
    compute_type: str = "auto"
    """auto, float32, bfloat16, float16 or int8; auto chooses the fastest that is accurate enough."""
    threads: int | None = None
    """CPU threads of each worker; by default the cores are divided among the workers, at most four to each."""
    workers: int = 1
    """Number of processes; each loads all models."""
    max_queue: int = 1_024
    """Sentences in the queue; a request that does not fit gets status 503."""
    batch_milliseconds: float = 3.0
    """Milliseconds that the first sentence of a batch waits for others."""
    batch_tokens: int | None = None
    """Size of a batch: padded source tokens times length candidates; by default chosen for the device."""
    timeout: float = 30.0
    """Seconds after which an unfinished request gets status 503."""
    read_timeout: float = 15.0
    """Seconds that a client has to send its request."""
    char_limit: int = 5_000
    """Characters in a request."""
    batch_limit: int = 100
    """Texts in a request."""
    file_limit: int = 100_000
    """Characters of text in a file; the file itself may have ten times as many bytes."""
    rate_limit: int = 0
    """Requests per minute from one address, in each worker; 0 means no limit."""
    api_keys_file: Path | None = None
    """File with one API key per line; if given, translating requires a key."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may use the API (CORS), such as https://example.org, or * for all."""
    files_folder: Path | None = None
    """Folder of translated files to download, shared by the workers; by default a temporary folder."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UserError(f"{name} is {value}; use a number above 0.")
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value < 0:
                raise UserError(f"{name} is {value}; use 0 or more.")
