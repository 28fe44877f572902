"""Translation as server-sent events, one for each decoding pass."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from maskpredict.runtime.translation import Translation
from maskpredict.serve.http.events import event, event_stream, stream_description
from maskpredict.serve.http.responses import pass_response, translate_response
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
from maskpredict.serve.http.routers.v1 import decoding_settings
from maskpredict.serve.http.schemas import StreamRequest
from maskpredict.serve.queue.service import AcceptedRequest, TranslationService
from maskpredict.serve.queue.texts import PreparedText, TranslatedText, as_text, prepare_text

router = APIRouter(prefix="/v1", tags=["maskpredict"], responses=ERRORS)


@router.get("/translate/stream", response_class=StreamingResponse, responses=stream_description("pass", "done"))
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
    return event_stream(_events(service, prepared, accepted, traced=query.trace))


async def _events(
    service: TranslationService, prepared: PreparedText, accepted: AcceptedRequest, *, traced: bool
) -> AsyncIterator[str]:
    start = time.perf_counter()
    translations: list[Translation] = []
    async for translation in service.results(accepted):
        for number, one in enumerate(translation.trace.passes if translation.trace else (), 1):
            yield event("pass", {"sentence": len(translations), "pass": number, **pass_response(one)})
        translations.append(translation)
    translated, seconds = TranslatedText(prepared, translations), time.perf_counter() - start
    yield event("done", translate_response(translated, seconds, traced=traced))
