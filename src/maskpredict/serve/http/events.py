"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse

from maskpredict.errors import UserError
from maskpredict.serve.http.errors import INTERNAL_ERROR, ApiError
from maskpredict.serve.logs import log_unexpected_error
from maskpredict.serve.queue.errors import ServiceBusy

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Proxies must neither cache nor buffer the events."""


def event(name: str, content: dict[str, Any]) -> str:
    """Return an event, with its data as JSON."""
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"


def event_stream(events: AsyncIterator[str]) -> StreamingResponse:
    """Return events as a response; what goes wrong after it has begun becomes an event `error`."""
    return StreamingResponse(_with_errors(events), media_type="text/event-stream", headers=_HEADERS)


def stream_description(*names: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a stream of events with these names."""
    properties = {
        "event": {"enum": [*names, "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    }
    schema = {"type": "object", "properties": properties, "required": ["event", "data"]}
    return {200: {"content": {"text/event-stream": {"schema": schema}}, "description": "Events"}}


async def _with_errors(events: AsyncIterator[str]) -> AsyncIterator[str]:
    try:
        async for one in events:
            yield one
    except (ServiceBusy, UserError, ApiError) as error:
        yield event("error", {"error": str(error)})
    except Exception as error:
        log_unexpected_error(error)
        yield event("error", {"error": INTERNAL_ERROR})
