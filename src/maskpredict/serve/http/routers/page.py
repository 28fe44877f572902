"""The page: plain files, none of which asks for anything from elsewhere."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.staticfiles import StaticFiles

# Not every system knows these, and browsers run no module that calls itself otherwise.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("image/svg+xml", ".svg")

router = APIRouter(include_in_schema=False)
_files = StaticFiles(directory=Path(__file__).parents[2] / "page")


@router.get("/")
async def index(request: Request) -> Response:
    """The page itself."""
    return await static("index.html", request)


@router.get("/static/{path:path}")
async def static(path: str, request: Request) -> Response:
    """What the page is made of."""
    response = await _files.get_response(path, request.scope)
    # Browsers keep the files, and ask whether they have changed: their names do not change with a new version.
    response.headers["Cache-Control"] = "no-cache"
    return response
