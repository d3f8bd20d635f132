"""`/openapi.json`: the registry, described for programs."""

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.callers import Reception
from wire.http.life import Life
from wire.http.messages import Response
from wire.http.rights import OPEN
from wire.http.routing import Route
from wire.registry.calls import NoQuery, RegistryCall


async def show_document(_: RegistryCall, life: Life, reception: Reception, workers: Workers) -> Response:
    """The OpenAPI document of every call of the registry; below the operations door that one's has them all, too."""
    from wire.registry.openapi import registry_document

    return Response(200, await in_worker(workers, registry_document, life.version(), reception.asks))


ROUTES = (Route("GET", "/openapi.json", show_document, "This document", query=NoQuery, rights=OPEN),)
