"""The group coordinator as doors and the rest of the program see it: a request in, an answer that may come later out.

A request goes to the shard of its group, on this node or not at all, and is carried out there by the runtime. The
answer is what `requests.py` says, or a refusal. A log that cannot be written now is told as a coordinator that is not
available, for that is what clients try again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import trio
from attrs import define, field

from coordinators.group.config import GroupSettings
from coordinators.group.consumer.requests import DescribedConsumerGroup, HeartbeatAnswer, HeartbeatRequest
from coordinators.group.descriptions import (
    PartitionLag,
    describe,
    describe_consumer_group,
    describe_share_group,
    describe_streams_group,
    kind_of,
    lag_of,
    listed,
)
from coordinators.group.machine import GroupMachine
from coordinators.group.offsets import CommitObserver
from coordinators.group.requests import (
    CommitAnswer,
    CommitRequest,
    DescribedGroup,
    FetchedOffset,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    ListedGroup,
    OffsetToCommit,
    SyncAnswer,
    SyncRequest,
)
from coordinators.group.share.requests import DescribedShareGroup, ShareHeartbeatRequest
from coordinators.group.streams.internal_topics import StreamsTopics
from coordinators.group.streams.requests import (
    DescribedStreamsGroup,
    StreamsHeartbeatAnswer,
    StreamsHeartbeatRequest,
)
from coordinators.internal_topics import InternalTopic, InternalTopics
from coordinators.runtime import Runtime
from coordinators.state_machine import Producer, ShardTimers, Verdict
from coordinators.topic_view import TopicUpdate
from coordinators.waiting import result_of
from engine.catalogue.records import TopicRecord
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    InvalidGroupId,
    InvalidSessionTimeout,
    NotCoordinator,
)
from engine.ids import TopicId
from engine.timers import Timers
from engine.workers import Workers

P = ParamSpec("P")
R = TypeVar("R")

OFFSETS_TOPIC = "__consumer_offsets"
LOADING_POLL_S = 0.05
NAMED, ANY = True, False
"""Whether a request needs a group with a name; offsets may be kept under the empty one, as old clients do."""


@define(eq=False)
class Groups:
    """All groups that this node coordinates. Made by `compose`."""

    internal_topics: InternalTopics
    settings: GroupSettings
    clock: Clock
    timers: Timers
    workers: Workers
    random_bytes: Callable[[int], bytes]
    runtime: Runtime[GroupMachine] = field(init=False)
    on_committed: list[CommitObserver] = field(factory=list, init=False)
    streams_topics: StreamsTopics = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.streams_topics = StreamsTopics(self.internal_topics.controller, self.clock)
        self.runtime = Runtime(OFFSETS_TOPIC, self._new_machine, self.clock, self.timers, self.workers)

    @classmethod
    def compose(
        cls,
        internal_topics: InternalTopics,
        settings: BrokerSettings,
        clock: Clock,
        timers: Timers,
        workers: Workers,
        random_bytes: Callable[[int], bytes],
    ) -> "Groups":
        """The coordinator, and its topic among those that are looked after."""
        groups = cls(internal_topics, GroupSettings.of(settings), clock, timers, workers, random_bytes)
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.integer("offsets.topic.segment.bytes")),
        }
        count = settings.integer("offsets.topic.num.partitions")
        internal_topics.add(
            InternalTopic(OFFSETS_TOPIC, count, configs, groups.runtime, "offsets.topic.replication.factor")
        )
        internal_topics.controller.replicas.on_change.append(groups.topic_changed)
        return groups

    def _new_machine(self, _index: int, _leader_epoch: int, timers: ShardTimers[Any]) -> GroupMachine:
        topics = self.internal_topics.controller.topics
        return GroupMachine(
            timers,
            self.clock,
            self.settings,
            self.random_bytes,
            topics.view,
            self._paced_members,
            self.on_committed,
            topics.groups,
        )

    def _paced_members(self) -> int:
        return sum(machine.paced_members() for machine in self.runtime.machines())

    # -- members

    def join(self, request: JoinRequest) -> Deferred[JoinAnswer]:
        """Answered when the round of joins is over."""
        least, most = self.settings.min_session_timeout_ms, self.settings.max_session_timeout_ms
        if not least <= request.session_timeout_ms <= most:
            return Deferred.refused(
                InvalidSessionTimeout(
                    f"a session timeout of {request.session_timeout_ms} ms: {least} to {most} are taken"
                )
            )
        return self._run(NAMED, request.group_id, GroupMachine.join, request)

    def sync(self, request: SyncRequest) -> Deferred[SyncAnswer]:
        """Answered when the leader has brought the assignments."""
        return self._run(NAMED, request.group_id, GroupMachine.sync, request)

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> None:
        """A sign of life; raises what the member has to do. Nothing is written and nothing waited for."""
        try:
            machine = self.runtime.machine(self.internal_topics.shard_of(OFFSETS_TOPIC, group_id))
        except CoordinatorLoadInProgress:
            # As in Kafka: the member may well be one, and its session begins anew after the load.
            return
        machine.heartbeat(group_id, member_id, instance_id, generation)

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> Deferred[LeaveAnswer]:
        """For each member why it could not leave, or None."""
        return self._run(NAMED, group_id, GroupMachine.leave, group_id, leaving)

    def consumer_heartbeat(self, request: HeartbeatRequest) -> Deferred[HeartbeatAnswer]:
        """A heartbeat of the new consumer protocol."""
        return self._run(ANY, request.group_id, GroupMachine.consumer_heartbeat, request)

    def streams_heartbeat(self, request: StreamsHeartbeatRequest) -> Deferred[StreamsHeartbeatAnswer]:
        """A heartbeat of a member of a streams group. Topics that the application lacks are made meanwhile."""
        answer = self._run(ANY, request.group_id, GroupMachine.streams_heartbeat, request)
        return answer.map(self.streams_topics.see_to)

    def share_heartbeat(self, request: ShareHeartbeatRequest) -> Deferred[HeartbeatAnswer]:
        """A heartbeat of a member of a share group."""
        return self._run(ANY, request.group_id, lambda shard: shard.shares.heartbeat(request))

    def topic_changed(self, update: TopicUpdate) -> None:
        """Who reads a topic looks again if it was made, deleted, or has more partitions."""
        before, after = update.before, update.after
        topic = after or before
        is_same = before is not None and after is not None and before.partition_count == after.partition_count
        if topic is not None and not is_same:
            for machine in self.runtime.machines():
                machine.consumers.topics_changed(topic.name)
                machine.shares.topics_changed(topic.name)
                machine.streams.topics_changed(topic.name)

    # -- offsets

    def commit(self, request: CommitRequest) -> Deferred[CommitAnswer]:
        """Keep a group's offsets."""
        return self._run(ANY, request.group_id, lambda shard: shard.commits.commit(request))

    def commit_transactional(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        producer_id: int,
        epoch: int,
        offsets: Sequence[OffsetToCommit],
        instance_id: str | None = None,
    ) -> Deferred[CommitAnswer]:
        """The same; the offsets count once the producer's transaction has been committed."""
        request = CommitRequest(group_id, member_id, generation, tuple(offsets), instance_id)
        producer = Producer(producer_id, epoch)
        return self._run(NAMED, group_id, lambda shard: shard.commits.commit_transactional(request, producer))

    def fetch_offsets(
        self,
        group_id: str,
        places: Sequence[tuple[str, int]] | None,
        *,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Deferred[list[FetchedOffset]]:
        """The offsets at these places, or all of the group."""

        def operation(shard: GroupMachine) -> Verdict[list[FetchedOffset]]:
            found = shard.commits.fetch(
                group_id, places, require_stable=require_stable, member_id=member_id, member_epoch=member_epoch
            )
            return Verdict(response=found)

        return self._run(ANY, group_id, operation)

    def delete_offsets(self, group_id: str, places: Sequence[tuple[str, int]]) -> Deferred[CommitAnswer]:
        """For each place why its offset could not be deleted, or None."""
        return self._run(NAMED, group_id, lambda shard: shard.commits.delete_offsets(group_id, places))

    async def forget_topics(self, deleted: Sequence[TopicRecord]) -> None:
        """Topics were deleted: nobody has a place in them any more. Raises if that cannot be written down."""
        ids: dict[str, set[TopicId]] = {}
        for record in deleted:
            ids.setdefault(record.name, set()).add(record.id)
        everything = frozenset(record.id for record in deleted)
        for index in self.runtime.indexes():
            while await self._forget_some(index, lambda shard: shard.commits.forget_topics(ids)):
                pass
            while await self._forget_some(index, lambda shard: shard.shares.forget_topics(everything)):
                pass

    async def _forget_some(self, index: int, forget: Callable[[GroupMachine], Verdict[bool]]) -> bool:
        """Of one shard, as much as one batch takes; whether there is more."""
        await trio.lowlevel.checkpoint()
        try:
            return await result_of(self.runtime.run(index, forget))
        except CoordinatorLoadInProgress:
            await trio.sleep(LOADING_POLL_S)
            return True
        except NotCoordinator:
            return False

    # -- administration

    def describe(self, group_id: str) -> Deferred[DescribedGroup]:
        """A group of the classic protocol."""
        return self._run(ANY, group_id, lambda shard: Verdict(response=describe(shard, group_id)))

    def describe_consumers(self, group_id: str) -> Deferred[DescribedConsumerGroup]:
        """A group of the new consumer protocol."""

        def operation(shard: GroupMachine) -> Verdict[DescribedConsumerGroup]:
            group = shard.consumers.groups.get(group_id)
            if group is None:
                is_other = kind_of(shard, group_id) is not None
                raise GroupIdNotFound(f"Group {group_id} {'is not a consumer group' if is_other else 'not found'}.")
            return Verdict(response=describe_consumer_group(group, shard.topics, self.settings.consumer_assignors[0]))

        return self._run(ANY, group_id, operation)

    def describe_shares(self, group_id: str) -> Deferred[DescribedShareGroup]:
        """A share group."""

        def operation(shard: GroupMachine) -> Verdict[DescribedShareGroup]:
            return Verdict(response=describe_share_group(shard.shares.existing(group_id), shard.topics))

        return self._run(NAMED, group_id, operation)

    def describe_streams(self, group_id: str) -> Deferred[DescribedStreamsGroup]:
        """A streams group."""
        return self._run(NAMED, group_id, lambda shard: Verdict(response=describe_streams_group(shard, group_id)))

    def list_groups(self) -> list[ListedGroup]:
        """Every group; `CoordinatorLoadInProgress` while some are not known yet."""
        return [group for machine in self.runtime.all_machines() for group in listed(machine)]

    def delete(self, group_id: str) -> Deferred[None]:
        """Done when an empty group is gone."""
        return self._run(NAMED, group_id, lambda shard: shard.commits.delete_group(group_id))

    def lag(self, group_id: str) -> list[PartitionLag]:
        """How far the group is behind, per partition that it has committed an offset for; from memory."""
        machine = self.runtime.machine(self.internal_topics.shard_of(OFFSETS_TOPIC, group_id))
        return lag_of(machine.offsets, group_id, self.internal_topics.controller)

    def statistics(self) -> dict[str, int]:
        """Groups, members and offsets over all shards."""
        total: dict[str, int] = {}
        for machine in self.runtime.machines():
            for name, count in machine.statistics().items():
                total[name] = total.get(name, 0) + count
        return total

    def offsets_place(self, group_id: str) -> tuple[str, int]:
        """The partition in which a group keeps its offsets."""
        return OFFSETS_TOPIC, self.internal_topics.shard_of(OFFSETS_TOPIC, group_id)

    def run(self, group_id: str, operation: Callable[[GroupMachine], Verdict[R]]) -> Deferred[R]:
        """Carry an operation out on the shard of a group that has a name."""
        return self._run(NAMED, group_id, operation)

    def look(self, group_id: str, question: Callable[[GroupMachine], R]) -> Deferred[R]:
        """What a question to the shard of a group has for an answer, as soon as what it saw is durable."""
        return self._run(NAMED, group_id, lambda shard: Verdict(response=question(shard)))

    # -- internals

    def _run(
        self,
        needs_name: bool,
        group_id: str,
        operation: Callable[Concatenate[GroupMachine, P], Verdict[R]],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Deferred[R]:
        if needs_name and not group_id:
            return Deferred.refused(InvalidGroupId("a group needs a name"))
        if "\0" in group_id:
            # What stands behind a NUL is outside the namespace of the tenant that asks (wire/kafka/tenancy/view.py).
            return Deferred.refused(InvalidGroupId("this group is not within the tenant's namespace"))
        try:
            index = self.internal_topics.shard_of(OFFSETS_TOPIC, group_id)
        except BrokerError as error:
            return Deferred.refused(error)
        return self.runtime.run(index, operation, *arguments, **options)
