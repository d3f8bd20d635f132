"""The state machine of one shard: the groups in one partition of `__consumer_offsets`, and their offsets.

The version of a record's key says what the record is about; for each kind there is one function that applies it. What
members ask is decided in `classic/`, `consumer/`, `share/` or `streams/`, by the protocol of the group they are in.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.classic.joins import Joins
from coordinators.group.classic.membership import Membership
from coordinators.group.classic.rebalances import Rebalances
from coordinators.group.commits import Commits
from coordinators.group.config import GroupSettings
from coordinators.group.consumer.classic_members import ClassicMembers
from coordinators.group.consumer.groups import ConsumerGroups
from coordinators.group.consumer.heartbeat import ConsumerHeartbeats
from coordinators.group.consumer.replay import ConsumerReplay
from coordinators.group.consumer.requests import HeartbeatAnswer, HeartbeatRequest
from coordinators.group.offsets import CommitObserver, Offsets
from coordinators.group.pace import HeartbeatPace
from coordinators.group.record_formats import (
    GROUP_KEY_VERSION,
    OFFSET_KEY_VERSIONS,
    OffsetKey,
    decode_group,
    decode_group_key,
    decode_offset,
    decode_offset_key,
    key_version,
    offset_record,
)
from coordinators.group.requests import (
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    SyncAnswer,
    SyncRequest,
)
from coordinators.group.share.groups import ShareGroups
from coordinators.group.share.replay import ShareReplay
from coordinators.group.streams.groups import StreamsGroups
from coordinators.group.streams.heartbeat import StreamsHeartbeats
from coordinators.group.streams.replay import StreamsReplay
from coordinators.group.streams.requests import StreamsHeartbeatAnswer, StreamsHeartbeatRequest
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import Effects, Record, ShardTimers, Verdict
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import GroupIdNotFound, InconsistentGroupProtocol, NotCoordinator
from engine.records.layout import NO_PRODUCER_ID

logger = logging.getLogger("tidegate.groups")

Replay = Callable[[Record, int], None]


@define(eq=False)
class GroupMachine:
    """A shard: hard state, and the operations on it."""

    timers: ShardTimers[Any]
    clock: Clock
    settings: GroupSettings
    random_bytes: Callable[[int], bytes]
    topics: TopicView = field(factory=TopicView)
    # How many members of consumer and streams groups this node has, if there are more shards than this.
    population: Callable[[], int] | None = None
    commit_observers: Sequence[CommitObserver] = ()
    configs: GroupConfigs = field(factory=lambda: GroupConfigs(BrokerSettings()))
    groups: dict[str, ClassicGroup] = field(factory=dict, init=False)
    offsets: Offsets = field(init=False)
    rebalances: Rebalances = field(init=False)
    joins: Joins = field(init=False)
    membership: Membership = field(init=False)
    commits: Commits = field(init=False)
    consumers: ConsumerGroups = field(init=False)
    heartbeats: ConsumerHeartbeats = field(init=False)
    classic_members: ClassicMembers = field(init=False)
    shares: ShareGroups = field(init=False)
    streams: StreamsGroups = field(init=False)
    streams_heartbeats: StreamsHeartbeats = field(init=False)
    _replays: dict[int, Replay] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.offsets = Offsets(self.commit_observers)
        self.rebalances = Rebalances(self.groups, self.clock, self.timers, self.settings)
        self.membership = Membership(self.rebalances)
        self.consumers = ConsumerGroups(
            self.groups, self.topics, self.clock, self.timers, self.settings, self._downgraded, self.configs
        )
        self.streams = StreamsGroups(
            self.groups, self.topics, self.clock, self.timers, self.configs, self.settings.streams_max_size
        )
        pace = HeartbeatPace(self.settings.consumer_heartbeats_per_second, self.population or self.paced_members)
        self.heartbeats = ConsumerHeartbeats(self.consumers, self.random_bytes, pace)
        self.streams_heartbeats = StreamsHeartbeats(self.streams, pace)
        self.classic_members = ClassicMembers(self.consumers, self.random_bytes)
        assigned = (self.consumers.groups, self.streams.groups)
        self.joins = Joins(self.rebalances, self.random_bytes, assigned)
        others = (self.groups, *assigned)
        self.shares = ShareGroups(others, self.topics, self.clock, self.timers, self.settings, self.configs)
        self.commits = Commits(self.groups, self.offsets, self.rebalances, *assigned, self.shares.groups)
        self._replays = dict.fromkeys(OFFSET_KEY_VERSIONS, self._replay_offset)
        self._replays[GROUP_KEY_VERSION] = self._replay_group
        self._replays |= ConsumerReplay(self.consumers.groups, self.groups, self.offsets).by_key()
        self._replays |= ShareReplay(self.shares.groups).by_key()
        self._replays |= StreamsReplay(self.streams.groups, self.groups, self.offsets).by_key()

    def paced_members(self) -> int:
        """How many members of this shard share the pace of heartbeats."""
        return len(self.consumers.sessions) + len(self.streams.sessions)

    # -- replay

    def replays_at(self, _base_offset: int) -> None:
        """Compaction frees what is not needed any more, wherever it lies."""

    def replay(self, record: Record, producer_id: int) -> None:
        """Apply a record; of a kind that a newer version wrote, nothing is known."""
        replay = self._replays.get(key_version(record.key))
        if replay is None:
            logger.warning("passed over a record whose key has version %d", key_version(record.key))
            return
        replay(record, producer_id)

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A transaction has ended."""
        self.offsets.end_transaction(producer_id, committed=committed)

    def nothing(self) -> Record:
        """No topic is without a name."""
        return offset_record(OffsetKey("", "", 0), None)

    def _replay_offset(self, record: Record, producer_id: int) -> None:
        key = decode_offset_key(record.key)
        if record.value is None:
            self.offsets.remove(key)
            return
        if not any(key.group_id in groups for groups in (self.groups, self.consumers.groups, self.streams.groups)):
            # Somebody who only keeps offsets here: a group that never has members.
            self.groups[key.group_id] = ClassicGroup(key.group_id)
        if producer_id == NO_PRODUCER_ID:
            self.offsets.commit(key, decode_offset(record.value))
        else:
            self.offsets.commit_pending(key, decode_offset(record.value), producer_id)

    def _replay_group(self, record: Record, _producer_id: int) -> None:
        group_id = decode_group_key(record.key)
        if record.value is None:
            self.groups.pop(group_id, None)
            return
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id)
        group.adopt(decode_group(record.value))

    # -- members of the classic protocol: during a migration they may be in groups of the new one

    def join(self, request: JoinRequest) -> Verdict[JoinAnswer]:
        """The answer comes when the round of joins is over."""
        if request.group_id in self.shares.groups:
            raise InconsistentGroupProtocol(f"Group {request.group_id} is a share group.")
        host = self.consumers.groups.get(request.group_id)
        return self.classic_members.join(request) if host is not None and host.members else self.joins.join(request)

    def sync(self, request: SyncRequest) -> Verdict[SyncAnswer]:
        """The answer comes when the leader has brought the assignments."""
        return self._members_of(request.group_id).sync(request)

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> None:
        """A sign of life; raises what the member has to do. Writes nothing."""
        self._members_of(group_id).heartbeat(group_id, member_id, instance_id, generation)

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> Verdict[LeaveAnswer]:
        """For each member why it could not leave, or None."""
        return self._members_of(group_id).leave(group_id, leaving)

    def consumer_heartbeat(self, request: HeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        """A heartbeat of the new consumer protocol."""
        if request.group_id in self.shares.groups or request.group_id in self.streams.groups:
            raise GroupIdNotFound(f"Group {request.group_id} is not a consumer group.")
        return self.heartbeats.heartbeat(request)

    def streams_heartbeat(self, request: StreamsHeartbeatRequest) -> Verdict[StreamsHeartbeatAnswer]:
        """A heartbeat of a member of a streams group."""
        if request.group_id in self.shares.groups or request.group_id in self.consumers.groups:
            raise GroupIdNotFound(f"Group {request.group_id} is not a streams group.")
        return self.streams_heartbeats.heartbeat(request)

    def _members_of(self, group_id: str) -> Membership | ClassicMembers:
        host = self.consumers.groups.get(group_id)
        return self.classic_members if host is not None and host.members else self.membership

    # -- life

    def _downgraded(self, group_id: str) -> Verdict[None]:
        """What is left of a group of the new protocol has become a classic group."""
        group, effects = self.groups.get(group_id), Effects()
        if group is not None:
            self._begin_sessions(group, effects)
        return effects.verdict()

    def _begin_sessions(self, group: ClassicGroup, effects: Effects) -> None:
        """Members are given a new session. One that nobody leads was of the new protocol: its members join anew."""
        for member in group.members.values():
            self.rebalances.touch(group, member)
        if group.members and group.leader is None and group.can_rebalance:
            self.rebalances.prepare(group, effects)

    def loaded(self) -> None:
        """Members are given a new session: they could not be heard meanwhile."""
        effects = Effects()
        for group in self.groups.values():
            self._begin_sessions(group, effects)
        assert not effects.records, "nobody waits for a group that was just loaded"
        self.consumers.loaded()
        self.shares.loaded()
        self.streams.loaded()
        self._expire_later()

    def unloaded(self) -> None:
        """This node coordinates the shard no longer, or from an earlier state: whoever waits asks anew."""
        error = NotCoordinator("the coordinator has moved, or lost what it had not written")
        for waiting in tuple(self._waiting()):
            waiting.refuse(error)

    def _waiting(self) -> Iterator[Deferred[Any]]:
        waiting: tuple[Deferred[Any] | None, ...]
        for group in self.groups.values():
            for member in group.members.values():
                waiting = (member.join, member.sync)
                yield from (each for each in waiting if each is not None)

    def _expire_later(self) -> None:
        def expire(_: object) -> Verdict[None]:
            self._expire_later()
            return self.commits.expire()

        self.timers.set("expiry", self.settings.offsets_retention_check_interval_ms, expire)

    # -- looking

    def hard_state(self) -> object:
        """Everything that records say, to be compared with a fresh replay of them."""
        stored = {group_id: group.stored for group_id, group in self.groups.items() if group.stored is not None}
        consumers = {group_id: group.hard_state() for group_id, group in self.consumers.groups.items()}
        shares = {group_id: group.hard_state() for group_id, group in self.shares.groups.items()}
        streams = {group_id: group.hard_state() for group_id, group in self.streams.groups.items()}
        return stored, consumers, shares, streams, self.offsets.snapshot()

    def statistics(self) -> dict[str, int]:
        """Groups, members and offsets."""
        sizes = [len(group.members) for group in self.groups.values()]
        sizes += [len(group.members) for group in self.consumers.groups.values()]
        sizes += [len(group.members) for group in self.shares.groups.values()]
        sizes += [len(group.members) for group in self.streams.groups.values()]
        return {"groups": len(sizes), "members": sum(sizes), **self.offsets.statistics()}
