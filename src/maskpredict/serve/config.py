"""Every knob of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maskpredict.errors import UserError


@dataclass(frozen=True)
class ServiceConfig:
    """What is served, how it is computed, and what a client may ask for."""

    models: tuple[str, ...] = ()
    """Model folders, run folders or names of shipped models, each with an optional NAME= in front; without any, every
    shipped CMLM."""
    load_only: tuple[str, ...] = ()
    """Names of the models to load; all, if empty. A model without a name is called by its languages, as in de-en."""
    device: str = "auto"
    """auto, cpu, cuda or cuda:1."""
    compute_type: str = "auto"
    """float32, bfloat16, float16 or int8; auto is the fastest that is exact enough."""
    threads: int | None = None
    """CPU threads of each worker; by default the cores are shared out among the workers."""
    workers: int = 1
    """Processes, each with all models."""
    max_queue: int = 1_024
    """Sentences that may wait; a request that does not fit is answered with 503."""
    batch_milliseconds: float = 3.0
    """How long the first sentence of a batch waits for others."""
    batch_tokens: int | None = None
    """Padded source tokens times length candidates that are computed together; by default what suits the device."""
    timeout: float = 30.0
    """Seconds until a request that is not finished is given up with 503."""
    read_timeout: float = 15.0
    """Seconds in which a client must have sent its request."""
    char_limit: int = 5_000
    """Characters a request may have."""
    batch_limit: int = 100
    """Texts a request may have."""
    file_limit: int = 100_000
    """Bytes a file may have."""
    rate_limit: int = 0
    """Requests a minute from one address, in each worker; 0 for no limit."""
    api_keys_file: Path | None = None
    """File with an API key in each line; with it, nobody without a key may translate."""
    cors_origins: tuple[str, ...] = ()
    """Web sites whose pages may use this service, as in https://example.org, or * for all."""
    files_folder: Path | None = None
    """Where translated files wait to be fetched; the workers share it. By default a temporary folder."""

    def __post_init__(self) -> None:
        positive = ("workers", "max_queue", "timeout", "read_timeout", "char_limit", "batch_limit", "file_limit")
        for name in (*positive, *(other for other in ("threads", "batch_tokens") if getattr(self, other) is not None)):
            if getattr(self, name) <= 0:
                raise UserError(f"{name} is {getattr(self, name)}; use a number above 0.")
        for name in ("batch_milliseconds", "rate_limit"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} is {getattr(self, name)}; use 0 or more.")
