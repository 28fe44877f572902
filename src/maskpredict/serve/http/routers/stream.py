"""Translation as server-sent events, one for each decoding pass."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.serve.http.errors import INTERNAL_ERROR
from maskpredict.serve.http.responses import pass_response, translate_response
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
from maskpredict.serve.http.routers.v1 import decoding_settings
from maskpredict.serve.http.schemas import StreamRequest
from maskpredict.serve.logs import log_unexpected_error
from maskpredict.serve.queue.errors import ServiceBusy
from maskpredict.serve.queue.service import AcceptedRequest, TranslationService
from maskpredict.serve.queue.texts import PreparedText, TranslatedText, as_text, prepare_text

router = APIRouter(prefix="/v1", tags=["maskpredict"], responses=ERRORS)

_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["pass", "done", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Proxies must neither cache nor buffer the events."""


@router.get(
    "/translate/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "Events"}},
)
async def stream(
    query: Annotated[StreamRequest, Query()], request: Request, service: Service, access: Access
) -> StreamingResponse:
    """Translate a text: sends an event `pass` for each pass over each sentence, then `done` or `error`.

    The data of `done` is the response of POST /v1/translate; with `trace` it contains all passes again.
    """
    access.authorize(request, query.api_key)
    access.check_size([query.q])
    prepared = await prepare_text(service, query.q, query.source, query.target, as_text)
    accepted = await service.accept(prepared.lines, {**decoding_settings(query), "trace": True})
    events = _events(service, prepared, accepted, traced=query.trace)
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


async def _events(
    service: TranslationService, prepared: PreparedText, accepted: AcceptedRequest, *, traced: bool
) -> AsyncIterator[str]:
    start = time.perf_counter()
    translations: list[Translation] = []
    try:
        async for translation in service.results(accepted):
            for number, one in enumerate(translation.trace.passes if translation.trace else (), 1):
                yield _event("pass", {"sentence": len(translations), "pass": number, **pass_response(one)})
            translations.append(translation)
        translated, seconds = TranslatedText(prepared, translations), time.perf_counter() - start
        yield _event("done", translate_response(translated, seconds, traced=traced))
    except (ServiceBusy, UserError) as error:
        yield _event("error", {"error": str(error)})
    except Exception as error:
        log_unexpected_error(error)
        yield _event("error", {"error": INTERNAL_ERROR})


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
