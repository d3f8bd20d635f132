"""What the group coordinator is asked and answers, in words of its own: doors translate."""

from typing import NamedTuple

from attrs import field, frozen

from engine.errors import BrokerError
from engine.ids import ZERO_ID, TopicId

Protocols = tuple[tuple[str, bytes], ...]
"""Names and metadata of the protocols that a member knows, the one it prefers first."""

NO_GENERATION = -1
NO_MEMBER = ""


@frozen
class JoinRequest:
    """Somebody wants to be a member, or is one and joins the next round."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str = ""
    # What the client's version of the protocol can: take an id first (KIP-394), skip the assignment (KIP-814).
    takes_id_first: bool = True
    can_skip_assignment: bool = True


@frozen
class JoinedMember:
    """A member as its leader sees it."""

    member_id: str
    instance_id: str | None
    subscription: bytes


@frozen
class JoinAnswer:
    """A round of joins is over. Only the leader is told the members."""

    member_id: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


@frozen
class SyncRequest:
    """A member asks for its assignment; the leader brings everybody's."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: dict[str, bytes] = field(factory=dict)


@frozen
class SyncAnswer:
    """A member's assignment, opaque to the broker."""

    protocol_type: str | None
    protocol: str | None
    assignment: bytes


@frozen
class LeavingMember:
    """A member that leaves or is removed; a static one may be named by its instance alone."""

    member_id: str
    instance_id: str | None = None
    reason: str = ""


LeaveAnswer = list[BrokerError | None]
"""For each member that was to leave, in their order, why it could not."""


class OffsetToCommit(NamedTuple):
    """A consumer's place in a partition."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    topic_id: TopicId = ZERO_ID


@frozen
class CommitRequest:
    """Offsets of a member, or of somebody who uses the group only to keep them (no generation, no member)."""

    group_id: str
    member_id: str
    generation: int
    offsets: tuple[OffsetToCommit, ...]
    instance_id: str | None = None
    retention_time_ms: int = -1
    # Older clients are told that a group which does not exist is at another generation.
    can_be_told_of_no_group: bool = True


CommitAnswer = list[BrokerError | None]
"""For each offset of the request, in its order, why it was not committed."""


@frozen
class FetchedOffset:
    """A committed offset, or why it is not told. -1 where there is none."""

    topic: str
    partition: int
    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: BrokerError | None = None


@frozen
class DescribedMember:
    """A member as an administrator sees it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    subscription: bytes
    assignment: bytes


@frozen
class DescribedGroup:
    """A group as an administrator sees it."""

    group_id: str
    state: str
    protocol_type: str
    protocol: str
    members: tuple[DescribedMember, ...]


@frozen
class ListedGroup:
    """A group in a list."""

    group_id: str
    protocol_type: str
    state: str
    type: str
