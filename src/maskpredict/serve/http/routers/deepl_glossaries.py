"""DeepL's routes for glossaries of one direction (its version 2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from maskpredict.errors import UserError
from maskpredict.languages import Languages
from maskpredict.runtime.glossary.reading import parse_glossary
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.glossary_store import StoredDirection, StoredGlossary
from maskpredict.serve.http.routers.body import body_schema, read_body
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Service
from maskpredict.serve.http.routers.glossaries import Glossaries, authorized_key, checked_direction
from maskpredict.serve.http.schemas import Text
from maskpredict.serve.queue.languages import base_code
from maskpredict.serve.queue.service import TranslationService

_TSV = "text/tab-separated-values"

router = APIRouter(tags=["DeepL"], responses=ERRORS | NO_GLOSSARY)


class DictionaryBody(BaseModel):
    """Terms for one direction, as tab- or comma-separated lines."""

    source_lang: str
    target_lang: str
    entries: Text
    entries_format: Literal["tsv", "csv"] = "tsv"


class GlossaryRequest(DictionaryBody):
    """A glossary for one direction."""

    name: Annotated[Text, Field(min_length=1, max_length=1_000)]


@router.post("/v2/glossaries", status_code=201, openapi_extra=body_schema(GlossaryRequest))
async def create_glossary(request: Request, service: Service, access: Access, store: Glossaries) -> JSONResponse:
    """Keep a glossary for one direction."""
    body = (await read_body(request)).validated(GlossaryRequest)
    key = authorized_key(request, access)
    return JSONResponse(_one_direction(store.add(key, body.name, [await read_direction(service, body)])), 201)


@router.get("/v2/glossaries")
async def list_glossaries(request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """List the glossaries for one direction that were sent with the same API key."""
    stored = store.all(authorized_key(request, access))
    return JSONResponse({"glossaries": [_one_direction(one) for one in stored if len(one.directions) == 1]})


@router.get("/v2/glossary-language-pairs")
async def glossary_language_pairs(service: Service) -> JSONResponse:
    """List the directions that glossaries may have."""
    pairs = [
        {"source_lang": one.code, "target_lang": target} for one in service.languages.all for target in one.targets
    ]
    return JSONResponse({"supported_languages": pairs})


@router.get("/v2/glossaries/{glossary_id}")
async def get_glossary(glossary_id: str, request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """Describe a glossary."""
    return JSONResponse(_one_direction(store.find(authorized_key(request, access), glossary_id)))


@router.get(
    "/v2/glossaries/{glossary_id}/entries",
    response_class=Response,
    responses={200: {"content": {_TSV: {"schema": {"type": "string"}}}, "description": "The terms"}},
)
async def get_entries(glossary_id: str, request: Request, access: Access, store: Glossaries) -> Response:
    """Return the terms of a glossary as tab-separated lines."""
    stored = store.find(authorized_key(request, access), glossary_id)
    return Response(entries(_only_direction(stored)), media_type=_TSV)


@router.delete("/v2/glossaries/{glossary_id}", status_code=204)
async def delete_glossary(glossary_id: str, request: Request, access: Access, store: Glossaries) -> Response:
    """Delete a glossary."""
    store.delete(authorized_key(request, access), glossary_id)
    return Response(status_code=204)


async def read_direction(service: TranslationService, body: DictionaryBody) -> StoredDirection:
    """Return the terms of a request, or raise a `UserError`."""
    source, target = base_code(body.source_lang), base_code(body.target_lang)
    if source == target:
        raise UserError(f"a glossary from {source} to {target} translates nothing; name two languages.")
    service.languages.model(source, target)
    content, languages = body.entries.encode(), Languages(source, target)
    glossary = await service.preparing.run(len(content), parse_glossary, content, body.entries_format, languages)
    return await checked_direction(service, source, target, glossary.terms)


def _one_direction(stored: StoredGlossary) -> dict[str, Any]:
    return {**named(stored), "ready": True, **described(_only_direction(stored))}


def _only_direction(stored: StoredGlossary) -> StoredDirection:
    """Return the first direction of a glossary, which one made by these routes has alone."""
    if not stored.directions:
        raise ApiError(404, "The glossary has no terms.")
    return stored.directions[0]


def named(stored: StoredGlossary) -> dict[str, Any]:
    """Return what DeepL says of every glossary."""
    return {"glossary_id": stored.id, "name": stored.name, "creation_time": stored.created}


def described(direction: StoredDirection) -> dict[str, Any]:
    """Return what DeepL says of the terms of one direction."""
    count = len(direction.terms)
    return {"source_lang": direction.source, "target_lang": direction.target, "entry_count": count}


def entries(direction: StoredDirection) -> str:
    """Return the terms of one direction as tab-separated lines."""
    return "\n".join(f"{term.source}\t{term.target}" for term in direction.terms)
