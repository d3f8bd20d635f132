"""Figures of the schema registry: what it holds, and how its own door is used. What comes by the operations door is
counted there."""

from collections.abc import Iterator

from coordinators.schemas.registry import Registry
from engine.metrics import Family
from wire.http.server import HttpServer

HELD = {
    "subjects": "Subjects of the schema registry, with those that are deleted softly.",
    "versions": "Versions of all subjects, with those that are deleted softly.",
    "schemas": "Schemas of the registry: as many as have an id.",
    "text_bytes": "Characters of all schemas' texts.",
}


class RegistryMetrics:
    """A collector over what is registered, and over the door if there is one."""

    def __init__(self, registry: Registry, server: HttpServer | None) -> None:
        self._registry = registry
        self._server = server
        self._counted = -1
        self._figures: dict[str, int] = {}

    def collect(self) -> Iterator[Family]:
        """Everything about schemas."""
        if self._counted != self._registry.revision:
            # Thousands of rows are walked over only if one has changed.
            self._counted, self._figures = self._registry.revision, self._registry.statistics()
        for name, meaning in HELD.items():
            yield Family.gauge(f"tidegate_registry_{name}", meaning, [({}, self._figures.get(name, 0))])
        if self._server is not None:
            yield from self._door(self._server)

    def _door(self, server: HttpServer) -> Iterator[Family]:
        statistics = server.statistics()
        meaning = "Connections to the schema registry."
        yield Family.gauge("tidegate_registry_connections", meaning, [({}, statistics["connections"])])
        meaning = "Connections to the schema registry that were refused by registry.max.connections."
        yield Family.counter("tidegate_registry_connections_refused_total", meaning, [({}, statistics["refused"])])
        meaning = "Passwords and tokens that callers of the schema registry have shown and that were wrong."
        yield Family.counter("tidegate_registry_logins_refused_total", meaning, [({}, server.refused_logins)])
        meaning = "Requests to the schema registry, by route and status."
        counts = [
            ({"method": method, "route": route, "code": str(status)}, count)
            for (method, route, status), count in sorted(server.answered().items())
        ]
        yield Family.counter("tidegate_registry_requests_total", meaning, counts)
