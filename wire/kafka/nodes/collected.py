"""What is to be asked of other nodes, collected: while one request to a node is under way, what comes is sent together
with the next."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from attrs import define, field

from coordinators.background import Background

T = TypeVar("T")
MOST_TOGETHER = 1000


@define(eq=False)
class Collected(Generic[T]):
    """Questions of one kind, by node."""

    background: Background
    send: Callable[[int, list[T]], Awaitable[None]]
    """Sends some of them to a node, and settles each, whatever happens."""
    _waiting: dict[int, list[T]] = field(factory=dict, init=False)
    _under_way: set[int] = field(factory=set, init=False)

    def add(self, node_id: int, question: T) -> bool:
        """Send it soon; False if this node does not ask anybody now."""
        if not self.background.is_open:
            return False
        self._waiting.setdefault(node_id, []).append(question)
        if node_id not in self._under_way:
            self._under_way.add(node_id)
            self.background.start_soon(self._send_all, node_id)
        return True

    async def _send_all(self, node_id: int) -> None:
        try:
            while waiting := self._waiting.pop(node_id, None):
                for start in range(0, len(waiting), MOST_TOGETHER):
                    await self.send(node_id, waiting[start : start + MOST_TOGETHER])
        finally:
            self._under_way.discard(node_id)
