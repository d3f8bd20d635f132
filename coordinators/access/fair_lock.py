"""One at a time, and addresses take turns: however many wait from one, who comes from another waits for few of them."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from attrs import define, field


@define(eq=False)
class FairLock:
    """See the module."""

    _is_held: bool = field(default=False, init=False)
    _waiting: dict[str, deque[trio.Event]] = field(factory=dict, init=False)
    """By address, in the order in which addresses have their turn."""

    @asynccontextmanager
    async def held(self, address: str) -> AsyncIterator[None]:
        """For the length of the block."""
        await self._take(address)
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self, address: str) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._is_held:
            self._is_held = True
            return
        turn = trio.Event()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            await turn.wait()
        except trio.Cancelled:
            self._forget(address, turn)
            raise

    def _forget(self, address: str, turn: trio.Event) -> None:
        queue = self._waiting[address]
        queue.remove(turn)
        if not queue:
            del self._waiting[address]

    def _pass_on(self) -> None:
        if not self._waiting:
            self._is_held = False
            return
        address = next(iter(self._waiting))
        queue = self._waiting.pop(address)
        queue.popleft().set()
        if queue:
            self._waiting[address] = queue
