"""A group member by hand: its requests one by one, in the version that a test asks for."""

import time
from typing import Any

from attrs import define, field
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from compat_tests.wire.connection import Wire
from compat_tests.wire.requests import NO_TOPIC_ID

NOT_YET = (14, 15, 16)
"""The coordinator is being loaded, made, or elsewhere: ask again."""
PATIENCE_SECONDS = 20.0
MEMBER_ID_REQUIRED = 79
TYPE = "consumer"
FIRST_STATIC_JOIN, FIRST_STATIC_OTHER = 5, 3


def subscription(*topics: str) -> bytes:
    """A consumer's subscription, version 0."""
    out = b"\x00\x00" + len(topics).to_bytes(4, "big")
    for topic in topics:
        out += len(topic).to_bytes(2, "big") + topic.encode()
    return out + b"\xff\xff\xff\xff"


@define(eq=False)
class Member:
    """One member of `group`; remembers what the broker told it."""

    bootstrap: str
    group: str
    instance: str | None = None
    protocols: tuple[tuple[str, bytes], ...] = (("range", subscription("t")),)
    protocol_type: str = TYPE
    session_ms: int = 30_000
    rebalance_ms: int = 30_000
    version: int = 9
    member_id: str = ""
    generation: int = -1
    leader: str = ""
    wire: Wire = field(init=False)
    _pending: list[tuple[Any, int]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.wire = Wire(self.bootstrap).__enter__()
        self._find_coordinator()

    def close(self) -> None:
        self.wire.__exit__()

    def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(version=3, key=self.group, key_type=0)
        self._ask_until_there(request, lambda answer: answer.error_code)

    def _ask_until_there(self, request: Any, code: Any) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while code(answer := self.wire.ask(request)) in NOT_YET:
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)
        return answer

    # -- joining

    def join_request(self, **changes: Any) -> Any:
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(name=n, metadata=m) for n, m in self.protocols]
        fields = {
            "version": self.version,
            "group_id": self.group,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": self.rebalance_ms,
            "member_id": self.member_id,
            "group_instance_id": self.instance if self.version >= FIRST_STATIC_JOIN else None,
            "protocol_type": self.protocol_type,
            "protocols": protocols,
            "reason": "a test",
        }
        return JoinGroupRequest(**{**fields, **changes})

    def take_id(self) -> None:
        """The id that a new dynamic member is given first."""
        if self.version >= 4 and self.instance is None and not self.member_id:
            answer = self._ask_until_there(self.join_request(), lambda a: a.error_code)
            assert answer.error_code == MEMBER_ID_REQUIRED, answer
            self.member_id = answer.member_id

    def start_join(self) -> None:
        """Join, without waiting for the answer."""
        self.take_id()
        self.start(self.join_request())

    def start(self, request: Any) -> None:
        self._pending.append((request, self.wire.send(request)))

    def receive(self) -> Any:
        """The answer to the oldest request that has none."""
        return self.wire.receive(*self._pending.pop(0))

    def joined(self) -> Any:
        """The answer to a join that was started; it has to be good."""
        answer = self.receive()
        assert answer.error_code == 0, answer
        self.member_id, self.generation, self.leader = answer.member_id, answer.generation_id, answer.leader
        return answer

    def join(self) -> Any:
        self.start_join()
        return self.joined()

    @property
    def leads(self) -> bool:
        return self.leader == self.member_id

    # -- the rest of a member's life

    def sync_request(self, assignments: dict[str, bytes] | None = None, version: int = 5, **changes: Any) -> Any:
        given = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=content)
            for member, content in (assignments or {}).items()
        ]
        fields = {
            "version": version,
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance if version >= FIRST_STATIC_OTHER else None,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocols[0][0],
            "assignments": given,
        }
        return SyncGroupRequest(**{**fields, **changes})

    def sync(self, assignments: dict[str, bytes] | None = None, version: int = 5, **changes: Any) -> Any:
        return self.wire.ask(self.sync_request(assignments, version, **changes))

    def settle(self, assignment: bytes = b"mine") -> None:
        """Join a group alone and take the assignment."""
        self.join()
        assert self.sync({self.member_id: assignment}).error_code == 0

    def heartbeat(self, version: int = 4, **changes: Any) -> int:
        fields = {
            "version": version,
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance if version >= FIRST_STATIC_OTHER else None,
        }
        return int(self.wire.ask(HeartbeatRequest(**{**fields, **changes})).error_code)

    def leave(self, version: int = 5) -> Any:
        return self.remove([(self.member_id, self.instance)], version)

    def remove(self, members: list[tuple[str, str | None]], version: int = 5) -> Any:
        identities = [
            LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=instance, reason="a test")
            for member, instance in members
        ]
        return self.wire.ask(
            LeaveGroupRequest(version=version, group_id=self.group, member_id=members[0][0], members=identities)
        )

    # -- offsets

    def commit(
        self,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        version: int = 9,
        identity: str = NO_TOPIC_ID,
        **changes: Any,
    ) -> int:
        """The error of committing one offset."""
        of_topic = OffsetCommitRequest.OffsetCommitRequestTopic
        one = of_topic.OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=changes.pop("leader_epoch", -1),
            commit_timestamp=-1,
            committed_metadata=changes.pop("metadata", ""),
        )
        fields = {
            "version": version,
            "group_id": self.group,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance if version >= 7 else None,
            "retention_time_ms": -1,
            "topics": [of_topic(name=topic, topic_id=identity, partitions=[one])],
        }
        request = OffsetCommitRequest(**{**fields, **changes})
        answer = self._ask_until_there(request, lambda a: a.topics[0].partitions[0].error_code)
        return int(answer.topics[0].partitions[0].error_code)

    def fetch(self, topic: str, *, partition: int = 0, version: int = 9, identity: str = NO_TOPIC_ID) -> Any:
        """The answer about one committed offset."""
        if version < 8:
            wanted = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])
            request = OffsetFetchRequest(
                version=version, group_id=self.group, topics=[wanted], require_stable=True, groups=[]
            )
            return self.wire.ask(request).topics[0].partitions[0]
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        named = group.OffsetFetchRequestTopics(name=topic, topic_id=identity, partition_indexes=[partition])
        asked = group(group_id=self.group, member_id=None, member_epoch=-1, topics=[named])
        answer = self.wire.ask(OffsetFetchRequest(version=version, groups=[asked], require_stable=True))
        assert answer.groups[0].error_code == 0, answer
        return answer.groups[0].topics[0].partitions[0]
