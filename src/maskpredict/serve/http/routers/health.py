"""Health, readiness and metrics, for load balancers and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.routers.dependencies import Service
from maskpredict.serve.http.schemas import ErrorResponse, ReadyResponse, StatusResponse

router = APIRouter(tags=["health"])


@router.get("/health")
@router.get("/healthz")
async def alive() -> StatusResponse:
    """Check that the process answers."""
    return StatusResponse(status="ok")


@router.get("/readyz", responses={503: {"model": ErrorResponse, "description": "Not ready"}})
async def ready(service: Service) -> ReadyResponse:
    """Check that the models are loaded and requests are translated, and tell how busy the server is.

    A busy server answers with 200, too: it still serves clients that wait for little. Route by `unfinished_seconds`, or
    by the metric of that name, where there are several servers.
    """
    if not service.is_ready:
        raise ApiError(503, "The server is shutting down.")
    load = service.load
    busy = load.unfinished_seconds > service.config.timeout / 2
    return ReadyResponse(
        status="busy" if busy else "ok",
        waiting_sentences=load.waiting_sentences,
        unfinished_seconds=round(load.unfinished_seconds, 2),
    )


@router.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}})
async def metrics(service: Service) -> Response:
    """Return metrics in Prometheus's text format."""
    return Response(service.metrics_page(), media_type=CONTENT_TYPE_LATEST)
