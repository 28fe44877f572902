"""Dependencies of routes: the service, access control and the store of downloads."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Depends, Request

from maskpredict.serve.http.access import AccessControl
from maskpredict.serve.http.downloads import DownloadStore
from maskpredict.serve.http.schemas import ErrorResponse
from maskpredict.serve.queue.service import TranslationService


def _service(request: Request) -> TranslationService:
    service: TranslationService = request.app.state.service
    return service


def _access(request: Request) -> AccessControl:
    access: AccessControl = request.app.state.access
    return access


def _downloads(request: Request) -> DownloadStore:
    downloads: DownloadStore = request.app.state.downloads
    return downloads


def _open_documents(request: Request) -> asyncio.Semaphore:
    documents: asyncio.Semaphore = request.app.state.open_documents
    return documents


Service = Annotated[TranslationService, Depends(_service)]
Access = Annotated[AccessControl, Depends(_access)]
Downloads = Annotated[DownloadStore, Depends(_downloads)]
OpenDocuments = Annotated[asyncio.Semaphore, Depends(_open_documents)]

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": description}
    for status, description in (
        (400, "The request is invalid"),
        (403, "The API key is missing or wrong"),
        (408, "The request took too long to arrive"),
        (413, "The request is too large"),
        (429, "Too many requests"),
        (500, "Internal error"),
        (503, "The server is busy, or the translation took too long"),
    )
}
"""Error responses that every translating route may give."""
