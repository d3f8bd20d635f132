"""What the parts of share groups ask of each other, each of which may be on another node.

Three parties have to do with a share partition, which is a partition as one group sees it. The coordinator of the group
(`coordinators/group/share/`) knows its members and who reads what. The leader of the partition (`SharePartition`) hands
records out and takes acknowledgements; what it has in hand lives in its memory. What must outlive it is kept by the
share partition's state shard, in `__share_group_state`, on whichever node leads that.

Answers are Deferreds; where the other party is on this node they come when they are durable.
"""

from base64 import urlsafe_b64encode
from enum import IntEnum
from typing import NamedTuple, Protocol

from attrs import frozen

from engine.deferred import Deferred
from engine.ids import TopicId

UNINITIALISED = -1
"""The start of a share partition before anybody has decided where it begins."""
UNCHANGED = -1

REJECTED = "Offset rejected by client."
EXHAUSTED = "Offset delivery count exceeded the threshold."
EXPIRED = "The record expired before it could be delivered."
LETTER_REASONS = (REJECTED, EXHAUSTED, EXPIRED)
"""Why a record is a dead letter; every one has one of these. The first two are KIP-1191's."""


class SharePlace(NamedTuple):
    """A share partition: a partition as one group sees it."""

    group_id: str
    topic_id: TopicId
    partition_index: int

    @property
    def key(self) -> str:
        """By which Kafka finds the coordinator of its state."""
        return f"{self.group_id}:{_url_safe(self.topic_id)}:{self.partition_index}"


def _url_safe(topic_id: TopicId) -> str:

    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()


class DeliveryState(IntEnum):
    """Kafka's numbers. ACQUIRED is never durable: what was acquired is available again after a restart."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """It has to go to the dead-letter topic, and is not known to be there yet."""
    ARCHIVED = 4


@frozen
class StateBatch:
    """Offsets that have one state; what stands beside Kafka's four fields is this broker's own."""

    first_offset: int
    last_offset: int
    state: DeliveryState
    delivery_count: int
    not_before_ms: int = 0
    """Back-off: it is not handed out before this time of the wall clock."""
    first_delivered_ms: int = 0
    last_delivered_ms: int = 0
    reason: str = ""
    """Why it is a dead letter, where it is ARCHIVING."""
    member_id: str = ""
    """Who had it last, where it is ARCHIVING."""


@frozen
class LetterProducer:
    """Under which identity the dead letters of a share partition are written, so that one sent twice is known."""

    producer_id: int
    sent: int
    """How many letters have gone under it: the next sequence number."""
    target: str = ""
    """The topic that they go to."""
    intended: tuple[tuple[int, int], ...] = ()
    """First and last offsets, in the order in which they take the next sequence numbers: what is being sent. Durable
    before any of it goes, and until all of it has arrived, so that after a crash the same letters have the same
    numbers."""


@frozen
class ShareState:
    """All that is durable of a share partition."""

    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = UNINITIALISED
    complete_count: int = 0
    """Offsets at or above the start that are finished: what Kafka calls DeliveryCompleteCount."""
    batches: tuple[StateBatch, ...] = ()
    """In order and disjoint, at or above the start."""
    letter_producer: LetterProducer | None = None


@frozen
class ShareChange:
    """What a leader writes: batches lie over what was there, everything below the start is forgotten."""

    start_offset: int = UNCHANGED
    complete_count: int = 0
    batches: tuple[StateBatch, ...] = ()
    letter_producer: LetterProducer | None = None
    """None leaves it as it was."""


class ShareStates(Protocol):
    """Where the state of share partitions is kept. Refusals: `FencedStateEpoch`, `FencedLeaderEpoch`,
    `NotCoordinator`, `CoordinatorNotAvailable`, `CoordinatorLoadInProgress`; the last three may pass."""

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        """Begin anew at this offset, or where the leader decides (`UNINITIALISED`), whatever there was. Refused with
        `FencedStateEpoch` where there is a later epoch."""
        ...

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        """What there is; writers of earlier leader epochs are refused from now on. Of a place that nobody has
        initialised an empty state is given, and made durable with the first write."""
        ...

    def write(self, place: SharePlace, state_epoch: int, leader_epoch: int, change: ShareChange) -> Deferred[None]:
        """Done when it is durable."""
        ...

    def delete(self, place: SharePlace) -> Deferred[None]:
        """Forget it."""
        ...

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        """What there is, without its batches, for those who only look."""
        ...


class LetterCalls(Protocol):
    """How the leader of a share partition is told that it has dead letters to send, where that is another node."""

    def call(self, leader: int, place: SharePlace) -> None:
        """Tell it; whether it hears is not known."""
        ...


class ShareRecords(Protocol):
    """What the group's coordinator asks of the leaders of share partitions."""

    def end_offset(self, place: SharePlace) -> Deferred[int]:
        """The end of the partition, to reckon a lag from; below 0 where that cannot be told now."""
        ...
