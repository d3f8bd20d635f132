"""Committing, fetching, deleting and expiring offsets, for groups of all protocols and for those without members.

Who only keeps offsets under a group's name is a classic group that is always empty.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice

from attrs import define, field

from coordinators.group.classic.group import COMMIT_REFUSALS, ClassicGroup, GroupState
from coordinators.group.classic.rebalances import Rebalances
from coordinators.group.consumer.checks import check_commit, check_fetch
from coordinators.group.consumer.group import ConsumerGroup, ConsumerGroupState
from coordinators.group.offsets import Offsets
from coordinators.group.record_formats import LATEST_TIME, NO_TIME, OffsetKey, OffsetValue, group_record, offset_record
from coordinators.group.requests import (
    NO_MEMBER,
    CommitAnswer,
    CommitRequest,
    FetchedOffset,
    OffsetToCommit,
)
from coordinators.group.streams.checks import check_streams_commit, check_streams_fetch
from coordinators.group.streams.group import StreamsGroup, StreamsGroupState
from coordinators.state_machine import Effects, Producer, Record, Verdict
from engine.clock import Clock
from engine.errors import (
    BrokerError,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    IllegalGeneration,
    NonEmptyGroup,
    OffsetMetadataTooLarge,
    UnknownMemberId,
    UnstableOffsetCommit,
)
from engine.ids import ZERO_ID, TopicId

AnyGroup = ClassicGroup | ConsumerGroup | StreamsGroup
FORGOTTEN_AT_ONCE = 2_000
"""So many offsets of deleted topics go in one batch."""


@define(eq=False)
class Commits:
    """The offsets' operations of one shard."""

    groups: dict[str, ClassicGroup]
    offsets: Offsets
    rebalances: Rebalances
    consumers: dict[str, ConsumerGroup]
    streams: dict[str, StreamsGroup]
    shares: Mapping[str, object] = field(factory=dict)
    """Groups that keep no offsets here."""

    @property
    def clock(self) -> Clock:
        return self.rebalances.clock

    # -- committing

    def commit(self, request: CommitRequest) -> Verdict[CommitAnswer]:
        """Commit what may be; the answer says for each offset why it was not."""
        return self._commit(request, None, self._check_commit(request, transactional=False))

    def commit_transactional(self, request: CommitRequest, producer: Producer) -> Verdict[CommitAnswer]:
        """The same as part of a transaction, at whose end the offsets count."""
        return self._commit(request, producer, self._check_commit(request, transactional=True))

    def _commit(
        self, request: CommitRequest, producer: Producer | None, refusals: CommitAnswer
    ) -> Verdict[CommitAnswer]:
        now_ms = self.clock.now_ms()
        expires = NO_TIME if request.retention_time_ms == -1 else min(now_ms + request.retention_time_ms, LATEST_TIME)
        answers: CommitAnswer = []
        records = []
        for each, refusal in zip(request.offsets, refusals, strict=True):
            error = refusal or self._refusal(each)
            answers.append(error)
            if error is None:
                value = OffsetValue(each.offset, each.leader_epoch, each.metadata, now_ms, expires, each.topic_id)
                records.append(offset_record(OffsetKey(request.group_id, each.topic, each.partition), value))
        return Verdict(records, answers, producer=producer)

    def _refusal(self, offset: OffsetToCommit) -> BrokerError | None:
        most = self.rebalances.settings.offset_metadata_max_bytes
        if len(offset.metadata.encode()) > most:
            return OffsetMetadataTooLarge(f"metadata may be {most} bytes long (offset.metadata.max.bytes)")
        return None

    def _check_commit(self, request: CommitRequest, *, transactional: bool) -> CommitAnswer:
        """Raises if the member may not commit; per offset why it may not be committed."""
        self._check_keeps_offsets(request.group_id)
        consumers = self.consumers.get(request.group_id)
        if consumers is not None:
            return check_commit(consumers, request, transactional=transactional)
        streams = self.streams.get(request.group_id)
        if streams is not None:
            return check_streams_commit(streams, request, transactional=transactional)
        self._check_classic_commit(request, transactional=transactional)
        return [None] * len(request.offsets)

    def _check_classic_commit(self, request: CommitRequest, *, transactional: bool) -> None:
        """Members commit in their generation; others only where there are no members.

        Transactional commits of old clients bring neither member nor generation, and are let through.
        """
        group = self.groups.get(request.group_id)
        if group is None:
            if request.generation >= 0:
                error = GroupIdNotFound if request.can_be_told_of_no_group else IllegalGeneration
                raise error(f"Group {request.group_id} not found.")
            return
        if request.generation < 0 and group.state is GroupState.EMPTY:
            return
        if request.generation >= 0 or request.member_id != NO_MEMBER or request.instance_id is not None:
            member = group.check_member(request.member_id, request.instance_id)
            if request.generation != group.generation:
                raise IllegalGeneration(
                    f"group {group.group_id!r} is at generation {group.generation}, not {request.generation}"
                )
            self.rebalances.touch(group, member)
        elif not transactional:
            raise UnknownMemberId(f"group {group.group_id!r} has members: only they commit offsets")
        refusal = COMMIT_REFUSALS.get(group.state)
        if refusal is not None and not transactional:
            raise refusal(f"group {group.group_id!r} is in state {group.state.value}")

    # -- fetching

    def fetch(
        self,
        group_id: str,
        places: Iterable[tuple[str, int]] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> list[FetchedOffset]:
        """The offsets at these places, or all that there are; a member of a consumer group asks in its epoch."""
        self._check_keeps_offsets(group_id)
        consumers = self.consumers.get(group_id)
        if consumers is not None:
            check_fetch(consumers, member_id, member_epoch)
        streams = self.streams.get(group_id)
        if streams is not None:
            check_streams_fetch(streams, member_id, member_epoch)
        keys = self.offsets.keys_of(group_id) if places is None else [OffsetKey(group_id, *place) for place in places]
        found = [self._fetched(key, require_stable=require_stable) for key in keys]
        if places is None:
            # What only an open transaction would commit is not there yet.
            found = [each for each in found if each.offset >= 0 or each.error is not None]
        return found

    def _fetched(self, key: OffsetKey, *, require_stable: bool) -> FetchedOffset:
        if require_stable and self.offsets.is_pending(key):
            error = UnstableOffsetCommit("a transaction that commits this offset is open")
            return FetchedOffset(key.topic, key.partition, error=error)
        committed = self.offsets.get(key)
        if committed is None:
            return FetchedOffset(key.topic, key.partition)
        value = committed.value
        return FetchedOffset(key.topic, key.partition, value.offset, value.leader_epoch, value.metadata)

    # -- deleting

    def delete_offsets(self, group_id: str, places: Sequence[tuple[str, int]]) -> Verdict[CommitAnswer]:
        """Forget some offsets of a group, but of no topic that it reads."""
        self._check_keeps_offsets(group_id)
        group = self._existing(group_id)
        if isinstance(group, ClassicGroup) and group.state is not GroupState.EMPTY and not group.is_consumers:
            raise NonEmptyGroup(f"group {group_id!r} has members, and what they read cannot be told")
        answers: CommitAnswer = []
        records = []
        for topic, partition in places:
            if group.is_subscribed_to(topic):
                answers.append(GroupSubscribedToTopic(f"group {group_id!r} reads {topic!r}"))
                continue
            answers.append(None)
            key = OffsetKey(group_id, topic, partition)
            if self.offsets.get(key) is not None or self.offsets.is_pending(key):
                records.append(offset_record(key, None))
        return Verdict(records, answers)

    def delete_group(self, group_id: str) -> Verdict[None]:
        """Forget a group that has no members, with its offsets."""
        group = self._existing(group_id)
        if group.state not in (GroupState.EMPTY, ConsumerGroupState.EMPTY, StreamsGroupState.EMPTY):
            raise NonEmptyGroup(f"group {group_id!r} is not empty")
        effects = Effects()
        effects.records += [offset_record(key, None) for key in sorted(self.offsets.keys_of(group_id))]
        effects.records += _tombstones(group)
        return effects.verdict()

    def forget_topics(self, ids: Mapping[str, Set[TopicId]]) -> Verdict[bool]:
        """Topics were deleted, by name and id: nobody has a place in them any more. One of the same name that was made
        since stays. Answers whether some are left, for another batch."""
        found = (key for key, value in self.offsets.of_topics(ids) if value.topic_id in (*ids[key.topic], ZERO_ID))
        keys = list(islice(found, FORGOTTEN_AT_ONCE))
        return Verdict([offset_record(key, None) for key in sorted(set(keys))], len(keys) == FORGOTTEN_AT_ONCE)

    def _check_keeps_offsets(self, group_id: str) -> None:
        if group_id in self.shares:
            raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")

    def _existing(self, group_id: str) -> AnyGroup:
        group = self.consumers.get(group_id) or self.streams.get(group_id) or self.groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        return group

    # -- expiry

    def expire(self) -> Verdict[None]:
        """Forget offsets past their retention, and groups that have neither members nor offsets."""
        now_ms = self.clock.now_ms()
        effects = Effects()
        everyone: list[AnyGroup] = [*self.groups.values(), *self.consumers.values(), *self.streams.values()]
        for group in everyone:
            expired = self._expired(group, now_ms)
            effects.records += [offset_record(key, None) for key in expired]
            if group.is_forgettable and len(expired) == len(self.offsets.keys_of(group.group_id)):
                effects.records += _tombstones(group)
        return effects.verdict()

    def _expired(self, group: AnyGroup, now_ms: int) -> list[OffsetKey]:
        """A group's offsets age from when it became empty; a stable group's from the commit, if nobody reads them.

        Those of a group that the broker assigns to always age from the commit.
        """
        is_empty = group.state is GroupState.EMPTY
        is_classic = isinstance(group, ClassicGroup)
        if is_classic and not is_empty and (group.state is not GroupState.STABLE or group.subscribed is None):
            return []
        expired = []
        for (topic, partition), committed in self.offsets.of_group(group.group_id).items():
            key = OffsetKey(group.group_id, topic, partition)
            if not is_empty and group.is_subscribed_to(topic):
                continue
            since = committed.value.commit_timestamp_ms
            if is_empty and isinstance(group, ClassicGroup) and group.protocol_type is not None:
                since = max(since, group.state_timestamp_ms)
            if self._is_past(committed.value, since, now_ms) and not self.offsets.is_pending(key):
                expired.append(key)
        return expired

    def _is_past(self, value: OffsetValue, since_ms: int, now_ms: int) -> bool:
        if value.expire_timestamp_ms != NO_TIME:
            return now_ms >= value.expire_timestamp_ms
        return now_ms - since_ms >= self.rebalances.settings.offsets_retention_ms


def _tombstones(group: AnyGroup) -> list[Record]:
    return [group_record(group.group_id, None)] if isinstance(group, ClassicGroup) else group.tombstones()
