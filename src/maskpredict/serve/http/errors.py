"""Error responses: a status code and one sentence, as JSON."""

from __future__ import annotations

import logging
import re

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from maskpredict.disk_errors import DiskError, disk_error
from maskpredict.errors import UserError
from maskpredict.serve.queue.errors import ServiceBusy

logger = logging.getLogger(__name__)

INTERNAL_ERROR = "Internal error of the server; its log has the details."
RETRY_SECONDS = 60
"""Seconds after which a client may try again where the disk has failed."""
_FIELD = re.compile(r"\w+")
"""Matches the names of fields in a location that pydantic reports; its other parts name types."""


class ApiError(Exception):
    """Error response with a status code and a message for the client."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def add_exception_handlers(app: FastAPI) -> None:
    """Make the application answer every expected exception with JSON."""
    app.add_exception_handler(ApiError, _on_api_error)
    app.add_exception_handler(ServiceBusy, _on_service_busy)
    app.add_exception_handler(UserError, _on_user_error)
    app.add_exception_handler(DiskError, _on_disk_error)
    app.add_exception_handler(OSError, _on_disk_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)


def error_response(error: ApiError, *names: str) -> JSONResponse:
    """Return the error as a response, with its sentence as `error` and under other names."""
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse(dict.fromkeys(("error", *names), error.message), error.status, headers)


def invalid_request(error: RequestValidationError | ValidationError) -> ApiError:
    """Describe in one sentence why a request is invalid, without repeating its content."""
    # A field of several possible types has an error for each. Our own error, or the deepest one, says most.
    worst = max(error.errors(), key=lambda one: (one["type"] == "value_error", len(one["loc"])))
    steps = [str(step) for step in worst["loc"] if step not in ("body", "query", "path")]
    field = ".".join(step for step in steps if _FIELD.fullmatch(step))
    message = str(worst["msg"]).removeprefix("Value error, ").rstrip(".")
    if worst["type"] == "missing" and field:
        return ApiError(400, f"Invalid request: missing {field} parameter")
    if worst["type"] == "json_invalid":
        return ApiError(400, "Invalid request: the body is not JSON")
    if not field:
        return ApiError(400, "Invalid request: the body is not a JSON object, sent as application/json")
    return ApiError(400, f"Invalid request: {field}: {message}")


def _answer(request: Request, error: ApiError) -> JSONResponse:
    """Return the error as the clients of a route read it: DeepL's show `message`."""
    names = ["message"] if request.url.path.startswith(("/v2/", "/v3/")) else []
    return error_response(error, *names)


async def _on_api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)
    return _answer(request, error)


async def _on_service_busy(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceBusy)
    return _answer(request, ApiError(503, str(error), error.retry_seconds))


async def _on_user_error(request: Request, error: Exception) -> JSONResponse:
    return _answer(request, ApiError(400, str(error)))


async def _on_disk_error(request: Request, error: Exception) -> JSONResponse:
    """Answer that the disk is full or fails; any other error of the system is a bug."""
    if not isinstance(error, DiskError) and disk_error(error) is None:
        raise error
    logger.error("the disk failed: %s", error)
    return _answer(request, ApiError(503, "The disk of the server is full or fails; try again later.", RETRY_SECONDS))


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _answer(request, invalid_request(error))


async def _on_http_exception(_: Request, error: Exception) -> JSONResponse:
    """Answer errors of the framework, such as an unknown path."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, dict(error.headers or {}))
