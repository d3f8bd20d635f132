"""Two nodes that know each other, as far as links concern them: one serves, one connects to it."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from attrs import define, field

from coordinators.background import Background
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import (
    FollowerReads,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
)
from engine.catalogue.records import NodeRecord
from engine.deferred import Deferred
from tests.wire.kafka.door import Client, Door, open_door
from tests.wire.kafka.requests import create_topic
from tests.wire.kafka.transacting import SMALL, Producer
from wire.kafka.cork import Cork
from wire.kafka.nodes.links import NodeLinks, SharedLinks
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Endpoint
from wire.kafka.server import KafkaServer
from wire.transport import SocketTransport

SECRET = b"only nodes know this".ljust(32, b".")
SERVER, CLIENT = 1, 2
HOST, PORT = "server.example", 9092
RECORD = NodeRecord(SERVER, (f"PLAINTEXT://{HOST}:{PORT}",))


def counting(start: int = 0) -> Any:
    """Random bytes that are different each time, and the same in each run."""
    drawn = iter(range(start, 256))
    return lambda size: bytes([next(drawn)]) * size


@define(eq=False)
class Followers:
    """Answers what it was told to, and remembers what it was asked."""

    answer: ReplicaAnswer | Deferred[ReplicaAnswer] = field(factory=ReplicaAnswer)
    piece: Any = None
    fetches: list[ReplicaFetch] = field(factory=list)
    snapshots: list[tuple[Replica, int, int, int]] = field(factory=list)

    def serve(self, fetch: ReplicaFetch) -> ReplicaAnswer | Deferred[ReplicaAnswer]:
        self.fetches.append(fetch)
        return self.answer

    def snapshot(
        self, replica: Replica, leader_epoch: int, offset: int, position: int
    ) -> SnapshotPiece | Deferred[SnapshotPiece]:
        self.snapshots.append((replica, leader_epoch, offset, position))
        if isinstance(self.piece, Exception):
            raise self.piece
        piece: SnapshotPiece | Deferred[SnapshotPiece] = self.piece
        return piece


@define(eq=False)
class Pair:
    """The serving node's door, what it serves followers with, and the other node's links to it."""

    door: Door
    followers: Followers
    nursery: trio.Nursery
    server: KafkaServer
    links: NodeLinks = field(init=False)
    shared: SharedLinks = field(init=False)
    background: Background = field(factory=Background)
    dialled: int = 0
    refuses: bool = False
    clients: list[Client] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        nodes = Nodes({SERVER: RECORD, CLIENT: NodeRecord(CLIENT, (), epoch=7)})
        trust = NodeTrust(CLIENT, counting(100), SECRET)
        self.links = NodeLinks(self.dial, trust, nodes, self.background)
        self.shared = SharedLinks(self.links, self.door.broker.clock)

    async def dial(self, host: str, port: int) -> trio.SocketStream:
        await trio.lowlevel.checkpoint()
        assert (host, port) == (HOST, PORT)
        self.dialled += 1
        if self.refuses:
            raise ConnectionRefusedError("nobody listens")
        return self.connect()

    def connect(self) -> trio.SocketStream:
        """A connection to the node that serves, of which it knows nothing yet."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self.server.admit(SocketTransport(theirs, ("client", 1)), Endpoint(HOST, PORT), self.nursery)
        return trio.SocketStream(trio.socket.from_stdlib_socket(ours))

    async def producer(self) -> Producer:
        """One with a transactional identity, of the node that serves, which has a topic `t` of two partitions."""
        client = await self.door.connect()
        await create_topic(client, "t", 2)
        producer = Producer(client)
        await producer.init()
        return producer

    def client(self) -> Client:
        """Somebody who is no node."""
        client = Client(self.connect())
        self.clients.append(client)
        return client


@asynccontextmanager
async def pair(tmp_path: Path, trust: NodeTrust | None = None) -> AsyncIterator[Pair]:
    """A node that serves, and links to it."""
    followers = Followers()
    async with open_door(tmp_path, SMALL) as door, trio.open_nursery() as nursery:
        node = door.broker.node
        trust = trust or NodeTrust(SERVER, counting(), SECRET)
        services = node.services.extended({NodeTrust: trust, FollowerReads: followers})
        limits = door.broker.server.limits
        rounds, workers = node.partitions.rounds, node.workers
        server = KafkaServer(services, limits, node.clock, workers, rounds, Cork(), node.tracing)
        made = Pair(door, followers, nursery, server)
        with made.background.open(nursery):
            yield made
        for client in made.clients:
            await client.stream.aclose()
        nursery.cancel_scope.cancel()
