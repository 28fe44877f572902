"""What a client is told when it does not get what it asked for: a status code and one sentence."""

from __future__ import annotations

import re

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

INTERNAL = "The server made a mistake; it has been logged."
RETRY_AFTER = 1
"""Seconds after which it makes sense to ask again when the queue was full."""
_FIELD = re.compile(r"\w+")
"""A step to what is wrong that a client knows; others name a type."""


class Refusal(Exception):
    """An answer that is no translation."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


def refused(refusal: Refusal) -> JSONResponse:
    """The refusal as a response."""
    headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    return JSONResponse({"error": refusal.sentence}, refusal.status, headers)


async def on_refusal(_: Request, error: Exception) -> JSONResponse:
    """Handler for `Refusal`."""
    assert isinstance(error, Refusal)
    return refused(error)


async def on_user_error(_: Request, error: Exception) -> JSONResponse:
    """Handler for `UserError`: what the model could not do with what it was given."""
    return refused(Refusal(400, str(error)))


async def on_http_error(_: Request, error: Exception) -> JSONResponse:
    """Handler for what the framework refuses, such as a path that does not exist."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    return JSONResponse({"error": str(error.detail)}, error.status_code, headers)


async def on_invalid(_: Request, error: Exception) -> JSONResponse:
    """Handler for a request that is not of the right form."""
    assert isinstance(error, RequestValidationError)
    return refused(invalid(error))


def invalid(error: RequestValidationError | ValidationError) -> Refusal:
    """One sentence on what is wrong; it never repeats what was sent."""
    # Where a field may be one of several things, there is an error for each: ours, or the deepest, says most.
    worst = max(error.errors(), key=lambda one: (one["type"] == "value_error", len(one["loc"])))
    steps = [str(step) for step in worst["loc"] if step not in ("body", "query", "path")]
    place = ".".join(step for step in steps if _FIELD.fullmatch(step))
    message = str(worst["msg"]).removeprefix("Value error, ").rstrip(".")
    if worst["type"] == "missing" and place:
        return Refusal(400, f"Invalid request: missing {place} parameter")
    if worst["type"] == "json_invalid":
        return Refusal(400, "Invalid request: the body is not JSON")
    if not place:
        return Refusal(400, "Invalid request: the body is not a JSON object, sent as application/json")
    return Refusal(400, f"Invalid request: {place}: {message}")
