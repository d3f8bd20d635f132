"""Collects what connections have to send while many answers become ready at once: one send each, not one per answer."""

from typing import Protocol


class Flushes(Protocol):
    """A connection."""

    def flush(self) -> None:
        """Send what may be sent."""


class Cork:
    """In place from `collect` to `send`; otherwise everything goes out at once."""

    def __init__(self) -> None:
        self._collected: dict[Flushes, None] | None = None

    def collect(self) -> None:
        """Answers follow that belong together."""
        self._collected = {}

    def send(self) -> None:
        """Send what was collected."""
        collected, self._collected = self._collected, None
        for connection in collected or ():
            connection.flush()

    def flush(self, connection: Flushes) -> None:
        """An answer of `connection` is ready: send it now, or with others."""
        if self._collected is None:
            connection.flush()
        else:
            self._collected[connection] = None
