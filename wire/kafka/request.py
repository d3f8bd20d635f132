"""What a handler is given and what it may return.

A handler is a plain function `handle(request, context)`. It returns its response; or a `Deferred` when the
answer waits for something (a sync, new records) while later requests of the connection go on; or a coroutine (it
is an `async def`, or calls one), and then the connection handles no further request before that has returned.
It returns None for a request that has no answer (Produce with acks=0).
"""

from collections.abc import Callable
from typing import Any

from attrs import define, frozen

from wire.kafka.node import Node


def _nothing() -> None:
    """Nothing to tidy up."""


class Deferred:
    """An answer that comes later, once."""

    __slots__ = ("_callback", "_message", "on_abandoned")

    def __init__(self) -> None:
        self.on_abandoned: Callable[[], object] = _nothing
        """Called when the client has gone and nobody will read the answer."""
        self._callback: Callable[[Any], object] | None = None
        self._message: Any = None

    @property
    def resolved(self) -> bool:
        """Whether the answer is there."""
        return self._message is not None

    def resolve(self, message: Any) -> None:
        """Give the answer; a second one is ignored (a deadline and the event itself may meet)."""
        if self._message is not None:
            return
        self._message = message
        if self._callback is not None:
            self._callback(message)

    def on_resolved(self, callback: Callable[[Any], object]) -> None:
        """Call back with the answer, at once if it is there."""
        self._callback = callback
        if self._message is not None:
            callback(self._message)


@frozen
class Endpoint:
    """Where clients of a listener are told to connect."""

    host: str
    port: int


@define
class Peer:
    """Who is at the other end of a connection, and by which of our addresses it came."""

    address: str
    port: int
    endpoint: Endpoint
    connection_id: int
    software_name: str = ""
    software_version: str = ""
    gone: bool = False


@define
class Context:
    """One request's surroundings."""

    node: Node
    peer: Peer
    version: int
    client_id: str | None
