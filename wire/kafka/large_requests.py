"""A bound on the memory of large requests that have not arrived whole, over all connections.

What a connection holds of a request up to `EXEMPT_BYTES` is not counted: connections are bounded themselves.
Past the bound a connection that would hold more waits, and is not read from. The one whose request has been large for
longest never waits, so that there is always one that gets on.
"""

import trio
from attrs import define, field

EXEMPT_BYTES = 64 * 1024


@define
class _Share:
    since: float
    size: int


@define(eq=False)
class LargeRequests:
    """Who holds how much."""

    max_bytes: int
    held_bytes: int = field(default=0, init=False)
    _shares: dict[object, _Share] = field(factory=dict, init=False)
    _waiting: int = field(default=0, init=False)
    _freed: trio.Event = field(factory=trio.Event, init=False)

    def take(self, holder: object, size: int, now: float) -> bool:
        """Whether `holder` may have `size` bytes in all; if so they are its own until `release`."""
        share = self._shares.get(holder)
        growth = size - (0 if share is None else share.size)
        oldest = next(iter(self._shares), holder)
        if oldest is not holder and self.held_bytes + growth > self.max_bytes:
            return False
        if share is None:
            share = self._shares[holder] = _Share(now, 0)
        share.size = size
        self.held_bytes += growth
        return True

    async def wait(self) -> None:
        """Wait until somebody has let go."""
        self._waiting += 1
        try:
            await self._freed.wait()
        finally:
            self._waiting -= 1

    def release(self, holder: object) -> None:
        """The request is there, or will not come."""
        share = self._shares.pop(holder, None)
        if share is not None:
            self.held_bytes -= share.size
            self._freed.set()
            self._freed = trio.Event()

    def overdue(self, horizon: float) -> list[object]:
        """Who has held something since before `horizon`, if others wait for it."""
        if not self._waiting:
            return []
        return [holder for holder, share in self._shares.items() if share.since < horizon]

    def statistics(self) -> dict[str, int]:
        """Bytes held, by how many, and who waits."""
        return {"held_bytes": self.held_bytes, "holders": len(self._shares), "waiting": self._waiting}
