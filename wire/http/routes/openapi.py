"""`/openapi.json`: this door, described for programs."""

from wire.http.messages import Call, Response
from wire.http.openapi import document
from wire.http.routing import Route


async def openapi(call: Call) -> Response:
    """The OpenAPI document of every route."""
    broker = call.broker
    return Response(200, await broker.in_thread(document, broker.version(), broker.needs_token))


ROUTES = (
    Route("GET", "/openapi.json", openapi, "This document", media_type="application/json", needs_readiness=False),
)
