"""Group members that speak to the door, for the tests of the group APIs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define

from tests.wire.kafka.door import Client, Door, open_door
from tests.wire.kafka.requests import create_topic
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

AT_ONCE: dict[str, object] = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 3}
SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


@define(eq=False)
class GroupMember:
    """A member of group g on a connection of its own."""

    client: Client
    member_id: str = ""
    generation: int = -1

    def join_request(self, **changes: Any) -> JoinGroupRequest:
        fields = {
            "group_id": "g",
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 30_000,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol("range", SUBSCRIPTION)],
        }
        return JoinGroupRequest(**{**fields, **changes})

    async def join(self, version: int = 3, **changes: Any) -> Any:
        answer = await self.client.ask(self.join_request(**changes), version)
        assert answer.error_code == 0, answer
        self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    async def settle(self, **changes: Any) -> "GroupMember":
        """Alone in a stable group."""
        await self.join(5 if "group_instance_id" in changes else 3, **changes)
        mine = [SyncGroupRequestAssignment(self.member_id, b"mine")]
        request = SyncGroupRequest("g", self.generation, self.member_id, assignments=mine)
        assert (await self.client.ask(request, 2)).error_code == 0
        return self


@define(eq=False)
class GroupDoor:
    """A broker with a topic `t` of two partitions and a coordinator."""

    door: Door
    client: Client
    topic_id: bytes

    async def member(self) -> GroupMember:
        return GroupMember(await self.door.connect())

    async def commit(self, offset: int, group: str = "g", metadata: str = "") -> None:
        """As somebody who only keeps offsets."""
        one = OffsetCommitRequestPartition(0, offset, -1, metadata)
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(name="t", partitions=[one])])
        answer = await self.client.ask(request, 9)
        assert answer.topics[0].partitions[0].error_code == 0


@asynccontextmanager
async def group_door(data_dir: Path, **settings: object) -> AsyncIterator[GroupDoor]:
    """Run a broker for the length of the block."""
    async with open_door(data_dir, {**AT_ONCE, **settings}) as door:
        client = await door.connect()
        topic = await create_topic(client, "t", 2)
        assert (await client.ask(FindCoordinatorRequest(0, key="g"), 3)).error_code == 0
        yield GroupDoor(door, client, topic.topic_id)
