"""What routes find on the application: the service, the gate, the store of files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from maskpredict.serve.http.access import Gate
from maskpredict.serve.http.downloads import FileStore
from maskpredict.serve.http.schemas import ErrorAnswer
from maskpredict.serve.queue.service import TranslationService


def _service(request: Request) -> TranslationService:
    service: TranslationService = request.app.state.service
    return service


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


def _files(request: Request) -> FileStore:
    files: FileStore = request.app.state.files
    return files


Service = Annotated[TranslationService, Depends(_service)]
Entrance = Annotated[Gate, Depends(_gate)]
Files = Annotated[FileStore, Depends(_files)]

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in (
        (400, "The request is wrong"),
        (403, "The API key is missing or wrong"),
        (408, "The request came too slowly"),
        (413, "The request is too large"),
        (429, "Too many requests"),
        (500, "A bug"),
        (503, "The server is busy or was too slow"),
    )
}
"""What every route that translates may answer besides."""
