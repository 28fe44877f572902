"""Logging to stderr. The log never contains texts of requests, API keys or query strings."""

from __future__ import annotations

import logging
import traceback
from typing import Any

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "maskpredict": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
"""Argument of `logging.config.dictConfig`."""

_logger = logging.getLogger(__name__)


def log_unexpected_error(error: BaseException) -> None:
    """Log type and traceback of an unexpected error, but not its message, which may contain the text of a request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    _logger.error("internal error: %s\n%s", type(error).__name__, frames)
