"""A group coordinator for members to ask, the broker's own, over records in memory: its time goes as trio's does."""

from collections.abc import Mapping, Sequence
from typing import Any

import trio
from attrs import define, field

from coordinators.access.callers import ANONYMOUS, Caller
from coordinators.group.requests import CommitRequest, OffsetToCommit
from coordinators.waiting import result_of
from engine.errors import BrokerError, CoordinatorNotAvailable, OffsetOutOfRange
from tests.coordinators.group.shard import Shard
from wire.inner.assignors import ASSIGNORS, Claimant, Counts, Dealt, Place
from wire.inner.member import DoorMember, MemberWanted, PollWanted, ReadPortion, Reset
from wire.inner.memberships import DoorMembership
from wire.inner.offsets import GroupOffsets
from wire.kafka.apis import heartbeat, join_group, leave_group, sync_group
from wire.kafka.errors import error_code
from wire.kafka.messages.heartbeat import HeartbeatRequest
from wire.kafka.messages.join_group import JoinGroupRequest
from wire.kafka.messages.leave_group import LeaveGroupRequest
from wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from wire.kafka.messages.sync_group import SyncGroupRequest
from wire.kafka.request import Context, Deferred, Endpoint, Peer

TICK_S = 0.1
HANDLERS = {JoinGroupRequest: join_group, SyncGroupRequest: sync_group, HeartbeatRequest: heartbeat}
SOMEBODY = Caller(ANONYMOUS, "127.0.0.1")


@define(eq=False)
class Desk:
    """What handlers ask the coordinator for."""

    shard: Shard

    def join(self, request: Any) -> Deferred[Any]:
        return self._ask(lambda machine: machine.join(request))

    def sync(self, request: Any) -> Deferred[Any]:
        return self._ask(lambda machine: machine.sync(request))

    def leave(self, group: str, members: Sequence[Any]) -> Deferred[Any]:
        return self._ask(lambda machine: machine.leave(group, members))

    def heartbeat(self, group: str, member_id: str, instance: str | None, generation: int) -> None:
        self.shard.machine.heartbeat(group, member_id, instance, generation)

    def _ask(self, operation: Any) -> Deferred[Any]:
        answer = self.shard.runtime.run(0, operation)
        self.shard.settle()
        return answer


@define(eq=False)
class Office:
    """See the module. `logs` are the records of each partition, which are numbers; `counts` how many partitions."""

    counts: dict[str, int]
    shard: Shard = field(factory=Shard)
    logs: dict[Place, list[int]] = field(factory=dict)
    is_away: bool = False
    asked: list[Any] = field(factory=list)
    _written: trio.Event = field(factory=trio.Event)

    async def keep_time(self) -> None:
        """The coordinator's clock goes as trio's."""
        while True:
            await trio.sleep(TICK_S)
            self.shard.advance(round(TICK_S * 1000))

    # -- as members ask it

    async def ask(self, message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any:
        del version, wait_s
        self.asked.append(message)
        await trio.lowlevel.checkpoint()
        if self.is_away:
            raise CoordinatorNotAvailable("away")
        return await self._answer(message)

    async def _answer(self, message: Any) -> Any:
        context = Context(Peer("127.0.0.1", 1, Endpoint("h", 1), 1), 9, "c")
        desk: Any = Desk(self.shard)
        if isinstance(message, MetadataRequest):
            return self._metadata(message)
        if isinstance(message, OffsetFetchRequest):
            return self._fetch(message)
        if isinstance(message, OffsetCommitRequest):
            return await self._commit(message)
        if isinstance(message, LeaveGroupRequest):
            context.version = 5
            answer: Any = leave_group.handle(message, context, desk)
        else:
            answer = HANDLERS[type(message)].handle(message, context, desk)  # type: ignore[attr-defined]
        if hasattr(answer, "__await__"):
            answer = await answer
        return await result_of(answer) if isinstance(answer, Deferred) else answer

    def _metadata(self, message: MetadataRequest) -> MetadataResponse:
        names = [each.name or "" for each in message.topics or ()]
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    0 if name in self.counts else 3,
                    name,
                    partitions=[MetadataResponsePartition(partition_index=n) for n in range(self.counts.get(name, 0))],
                )
                for name in names
            ]
        )

    def _fetch(self, message: OffsetFetchRequest) -> OffsetFetchResponse:
        (group,) = message.groups
        topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartitions(index, self.committed((topic.name, index)))
                    for index in topic.partition_indexes
                ],
            )
            for topic in group.topics or ()
        ]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group.group_id, topics)])

    def committed(self, place: Place) -> int:
        return int(self.shard.fetch(*place).offset)

    async def _commit(self, message: OffsetCommitRequest) -> OffsetCommitResponse:
        offsets = tuple(
            OffsetToCommit(topic.name, each.partition_index, each.committed_offset)
            for topic in message.topics
            for each in topic.partitions
        )
        request = CommitRequest(message.group_id, message.member_id, message.generation_id_or_member_epoch, offsets)
        answer = self.shard.runtime.run(0, lambda machine: machine.commits.commit(request))
        self.shard.settle()
        try:
            await result_of(answer)
            code = 0
        except BrokerError as error:
            code = error_code(error)
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[OffsetCommitResponsePartition(each.partition_index, code) for each in topic.partitions],
                )
                for topic in message.topics
            ]
        )

    # -- records

    def write(self, place: Place, number: int) -> None:
        self.logs.setdefault(place, []).append(number)
        self._written.set()
        self._written = trio.Event()

    async def read(
        self, wanted: Mapping[Place, int], limits: PollWanted, *, committed_only: bool
    ) -> Sequence[ReadPortion]:
        del committed_only
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(limits.wait_s):
            while not (found := self._found(wanted, limits)):
                await self._written.wait()
            return found
        return []

    def _found(self, wanted: Mapping[Place, int], limits: PollWanted) -> list[ReadPortion]:
        found = []
        for place, offset in wanted.items():
            log = self.logs.get(place, [])
            if offset > len(log):
                found.append(ReadPortion(place, (), offset, OffsetOutOfRange("beyond the end")))
            elif offset < len(log):
                records = log[offset : offset + limits.max_records]
                found.append(ReadPortion(place, records, offset + len(records)))
        return found

    async def edge(self, place: Place, reset: Reset) -> int:
        await trio.lowlevel.checkpoint()
        return 0 if reset is Reset.EARLIEST else len(self.logs.get(place, []))

    # -- members

    def member(self, name: str, wanted: MemberWanted) -> DoorMember:
        """One that is not running yet."""
        session_ms = int(wanted.session_s * 1000)
        membership = DoorMembership(self.ask, self.ask, deal, trio.sleep, "g", wanted.topics, session_ms, 60_000)
        return DoorMember(name, SOMEBODY, wanted, membership, GroupOffsets(self.ask, trio.sleep, "g"), self)


async def deal(name: str, claimants: list[Claimant], counts: Counts) -> Dealt:
    await trio.lowlevel.checkpoint()
    return ASSIGNORS[name](claimants, counts)
