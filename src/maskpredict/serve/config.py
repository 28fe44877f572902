"""Settings of the web service."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from maskpredict.errors import UserError

PACKED_FACTOR = 10
"""Limit of the bytes of a file, relative to that of its text: office programs add formats and pictures."""
_POSITIVE = (
    "workers",
    "max_queue",
    "work_limit",
    "timeout",
    "read_timeout",
    "char_limit",
    "batch_limit",
    "file_limit",
    "threads",
    "batch_tokens",
)
_URL = re.compile(r"https?://[^/\s?#]+(/[^\s?#]*)?")
_LOG_FORMATS, _LOG_LEVELS = ("text", "json"), ("debug", "info", "warning", "error")
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
    engine: str = "auto"
    """auto, onnxruntime, cuda, int8 or torch; auto chooses the fastest."""
    threads: int | None = None
    """CPU threads of each worker; by default the cores are divided among the workers, at most four to each."""
    workers: int = 1
    """Number of processes; each loads all models."""
    max_queue: int = 1_024
    """Sentences in the queue, shared by the clients; a request beyond a client's share gets status 503."""
    work_limit: int = 240_000
    """Positions that a request may make the model compute: passes times length candidates times subwords. A file may
    take ten times as many."""
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
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks, such as 10.0.0.0/8, of proxies whose X-Forwarded headers are believed."""
    public_url: str | None = None
    """Address of the service as its clients know it, for the addresses of translated files; needed behind a proxy."""
    suggestions: Path | None = None
    """File for the better translations that clients suggest, one JSON object a line; by default they are refused."""
    log_format: str = "text"
    """text, or json for one object a line."""
    log_level: str = "info"
    """debug, info, warning or error; debug has a line for each batch."""
    traces: bool = False
    """Send OpenTelemetry traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names."""
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
        for name, choices in (("log_format", _LOG_FORMATS), ("log_level", _LOG_LEVELS)):
            value = getattr(self, name)
            if value not in choices:
                raise UserError(f"{name} is {value!r}; choose one of {', '.join(choices)}.")
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise UserError(f"{proxy} is no address or network of a proxy; write it as 10.0.0.0/8.") from error
        if self.public_url is not None and not _URL.fullmatch(self.public_url):
            raise UserError(f"public_url is {self.public_url}; write it as https://translate.example.org.")
