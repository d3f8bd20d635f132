"""How much opened content of compressed batches there may be at a time, over all connections.

Past it whoever wants to open another waits for its turn, first come, first served. Few threads open at a time, so that
others find one free.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from attrs import define, field

THREADS = 2


@define(eq=False)
class OpeningRoom:
    """Who holds how much, and who waits."""

    max_bytes: int
    threads: trio.Semaphore = field(factory=lambda: trio.Semaphore(THREADS), init=False)
    held_bytes: int = field(default=0, init=False)
    _waiting: deque[tuple[int, trio.Event]] = field(factory=deque, init=False)

    @asynccontextmanager
    async def holding(self, size: int) -> AsyncIterator[None]:
        """Have room for `size` bytes; for all there is, if that is less."""
        size = min(size, self.max_bytes)
        await self._take(size)
        try:
            yield
        finally:
            self._release(size)

    async def _take(self, size: int) -> None:
        if not self._waiting and self.held_bytes + size <= self.max_bytes:
            self.held_bytes += size
            return
        mine = (size, trio.Event())
        self._waiting.append(mine)
        try:
            await mine[1].wait()
        except trio.Cancelled:
            self._waiting.remove(mine)
            self._admit()
            raise

    def _release(self, size: int) -> None:
        self.held_bytes -= size
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.held_bytes + self._waiting[0][0] <= self.max_bytes:
            size, event = self._waiting.popleft()
            self.held_bytes += size
            event.set()

    def statistics(self) -> dict[str, int]:
        """Bytes held, and who waits."""
        return {"held_bytes": self.held_bytes, "waiting": len(self._waiting)}
