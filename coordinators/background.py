"""Tasks that somebody begins and nobody waits for: they live as long as the node serves."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import trio


class Background:
    """Runs tasks while it is open. What would begin before or after is not begun: the next start makes up for it."""

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None

    @contextmanager
    def open(self, nursery: trio.Nursery) -> Iterator[None]:
        """Let tasks begin, in the nursery."""
        self._nursery = nursery
        try:
            yield
        finally:
            self._nursery = None

    @property
    def is_open(self) -> bool:
        """Whether a task that is begun now runs."""
        return self._nursery is not None

    def start_soon(self, function: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Begin a task."""
        if self._nursery is not None:
            self._nursery.start_soon(function, *arguments)
