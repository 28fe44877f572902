"""Whether the server is well, for people, load balancers and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from maskpredict.serve.http.errors import Refusal
from maskpredict.serve.http.routers.dependencies import Service
from maskpredict.serve.http.schemas import ErrorAnswer, StatusAnswer

router = APIRouter(tags=["health"])


@router.get("/health")
@router.get("/healthz")
async def alive() -> StatusAnswer:
    """The process answers."""
    return StatusAnswer(status="ok")


@router.get("/readyz", responses={503: {"model": ErrorAnswer, "description": "Not ready"}})
async def ready(service: Service) -> StatusAnswer:
    """Models are loaded and sentences are being computed."""
    if not service.is_ready:
        raise Refusal(503, "The server is shutting down.")
    return StatusAnswer(status="ok")


@router.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}})
async def metrics(service: Service) -> Response:
    """Numbers for Prometheus."""
    return Response(service.numbers(), media_type=CONTENT_TYPE_LATEST)
