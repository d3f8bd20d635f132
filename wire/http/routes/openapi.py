"""`/openapi.json`: this door, described for programs."""

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.callers import Reception
from wire.http.life import Life
from wire.http.messages import Call, Response
from wire.http.openapi import document
from wire.http.rights import OPEN
from wire.http.routing import Route


async def openapi(_: Call, life: Life, reception: Reception, workers: Workers) -> Response:
    """The OpenAPI document of every route."""
    return Response(200, await in_worker(workers, document, life.version(), reception.asks))


ROUTES = (
    Route(
        "GET",
        "/openapi.json",
        openapi,
        "This document",
        media_type="application/json",
        needs_readiness=False,
        for_tenants=True,
        rights=OPEN,
    ),
)
