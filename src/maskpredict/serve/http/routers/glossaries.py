"""The /v1/glossaries routes: terms that translations must have, sent once and named by their id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from maskpredict.runtime.glossary.glossary import Glossary, Term
from maskpredict.serve.http.access import AccessControl
from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.glossary_store import GlossaryStore, StoredDirection, StoredGlossary
from maskpredict.serve.http.routers.dependencies import ERRORS, NO_GLOSSARY, Access, Service
from maskpredict.serve.http.schemas import ApiKey, Code, TermBody, Text
from maskpredict.serve.queue.service import TranslationService

router = APIRouter(
    prefix="/v1/glossaries",
    tags=["maskpredict"],
    responses=ERRORS | NO_GLOSSARY,
)


def _store(request: Request) -> GlossaryStore:
    store: GlossaryStore = request.app.state.glossaries
    return store


Glossaries = Annotated[GlossaryStore, Depends(_store)]


class GlossaryBody(BaseModel):
    """Terms for one direction."""

    model_config = ConfigDict(strict=True)
    name: Annotated[Text, Field(max_length=1_000)] = ""
    source: Code
    target: Code
    terms: Annotated[list[TermBody], Field(min_length=1)]
    api_key: ApiKey = ""


class GlossaryResponse(BaseModel):
    """A glossary that the server keeps."""

    id: str
    name: str
    created: str
    source: str
    target: str
    terms: list[TermBody]


class GlossariesResponse(BaseModel):
    """All glossaries of an API key."""

    glossaries: list[GlossaryResponse]


def authorized_key(request: Request, access: AccessControl, given: str = "") -> str:
    """Check the API key of a request, in its body or its header, and return it."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    key = given or (token.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else "")
    access.authorize(request, key)
    return key if access.requires_key else ""


async def checked_direction(
    service: TranslationService, source: str, target: str, terms: Sequence[Term]
) -> StoredDirection:
    """Return terms that the model of a direction can use, or raise a `UserError`."""
    model = service.languages.model(source, target)
    if model is None:
        raise ApiError(400, "Invalid request: source and target are the same language")
    direction = StoredDirection(source, target, tuple(terms))
    characters = sum(len(term.source) + len(term.target) for term in terms)
    await service.preparing.run(characters, lambda: model.translator.open_glossary(direction.glossary))
    return direction


class GlossaryChoice:
    """The terms of a translation: those of a kept glossary, or others that came with the request."""

    def __init__(self, store: GlossaryStore, key: str, glossary_id: str | None, terms: Sequence[TermBody]) -> None:
        if glossary_id and terms:
            raise ApiError(400, "Invalid request: give glossary_id or terms, not both")
        self._stored = store.find(key, glossary_id) if glossary_id else None
        self._terms = terms

    async def glossary(self, service: TranslationService, source: str, target: str) -> Glossary | None:
        """Return the glossary for a direction; None without terms."""
        if self._stored is not None:
            return self._stored.direction(source, target)
        if not self._terms:
            return None
        terms = [term.term() for term in self._terms]
        return (await checked_direction(service, source, target, terms)).glossary


@router.post("", response_model=GlossaryResponse, status_code=201)
async def create(
    body: GlossaryBody, request: Request, service: Service, access: Access, store: Glossaries
) -> JSONResponse:
    """Keep a glossary; translations with its id as `glossary_id` then use its terms."""
    key = authorized_key(request, access, body.api_key)
    terms = [term.term() for term in body.terms]
    direction = await checked_direction(service, body.source, body.target, terms)
    stored = store.add(key, body.name, [direction])
    return JSONResponse(_response(stored, stored.directions[0]), 201)


@router.get("", response_model=GlossariesResponse)
async def list_all(request: Request, access: Access, store: Glossaries) -> JSONResponse:
    """List the glossaries that were sent with the same API key."""
    stored = store.all(authorized_key(request, access))
    return JSONResponse({"glossaries": [_response(one, direction) for one in stored for direction in one.directions]})


@router.delete("/{glossary_id}", status_code=204)
async def delete(glossary_id: str, request: Request, access: Access, store: Glossaries) -> Response:
    """Delete a glossary."""
    store.delete(authorized_key(request, access), glossary_id)
    return Response(status_code=204)


def _response(stored: StoredGlossary, direction: StoredDirection) -> dict[str, Any]:
    return {
        "id": stored.id,
        "name": stored.name,
        "created": stored.created,
        "source": direction.source,
        "target": direction.target,
        "terms": [{"source": term.source, "target": term.target, "soft": term.soft} for term in direction.terms],
    }
