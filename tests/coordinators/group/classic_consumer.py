"""A member of the classic protocol in a group that may be of either protocol."""

import struct
from typing import Any

from coordinators.group.consumer.protocol import read_assignment
from coordinators.group.requests import JoinAnswer, JoinRequest, LeavingMember, SyncAnswer, SyncRequest
from engine.errors import MemberIdRequired, RebalanceInProgress
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard


def subscription(topic: str = "t", owned: frozenset[int] = frozenset()) -> bytes:
    """Version 1."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    has = struct.pack(f">i{len(owned)}i", len(owned), *sorted(owned))
    return struct.pack(">hi", 1, 1) + name + struct.pack(">i", -1) + struct.pack(">i", 1) + name + has


class ClassicConsumer:
    """A member of the classic protocol, as clients are."""

    def __init__(self, shard: ConsumerShard, instance: str | None = None) -> None:
        self.shard, self.instance = shard, instance
        self.member_id, self.generation, self.owned = "", -1, frozenset[int]()

    def ask(self, call: Any) -> Any:
        return self.shard.ask(call)

    def join(self, **changes: Any) -> Any:
        fields: dict[str, Any] = {
            "group_id": "g",
            "member_id": self.member_id,
            "instance_id": self.instance,
            "client_id": "old",
            "client_host": "/h",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 20_000,
            "protocol_type": "consumer",
            "protocols": (("range", subscription("t", self.owned)),),
        }
        request = JoinRequest(**{**fields, **changes})
        heard = self.ask(lambda machine: machine.join(request))
        if isinstance(heard.message, MemberIdRequired):
            self.member_id = heard.message.member_id
            return self.join(**changes)
        if isinstance(heard.message, JoinAnswer):
            self.member_id, self.generation = heard.message.member_id, heard.message.generation
        return heard

    def sync(self, assignments: dict[str, bytes] | None = None) -> Any:
        request = SyncRequest("g", self.member_id, self.instance, self.generation, assignments=assignments or {})
        heard = self.ask(lambda machine: machine.sync(request))
        if isinstance(heard.message, SyncAnswer):
            self.owned = read_assignment(heard.message.assignment)[0].get("t", frozenset())
        return heard

    def beat(self) -> None:
        machine = self.shard.machine
        machine.heartbeat("g", self.member_id, self.instance, self.generation)

    def leave(self) -> Any:
        leaving = [LeavingMember(self.member_id, self.instance)]
        return self.ask(lambda machine: machine.leave("g", leaving)).message

    def live(self) -> None:
        """A heartbeat, and what follows of it."""
        try:
            self.beat()
        except RebalanceInProgress:
            self.join()
            self.sync()


def settle_both(*members: ClassicConsumer | Consumer) -> None:
    """Heartbeats of members of both protocols in turn."""
    for _ in range(6):
        for member in members:
            member.live() if isinstance(member, ClassicConsumer) else member.beat()
