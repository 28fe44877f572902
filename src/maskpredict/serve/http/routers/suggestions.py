"""LibreTranslate's route for better translations that people suggest."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.routers.body import body_schema, read_body
from maskpredict.serve.http.routers.dependencies import ERRORS, Access, Service
from maskpredict.serve.http.schemas import ApiKey, Code, SourceCode, Text
from maskpredict.serve.http.suggestion_file import SuggestionFile
from maskpredict.serve.queue.languages import AUTO

router = APIRouter(tags=["LibreTranslate"], responses=ERRORS)


class SuggestionRequest(BaseModel):
    """A better translation, as in LibreTranslate's API."""

    q: Annotated[Text, Field(min_length=1, description="The text.")]
    s: Annotated[Text, Field(min_length=1, description="Its suggested translation.")]
    source: SourceCode
    target: Code
    api_key: ApiKey = ""


class SuggestionResponse(BaseModel):
    """A suggestion was kept."""

    success: Literal[True]


@router.post("/suggest", response_model=SuggestionResponse, openapi_extra=body_schema(SuggestionRequest))
async def suggest(request: Request, service: Service, access: Access) -> JSONResponse:
    """Keep a better translation, if the server collects them."""
    body = (await read_body(request)).validated(SuggestionRequest)
    access.authorize(request, body.api_key)
    file: SuggestionFile | None = request.app.state.suggestions
    if file is None:
        raise ApiError(403, "This server collects no suggestions.")
    access.check_size([body.q, body.s])
    if body.source != AUTO:
        service.languages.check(body.source)
    service.languages.check(body.target)
    file.add({"source": body.source, "target": body.target, "q": body.q, "s": body.s})
    return JSONResponse({"success": True})
