"""Who gets how many of the process's descriptors: the doors have theirs whatever the logs do, and these the rest."""

import logging
import resource

from attrs import frozen

from engine.config.resolve import BrokerSettings

logger = logging.getLogger("tidegate")

KEPT_FOR_THE_REST = 64
"""The catalogue, the journal, listeners, the loop itself, and what threads open for a moment."""
ACCEPTED_AND_REFUSED = 8
"""A connection must be accepted before it can be refused."""
FEWEST = 256
FEW = 4096


class TooFewDescriptors(Exception):
    """The system lets this process open too few files to serve anybody."""


@frozen
class DescriptorPlan:
    """How many descriptors there are, and the parts of logs, Kafka's clients and the operations door."""

    limit: int
    logs: int
    connections: int
    http_connections: int
    grpc_connections: int = 0
    text_connections: int = 0
    registry_connections: int = 0
    http_streams: int = 0

    @classmethod
    def make(cls, settings: BrokerSettings, limit: int) -> "DescriptorPlan":
        """Share `limit` out. Connections get what they may want, unless that leaves logs less than a third."""
        if limit < FEWEST:
            raise TooFewDescriptors(
                f"this process may open {limit} files, and the broker needs at least {FEWEST}: raise the limit "
                f"(`ulimit -n`, or LimitNOFILE= of the service)"
            )
        http = min(settings.integer("http.max.connections"), limit // 8)
        grpc, text, registry = (
            min(settings.integer(f"{door}.max.connections"), limit // 8) if settings.integer(f"{door}.port") else 0
            for door in ("grpc", "text", "registry")
        )
        streams = min(settings.integer("http.max.streams"), limit // 16) if settings.integer("http.port") else 0
        rest = limit - KEPT_FOR_THE_REST - http - streams - grpc - text - registry - 2 * ACCEPTED_AND_REFUSED
        connections = min(settings.integer("max.connections"), rest - rest // 3)
        wanted = settings.integer("log.max.open.files")
        logs = rest - connections
        return cls(limit, min(wanted, logs) if wanted else logs, connections, http, grpc, text, registry, streams)

    def tell(self, settings: BrokerSettings) -> None:
        """Say the limit, and what it cuts short of what was asked for."""
        parts = {"logs": self.logs, "connections": self.connections, "http_connections": self.http_connections}
        if self.grpc_connections:
            parts["grpc_connections"] = self.grpc_connections
        if self.text_connections:
            parts["text_connections"] = self.text_connections
        level = logging.WARNING if self.limit < FEW else logging.INFO
        logger.log(level, "the limit of open files is shared out", extra={"open_files": self.limit, **parts})
        for name, granted in (
            ("log.max.open.files", self.logs),
            ("max.connections", self.connections),
            ("http.max.connections", self.http_connections),
            ("http.max.streams", self.http_streams),
            *((("grpc.max.connections", self.grpc_connections),) if self.grpc_connections else ()),
            *((("text.max.connections", self.text_connections),) if self.text_connections else ()),
        ):
            if name in settings.static and settings.integer(name) > granted:
                logger.warning(
                    "%s is %d, not %d: the limit of %d open files leaves no more; raise it with `ulimit -n`, or "
                    "LimitNOFILE= of the service",
                    name,
                    granted,
                    settings.integer(name),
                    self.limit,
                )


def descriptor_limit() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 2**20
