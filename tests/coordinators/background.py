"""Tasks beside requests that run when a test tells them to."""

from collections.abc import Awaitable, Callable
from functools import partial

from coordinators.background import Background


class HeldBackground(Background):
    """Keeps what is begun in `started`."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Callable[[], Awaitable[object]]] = []

    def start_soon(self, function: Callable[..., Awaitable[object]], *arguments: object) -> None:
        self.started.append(partial(function, *arguments))

    async def run(self) -> None:
        """All of it, and what that begins."""
        while self.started:
            await self.started.pop(0)()
