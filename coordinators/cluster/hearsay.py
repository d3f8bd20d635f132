"""What the others say of this node while etcd says nothing to it.

A node that is cut off from etcd alone does not learn that its session has ended and that others lead what it led; its
clients would wait for acknowledgements that cannot come. The others have seen the end of its session, so it asks them,
for as long as its session is in doubt. What they have seen is certain: a life that has ended never comes back. Where
nobody has seen it, etcd may be away for everybody, and whoever leads goes on.
"""

from collections.abc import Awaitable, Callable

import trio
from attrs import define

from coordinators.cluster.membership import ClusterMembership
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken

ASKED_EVERY_S = 0.25
ASKED_S = 1.0
"""So long is somebody waited for before all are asked again."""

AskWhetherEnded = Callable[[int, int], Awaitable[bool]]
"""Asks another node, by its number, whether it has seen the end of this node's life of that epoch; raises
`LinkBroken`."""


def has_ended(nodes: Nodes, revision: int, node_id: int, epoch: int) -> bool:
    """Whether a node's life of that epoch is known to have ended, by the catalogue up to that revision."""
    known = nodes.by_id.get(node_id)
    if known is None:
        # The epoch is the revision at which the life began: before that nothing can be told of it.
        return revision >= epoch
    return known.epoch > epoch


@define(eq=False)
class Hearsay:
    """See the module."""

    membership: ClusterMembership
    doubts: Callable[[], float]
    """In how many seconds the session will be in doubt unless it is confirmed; 0 or less where it is."""
    ask: AskWhetherEnded

    async def run(self) -> None:
        """As long as the node serves."""
        while True:
            await trio.sleep(max(self.doubts(), ASKED_EVERY_S))
            if self.doubts() <= 0 and self.membership.epoch:
                await self._ask_all(self.membership.epoch)

    async def _ask_all(self, epoch: int) -> None:
        """Whoever says first that it has ended is believed."""
        others = [node_id for node_id in self.membership.replicas.nodes.by_id if node_id != self.membership.node_id]
        with trio.move_on_after(ASKED_S):
            async with trio.open_nursery() as nursery:
                for node_id in others:
                    nursery.start_soon(self._ask_one, node_id, epoch, nursery.cancel_scope)

    async def _ask_one(self, node_id: int, epoch: int, asking: trio.CancelScope) -> None:
        try:
            has_ended_there = await self.ask(node_id, epoch)
        except LinkBroken:
            return
        if has_ended_there:
            self.membership.hear_of_end(epoch, node_id)
            asking.cancel()
