"""What leaders and followers say to each other, whatever carries it.

A follower keeps one session with each leader node. With every fetch it names the logs that are new to the session,
those whose end has moved, and those that it follows no longer; of all others its last word holds. The leader answers
with what is new of any of them. It does not send more of a log before the follower has named it again: what it has not
named is still on its way to the follower's disk.

A partition has a log, and it may have a stage with a log of its own. Both are followed alike; on the wire a stage has
an id that is made from its topic's.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from engine.catalogue.records import NodeRecord
from engine.deferred import Deferred
from engine.errors import BrokerError, ClusterAuthorizationFailed
from engine.files.files import Buffer, FileRegion
from engine.ids import TopicId

_STAGE_MASK = int.from_bytes(b"tide gate: stage")
NO_SNAPSHOT = -1


class Replica(NamedTuple):
    """One log that is followed: a partition's own, or its stage's."""

    topic_id: TopicId
    partition: int
    is_stage: bool = False


def stage_id(topic_id: TopicId) -> TopicId:
    """The id by which the stages of a topic are fetched; of that id, the topic's."""
    return (int.from_bytes(topic_id) ^ _STAGE_MASK).to_bytes(len(topic_id))


class Asked(Struct, frozen=True):
    """What a follower wants of one log: everything from `offset` on, up to which it has everything durable."""

    replica: Replica
    offset: int
    leader_epoch: int
    last_epoch: int
    """Of the batch before `offset`; -1 if there is none. The leader compares it with what it has (KIP-595)."""
    start_offset: int = 0


class ReplicaFetch(Struct, frozen=True):
    """One fetch of a follower."""

    node_id: int
    node_epoch: int
    session: int
    """0 asks for a new one."""
    number: int
    """Counts the fetches of a session, from 1."""
    asked: Sequence[Asked]
    dropped: Sequence[Replica]
    wait_ms: int
    max_bytes: int
    max_partition_bytes: int


class Given(Struct):
    """What a leader says of one log."""

    replica: Replica
    error: BrokerError | None = None
    high_watermark: int = -1
    start_offset: int = -1
    segment: int = -1
    """Of a stage: where the segment begins that the records are from."""
    divergence: tuple[int, int] | None = None
    """Where the follower's log has left the leader's: the epoch, and where that ended."""
    snapshot: int = NO_SNAPSHOT
    """Of a stage: the offset of a checkpoint that the follower needs, for the log begins later than it has it."""
    records: Buffer | Sequence[FileRegion] = b""
    """Whole batches, but for the last, which may be cut off."""
    size: int = 0
    """Of the records, in bytes."""


class ReplicaAnswer(Struct):
    """What a leader answers to a fetch."""

    error: BrokerError | None = None
    session: int = 0
    given: Sequence[Given] = ()


class SnapshotPiece(Struct, frozen=True):
    """A part of a stage's checkpoint."""

    size: int
    """Of the whole."""
    position: int
    data: Buffer


class LeaderLink(Protocol):
    """A follower's connection to a leader node. Raises `LinkBroken` where it breaks; it is of no use then."""

    async def fetch(self, fetch: ReplicaFetch) -> ReplicaAnswer:
        """Ask, and wait for the answer."""
        ...

    async def snapshot(self, replica: Replica, leader_epoch: int, offset: int, position: int) -> SnapshotPiece:
        """A part of the checkpoint of that offset; raises the leader's refusal."""
        ...

    async def aclose(self) -> None:
        """Nothing more."""
        ...


class LinkBroken(Exception):
    """The other node cannot be reached, has gone, or does not answer; whether it did what it was asked is not known."""


class NotReached(LinkBroken):
    """Nothing was asked: there is no connection to the node."""


class LeaderLinks(Protocol):
    """Makes connections to other nodes."""

    async def connect(self, node: NodeRecord) -> LeaderLink:
        """One to that node, or `LinkBroken`."""
        ...


class FollowerReads(Protocol):
    """The leader's side: what followers on other nodes ask of this one. Each is known to be the node that it names."""

    def serve(self, fetch: ReplicaFetch) -> ReplicaAnswer | Deferred[ReplicaAnswer]:
        """Answer at once if there is something to say, else when there is or the follower's time is over."""
        ...

    def snapshot(
        self, replica: Replica, leader_epoch: int, offset: int, position: int
    ) -> SnapshotPiece | Deferred[SnapshotPiece]:
        """A part of a stage's checkpoint; raises, or is refused with, why there is none."""
        ...


class NoFollowers:
    """Of a node by itself."""

    def serve(self, fetch: ReplicaFetch) -> ReplicaAnswer | Deferred[ReplicaAnswer]:
        """There is nobody who could ask."""
        return ReplicaAnswer(ClusterAuthorizationFailed(f"node {fetch.node_id} is in no cluster with this one"))

    def snapshot(
        self, replica: Replica, leader_epoch: int, offset: int, position: int
    ) -> SnapshotPiece | Deferred[SnapshotPiece]:
        """The same."""
        asked = f"{replica.partition}, epoch {leader_epoch}, {offset} from {position}"
        raise ClusterAuthorizationFailed(f"a checkpoint of partition {asked}: it has no followers")
