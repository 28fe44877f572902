"""The web page: static files that load nothing from other hosts."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.staticfiles import StaticFiles

# Some systems do not know these types, and browsers run only modules with the right type.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("image/svg+xml", ".svg")

router = APIRouter(include_in_schema=False)
_files = StaticFiles(directory=Path(__file__).parents[2] / "page")


@router.get("/")
async def index(request: Request) -> Response:
    """Return the page."""
    return await static("index.html", request)


@router.get("/static/{path:path}")
async def static(path: str, request: Request) -> Response:
    """Return a static file of the page."""
    response = await _files.get_response(path, request.scope)
    # Browsers cache the files but revalidate them: their names are the same in every version.
    response.headers["Cache-Control"] = "no-cache"
    return response
