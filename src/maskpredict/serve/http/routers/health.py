"""Health, readiness and metrics, for load balancers and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from maskpredict.serve.http.errors import ApiError
from maskpredict.serve.http.routers.dependencies import Service
from maskpredict.serve.http.schemas import ErrorResponse, StatusResponse

router = APIRouter(tags=["health"])


@router.get("/health")
@router.get("/healthz")
async def alive() -> StatusResponse:
    """Check that the process answers."""
    return StatusResponse(status="ok")


@router.get("/readyz", responses={503: {"model": ErrorResponse, "description": "Not ready"}})
async def ready(service: Service) -> StatusResponse:
    """Check that the models are loaded and requests are translated."""
    if not service.is_ready:
        raise ApiError(503, "The server is shutting down.")
    return StatusResponse(status="ok")


@router.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}})
async def metrics(service: Service) -> Response:
    """Return metrics in Prometheus's text format."""
    return Response(service.metrics_page(), media_type=CONTENT_TYPE_LATEST)
