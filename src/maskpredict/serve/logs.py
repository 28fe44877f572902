"""What is written to stderr, and what never is: no text of a request, no key, no query string."""

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
"""For `logging.config.dictConfig`."""

_logger = logging.getLogger(__name__)


def log_bug(error: BaseException) -> None:
    """Say where a bug is; its message is left out, for it may hold the text of a request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    _logger.error("internal error: %s\n%s", type(error).__name__, frames)
