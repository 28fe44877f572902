"""DeepL's routes for glossaries, in both of its versions: for one direction (v2) and for several (v3)."""

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


class MultilingualGlossaryRequest(BaseModel):
    """A glossary for several directions."""

    name: Annotated[Text, Field(min_length=1, max_length=1_000)]
    dictionaries: Annotated[list[DictionaryBody], Field(min_length=1, max_length=100)]


@router.post("/v2/glossaries", status_code=201, openapi_extra=body_schema(GlossaryRequest))
async def create_glossary(request: Request, service: Service, access: Access, store: Glossaries) -> JSONResponse:
    """Keep a glossary for one direction."""
    body = (await read_body(request)).validated(GlossaryRequest)
    key = authorized_key(request, access)
    return JSONResponse(_one_direction(store.add(key, body.name, [_direction(service, body)])), 201)


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
    return Response(_entries(stored.directions[0]), media_type=_TSV)


@router.delete("/v2/glossaries/{glossary_id}", status_code=204)
@router.delete("/v3/glossaries/{glossary_id}", status_code=204)
async def delete_glossary(glossary_id: str, request: Request, access: Access, store: Glossaries) -> Response:
    """Delete a glossary."""
    store.delete(authorized_key(request, access), glossary_id)
    return Response(status_code=204)


@router.post("/v3/glossaries", status_code=201, openapi_extra=body_schema(MultilingualGlossaryRequest))
async def create_multilingual(request: Request, service: Service, access: Access, store: Glossaries) -> JSONResponse:
    """Keep a glossary for several directions."""
    body = (await read_body(request)).validated(MultilingualGlossaryRequest)
    key = authorized_key(request, access)
    directions = [_direction(service, dictionary) for dictionary in body.dictionaries]
    return JSONResponse(_all_directions(store.add(key, body.name, directions)), 201)


@router.get("/v3/glossaries")
async def list_multilingual(request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """List the glossaries that were sent with the same API key."""
    stored = store.all(authorized_key(request, access))
    return JSONResponse({"glossaries": [_all_directions(one) for one in stored]})


@router.get("/v3/glossaries/{glossary_id}")
async def get_multilingual(glossary_id: str, request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """Describe a glossary."""
    return JSONResponse(_all_directions(store.find(authorized_key(request, access), glossary_id)))


@router.get("/v3/glossaries/{glossary_id}/entries")
async def get_multilingual_entries(
    glossary_id: str, source_lang: str, target_lang: str, request: Request, access: Access, store: Glossaries
) -> JSONResponse:
    """Return the terms of a direction."""
    stored = store.find(authorized_key(request, access), glossary_id)
    wanted = base_code(source_lang), base_code(target_lang)
    directions = [one for one in stored.directions if (one.source, one.target) == wanted]
    if not directions:
        raise ApiError(404, "The glossary has no terms in this direction.")
    return JSONResponse(
        {"dictionaries": [{**_described(one), "entries": _entries(one), "entries_format": "tsv"} for one in directions]}
    )


def _direction(service: TranslationService, body: DictionaryBody) -> StoredDirection:
    source, target = base_code(body.source_lang), base_code(body.target_lang)
    if source == target:
        raise UserError(f"a glossary from {source} to {target} translates nothing; name two languages.")
    service.languages.model(source, target)
    terms = parse_glossary(body.entries.encode(), body.entries_format, Languages(source, target)).terms
    return checked_direction(service, source, target, list(terms))


def _one_direction(stored: StoredGlossary) -> dict[str, Any]:
    return {**_named(stored), "ready": True, **_described(stored.directions[0])}


def _all_directions(stored: StoredGlossary) -> dict[str, Any]:
    return {**_named(stored), "dictionaries": [_described(direction) for direction in stored.directions]}


def _named(stored: StoredGlossary) -> dict[str, Any]:
    return {"glossary_id": stored.id, "name": stored.name, "creation_time": stored.created}


def _described(direction: StoredDirection) -> dict[str, Any]:
    count = len(direction.terms)
    return {"source_lang": direction.source, "target_lang": direction.target, "entry_count": count}


def _entries(direction: StoredDirection) -> str:
    return "\n".join(f"{term.source}\t{term.target}" for term in direction.terms)
