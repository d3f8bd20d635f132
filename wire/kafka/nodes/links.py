"""Links to the other nodes: one for each follower of a leader, made when asked for; and those that are shared.

A shared link is made at the first question to its node, and made anew when it has broken. A node that cannot be reached
is left alone for a moment, longer each time: whoever asks meanwhile is refused at once and knows how to ask again.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from attrs import define, field

from coordinators.background import Background
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import (
    LeaderLink,
    LinkBroken,
    NotReached,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
)
from engine.catalogue.records import NodeRecord
from engine.clock import Clock
from engine.ids import TopicId
from wire.kafka.codec import WireError
from wire.kafka.listeners import Listener, NodeWays
from wire.kafka.nodes.carrying_link import CarryingLink
from wire.kafka.nodes.link import Dial, Link, Versions, introduce
from wire.kafka.nodes.replica_messages import (
    FETCH_VERSIONS,
    SNAPSHOT_VERSIONS,
    fetch_request,
    read_answer,
    read_snapshot_response,
    snapshot_request,
    wire_id,
)
from wire.kafka.nodes.trust import LinkKind, NodeTrust

CONNECT_S = 3.0
"""For everything until both have shown who they are."""
ANSWER_S = 10.0
"""For an answer, beyond the time that the question itself gives."""
FETCH_S = 4.0
"""The same for a fetch: a leader that has not answered by then is cut off, and a new connection may find it sooner than
the old one recovers."""
MAX_ANSWER_BYTES = 100 * 1024 * 1024
"""As much as a broker takes for a request by default (`socket.request.max.bytes`)."""
WATCH_S = 0.5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0

Encrypt = Callable[[trio.abc.Stream, Listener], Awaitable[trio.abc.Stream]]
"""TLS over a stream to a node's listener, whose certificate is the node's; OSError if it is not."""


async def not_encrypted(_: trio.abc.Stream, listener: Listener) -> trio.abc.Stream:
    """Where nobody has set up TLS."""
    raise OSError(f"{listener.name} is encrypted, and this node has no certificates to trust")


@define(eq=False)
class NodeLinks:
    """Makes links. See `LeaderLinks`."""

    dial: Dial
    trust: NodeTrust
    nodes: Nodes
    background: Background
    max_answer_bytes: int = MAX_ANSWER_BYTES
    ways: NodeWays = field(factory=NodeWays)
    encrypt: Encrypt = not_encrypted
    _count: int = field(default=0, init=False)
    _last_epoch: int = field(default=0, init=False)

    async def connect(self, node: NodeRecord) -> LeaderLink:
        """One for a follower's fetches."""
        return ReplicaLink(await self.open(node), self.trust.node_id)

    async def open(self, node: NodeRecord, kind: LinkKind = LinkKind.FOLLOWER) -> Link:
        """One over which both have shown that they are nodes. It replaces others of its kind, but for followers': what
        those still carry counts no more there."""
        self._count += 1
        link = None
        try:
            with trio.fail_after(CONNECT_S):
                link = await self._dial(node, CarryingLink if kind is LinkKind.CARRIED else Link)
                asking = self.trust.ask(self._epoch(), node.node_id, kind, self._count)
                await introduce(link, asking, self.max_answer_bytes, CONNECT_S)
                return link
        except (OSError, ValueError, trio.TooSlowError) as error:
            raise NotReached(f"node {node.node_id} cannot be reached: {error or 'it does not answer'}") from None
        except BaseException:
            if link is not None:
                link.break_off("nobody waits for it any more")
            raise

    async def _dial(self, node: NodeRecord, made: type[Link]) -> Link:
        """By whichever of its listeners can be reached from here, of those that nodes may go by, in their order."""
        listeners = self.ways.to(node.listeners)
        stream, failure = None, OSError(_nowhere(node))
        for listener in listeners:
            try:
                with trio.fail_after(CONNECT_S / (len(listeners) + 1)):
                    stream = await self._reach(listener)
                break
            except (OSError, trio.TooSlowError) as error:
                failure = OSError(f"{listener}: {error or 'it does not answer'}")
        if stream is None:
            raise failure
        link = made(stream, f"tidegate-node-{self.trust.node_id}")
        self.background.start_soon(link.receive)
        return link

    async def _reach(self, listener: Listener) -> trio.abc.Stream:
        stream = await self.dial(listener.host, listener.port)
        if not self.ways.has_tls(listener):
            return stream
        try:
            return await self.encrypt(stream, listener)
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise

    def _epoch(self) -> int:
        """Of this node's life; of the last one where it has lost its session and has no other yet."""
        own = self.nodes.by_id.get(self.trust.node_id)
        if own is not None:
            self._last_epoch = own.epoch
        return self._last_epoch


def _nowhere(node: NodeRecord) -> str:
    return f"none of {', '.join(node.listeners)} is for nodes" if node.listeners else "it listens nowhere"


@define(eq=False)
class ReplicaLink:
    """See `LeaderLink`. What the answers name is what was asked for over this link."""

    link: Link
    node_id: int
    _stages: set[TopicId] = field(factory=set, init=False)

    async def fetch(self, fetch: ReplicaFetch) -> ReplicaAnswer:
        self._stages.update(wire_id(each.replica) for each in fetch.asked if each.replica.is_stage)
        timeout_s = fetch.wait_ms / 1000 + FETCH_S
        answer = await self.link.ask(fetch_request(fetch), FETCH_VERSIONS, timeout_s)
        return read_answer(answer, self._stages.__contains__)

    async def snapshot(self, replica: Replica, leader_epoch: int, offset: int, position: int) -> SnapshotPiece:
        request = snapshot_request(self.node_id, replica, leader_epoch, offset, position)
        answer = await self.link.ask(request, SNAPSHOT_VERSIONS, ANSWER_S)
        try:
            return read_snapshot_response(answer)
        except WireError as error:
            self.link.break_off(str(error))
            raise LinkBroken(str(error)) from None

    async def aclose(self) -> None:
        self.link.break_off("closed")
        await trio.lowlevel.checkpoint()


@define(eq=False)
class _Shared:
    """The link to one node, while there is one."""

    link: Link | None = None
    node: NodeRecord | None = None
    """As it was when the link was made."""
    asking: int = 0
    is_watched: bool = False
    making: trio.Lock = field(factory=trio.Lock)
    pause_s: float = 0.0
    not_before: float = 0.0


@define(eq=False)
class SharedLinks:
    """One link to each node, for whoever has something to ask it."""

    links: NodeLinks
    clock: Clock
    kind: LinkKind = LinkKind.QUESTIONS
    _by_node: dict[int, _Shared] = field(factory=dict, init=False)

    async def ask(self, node_id: int, message: Any, versions: Versions, timeout_s: float = ANSWER_S) -> Any:
        """The node's answer, or `LinkBroken`; in the highest of these versions that it takes."""
        shared = self._by_node.setdefault(node_id, _Shared())
        async with shared.making:
            if shared.link is None or shared.link.is_broken:
                shared.link = await self._make(shared, node_id)
            link = shared.link
        shared.asking += 1
        try:
            if not shared.is_watched:
                shared.is_watched = True
                self.links.background.start_soon(self._watch, shared)
            return await link.ask(message, versions, timeout_s)
        finally:
            shared.asking -= 1

    async def _watch(self, shared: _Shared) -> None:
        """While somebody waits for an answer: from a node that is gone none comes, and a cut line does not tell."""
        try:
            while shared.asking:
                await trio.sleep(WATCH_S)
                node = shared.node
                if node is not None and shared.link is not None and not self._is_here(node):
                    shared.link.break_off(f"node {node.node_id} is gone")
        finally:
            shared.is_watched = False

    def _is_here(self, node: NodeRecord) -> bool:
        now = self.links.nodes.by_id.get(node.node_id)
        return now is not None and now.incarnation == node.incarnation

    async def _make(self, shared: _Shared, node_id: int) -> Link:
        node = self.links.nodes.by_id.get(node_id)
        if node is None:
            raise NotReached(f"node {node_id} is not there")
        if self.clock.monotonic() < shared.not_before:
            raise NotReached(f"node {node_id} could not be reached just now")
        try:
            link = await self.links.open(node, self.kind)
        except LinkBroken:
            shared.pause_s = min(max(2 * shared.pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            shared.not_before = self.clock.monotonic() + shared.pause_s
            raise
        shared.pause_s, shared.node = 0.0, node
        return link

    def statistics(self) -> dict[str, int]:
        """How many nodes there are links to."""
        links = [each.link for each in self._by_node.values()]
        return {"links": sum(1 for link in links if link is not None and not link.is_broken)}
