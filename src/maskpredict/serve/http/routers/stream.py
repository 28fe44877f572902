"""The iterations as server-sent events, one for each pass."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from maskpredict.errors import UserError
from maskpredict.runtime.translation import Translation
from maskpredict.serve.http.errors import INTERNAL, Refusal
from maskpredict.serve.http.responses import pass_answer, translate_answer
from maskpredict.serve.http.routers.dependencies import ERRORS, Entrance, Service
from maskpredict.serve.http.routers.v1 import settings_of
from maskpredict.serve.http.schemas import StreamRequest
from maskpredict.serve.logs import log_bug
from maskpredict.serve.queue.sentence_queue import Job
from maskpredict.serve.queue.service import TranslationService
from maskpredict.serve.queue.texts import OpenedText, TranslatedText, open_text
from maskpredict.serve.text.segmented_text import Document

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
"""Nobody on the way may hold events back."""


@router.get(
    "/translate/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "Events"}},
)
async def stream(
    asked: Annotated[StreamRequest, Query()], request: Request, service: Service, gate: Entrance
) -> StreamingResponse:
    """Translate a text: for each sentence an event `pass` for each pass over it, at last `done` or `error`.

    `done` holds what POST /v1/translate answers; `trace` says whether the passes are in it once more.
    """
    gate.admit(request, asked.api_key)
    gate.check_size([asked.q])
    opened = open_text(service, asked.q, asked.source, asked.target, Document.of_text)
    jobs = service.enqueue(opened.work, {**settings_of(asked), "trace": True})
    events = _events(service, opened, jobs, traced=asked.trace)
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


async def _events(
    service: TranslationService, opened: OpenedText, jobs: Sequence[Job], *, traced: bool
) -> AsyncIterator[str]:
    begin = time.perf_counter()
    translations: list[Translation] = []
    try:
        async for translation in service.finished(jobs):
            for number, one in enumerate(translation.trace.passes if translation.trace else (), 1):
                yield _event("pass", {"sentence": len(translations), "pass": number, **pass_answer(one)})
            translations.append(translation)
        translated, seconds = TranslatedText(opened, translations), time.perf_counter() - begin
        yield _event("done", translate_answer(translated, seconds, traced=traced))
    except (Refusal, UserError) as error:
        yield _event("error", {"error": str(error)})
    except Exception as error:
        log_bug(error)
        yield _event("error", {"error": INTERNAL})


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
