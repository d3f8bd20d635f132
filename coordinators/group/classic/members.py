"""A member of a classic group: what it said when it joined, and which answers it waits for."""

import struct

from attrs import define, field

from coordinators.group.record_formats import MemberValue
from coordinators.group.requests import JoinAnswer, Protocols, SyncAnswer
from engine.deferred import Deferred


@define(eq=False)
class Member:
    """One member. All but the protocols, the timeouts and the assignment is soft."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    # Soft: the answers it waits for, whether it has never been answered, and when its session ends.
    join: Deferred[JoinAnswer] | None = None
    sync: Deferred[SyncAnswer] | None = field(default=None, init=False)
    is_new: bool = field(default=False, init=False)
    session_deadline: float = field(default=0.0, init=False)

    @classmethod
    def stored(cls, value: MemberValue, protocol_type: str, protocol: str) -> "Member":
        """The member of a record: of its protocols only the selected one is known."""
        return cls(
            value.member_id,
            value.instance_id,
            value.client_id,
            value.client_host,
            value.rebalance_timeout_ms,
            value.session_timeout_ms,
            protocol_type,
            ((protocol, value.subscription),),
            value.assignment,
        )

    def value(self, protocol: str, assignment: bytes) -> MemberValue:
        """The member as a record keeps it."""
        return MemberValue(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.subscription(protocol),
            assignment,
        )

    def returned(self, member_id: str) -> "Member":
        """The same static member under another id; nobody waits for it yet."""
        return Member(
            member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.protocol_type,
            self.protocols,
            self.assignment,
        )

    @property
    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def subscription(self, protocol: str) -> bytes:
        """What it said about one protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")


def subscribed_topics(subscription: bytes) -> frozenset[str] | None:
    """The topics of a consumer's subscription (ConsumerProtocolSubscription), or None if it is not one."""
    try:
        version, count = struct.unpack_from(">hi", subscription)
        if version < 0 or not 0 <= count <= len(subscription):
            return None
        topics, position = [], 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", subscription, position)
            end = position + 2 + size
            if size < 0 or end > len(subscription):
                return None
            topics.append(subscription[position + 2 : end].decode())
            position = end
        return frozenset(topics)
    except (struct.error, UnicodeDecodeError):
        return None
