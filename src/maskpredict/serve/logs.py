"""Logging to stderr, as text or as JSON. The log never contains texts of requests, API keys or query strings."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Sequence
from typing import Any

_logger = logging.getLogger(__name__)


def logging_config(log_format: str, level: str) -> dict[str, Any]:
    """Return the argument of `logging.config.dictConfig`."""
    text = {"format": "%(asctime)s %(levelname)s %(message)s"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": JsonFormatter} if log_format == "json" else text},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {
            "maskpredict": {"handlers": ["stderr"], "level": level.upper(), "propagate": False},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
    }


class JsonFormatter(logging.Formatter):
    """Writes a record as one JSON object: time, level and message, and the fields that `fields` made."""

    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        shared = {"time": self.formatTime(record), "level": record.levelname.lower(), "message": record.getMessage()}
        extra: dict[str, Any] = getattr(record, "fields", {})
        return json.dumps({**shared, **extra})


def fields(**values: Any) -> dict[str, Any]:
    """Return `extra` for a call of a logger: values that a JSON log has as fields of their own."""
    return {"fields": values}


def log_unexpected_error(error: BaseException, requests: Sequence[str] = ()) -> None:
    """Log type and traceback of an unexpected error, but not its message, which may contain the text of a request."""
    frames, names = "".join(traceback.format_tb(error.__traceback__)), list(requests)
    _logger.error("internal error: %s\n%s", type(error).__name__, frames, extra=fields(requests=names))
