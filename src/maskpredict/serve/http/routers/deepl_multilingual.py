"""DeepL's routes for glossaries of several directions (its version 3), and for changing them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.glossary_store import StoredDirection, StoredGlossary
from maskpredict.serve.http.routers.body import body_schema, read_body
from maskpredict.serve.http.routers.deepl_glossaries import DictionaryBody, described, entries, named, read_direction
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Service
from maskpredict.serve.http.routers.glossaries import Glossaries, authorized_key
from maskpredict.serve.http.schemas import Text
from maskpredict.serve.queue.languages import base_code

router = APIRouter(prefix="/v3/glossaries", tags=["DeepL"], responses=ERRORS | NO_GLOSSARY)


class MultilingualGlossaryRequest(BaseModel):
    """A glossary for several directions."""

    name: Annotated[Text, Field(min_length=1, max_length=1_000)]
    dictionaries: Annotated[list[DictionaryBody], Field(min_length=1, max_length=100)]


class GlossaryChanges(BaseModel):
    """A new name, or terms to add to those of a direction; of two translations of a term, the new one stays."""

    name: Annotated[Text | None, Field(min_length=1, max_length=1_000)] = None
    dictionaries: Annotated[list[DictionaryBody], Field(max_length=100)] = []


@router.post("", status_code=201, openapi_extra=body_schema(MultilingualGlossaryRequest))
async def create_multilingual(request: Request, service: Service, access: Access, store: Glossaries) -> JSONResponse:
    """Keep a glossary for several directions."""
    body = (await read_body(request)).validated(MultilingualGlossaryRequest)
    key = authorized_key(request, access)
    directions = [await read_direction(service, dictionary) for dictionary in body.dictionaries]
    return JSONResponse(_all_directions(store.add(key, body.name, directions)), 201)


@router.get("")
async def list_multilingual(request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """List the glossaries that were sent with the same API key."""
    stored = store.all(authorized_key(request, access))
    return JSONResponse({"glossaries": [_all_directions(one) for one in stored]})


@router.get("/{glossary_id}")
async def get_multilingual(glossary_id: str, request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """Describe a glossary."""
    return JSONResponse(_all_directions(store.find(authorized_key(request, access), glossary_id)))


@router.get("/{glossary_id}/entries")
async def get_multilingual_entries(
    glossary_id: str, source_lang: str, target_lang: str, request: Request, access: Access, store: Glossaries
) -> JSONResponse:
    """Return the terms of a direction."""
    stored = store.find(authorized_key(request, access), glossary_id)
    direction = _direction(stored, source_lang, target_lang)
    terms = {**described(direction), "entries": entries(direction), "entries_format": "tsv"}
    return JSONResponse({"dictionaries": [terms]})


@router.patch("/{glossary_id}", openapi_extra=body_schema(GlossaryChanges))
async def change(
    glossary_id: str, request: Request, service: Service, access: Access, store: Glossaries
) -> JSONResponse:
    """Rename a glossary, or add terms to it."""
    body = (await read_body(request)).validated(GlossaryChanges)
    key = authorized_key(request, access)
    changed = store.find(key, glossary_id)
    for dictionary in body.dictionaries:
        added = await read_direction(service, dictionary)
        changed = _with_direction(changed, _joined(_directions(changed).get((added.source, added.target)), added))
    changed = replace(changed, name=body.name or changed.name)
    store.write(key, changed)
    return JSONResponse(_all_directions(changed))


@router.put("/{glossary_id}/dictionaries", openapi_extra=body_schema(DictionaryBody))
async def replace_direction(
    glossary_id: str, request: Request, service: Service, access: Access, store: Glossaries
) -> JSONResponse:
    """Replace the terms of a direction."""
    body = (await read_body(request)).validated(DictionaryBody)
    key = authorized_key(request, access)
    stored, direction = store.find(key, glossary_id), await read_direction(service, body)
    store.write(key, _with_direction(stored, direction))
    return JSONResponse(described(direction))


@router.delete("/{glossary_id}/dictionaries", status_code=204)
async def delete_direction(
    glossary_id: str, source_lang: str, target_lang: str, request: Request, access: Access, store: Glossaries
) -> Response:
    """Delete the terms of a direction."""
    key = authorized_key(request, access)
    stored = store.find(key, glossary_id)
    unwanted = _direction(stored, source_lang, target_lang)
    store.write(key, replace(stored, directions=tuple(one for one in stored.directions if one != unwanted)))
    return Response(status_code=204)


@router.delete("/{glossary_id}", status_code=204)
async def delete(glossary_id: str, request: Request, access: Access, store: Glossaries) -> Response:
    """Delete a glossary."""
    store.delete(authorized_key(request, access), glossary_id)
    return Response(status_code=204)


def _all_directions(stored: StoredGlossary) -> dict[str, Any]:
    return {**named(stored), "dictionaries": [described(direction) for direction in stored.directions]}


def _directions(stored: StoredGlossary) -> dict[tuple[str, str], StoredDirection]:
    return {(direction.source, direction.target): direction for direction in stored.directions}


def _direction(stored: StoredGlossary, source: str, target: str) -> StoredDirection:
    direction = _directions(stored).get((base_code(source), base_code(target)))
    if direction is None:
        raise ApiError(404, "The glossary has no terms in this direction.")
    return direction


def _with_direction(stored: StoredGlossary, direction: StoredDirection) -> StoredGlossary:
    directions = {**_directions(stored), (direction.source, direction.target): direction}
    return replace(stored, directions=tuple(directions.values()))


def _joined(old: StoredDirection | None, new: StoredDirection) -> StoredDirection:
    terms = {term.source: term for direction in (old, new) if direction is not None for term in direction.terms}
    return replace(new, terms=tuple(terms.values()))
