"""What administrators do with share groups: see where they are, let them begin elsewhere, forget, delete.

The group's shard says whether that may be and for which partitions; the states themselves are kept elsewhere, perhaps
on another node (`ShareStates`), and where a partition ends its leader knows (`ShareRecords`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import define, frozen

from coordinators.group.groups import Groups
from coordinators.group.machine import GroupMachine
from coordinators.group.share import states as operations
from coordinators.group.share.record_formats import StateTopic
from coordinators.share.ports import UNINITIALISED, SharePlace, ShareRecords, ShareState, ShareStates
from coordinators.topic_view import Topic, TopicView
from coordinators.waiting import Breathing, result_of
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    InvalidRequest,
    UnknownTopicOrPartition,
    fresh,
    kept,
)
from engine.ids import ZERO_ID, TopicId

UNKNOWN = -1
ASKED_AT_ONCE = 100
"""So many groups or states are asked for, or changed, before others have their turn."""


@frozen
class SharePosition:
    """Where a group is in a partition: -1 where it has not begun, and the lag where it cannot be told."""

    index: int
    start_offset: int = UNINITIALISED
    leader_epoch: int = 0
    lag: int = UNKNOWN
    error: BrokerError | None = None


@frozen
class SharePositions:
    """The same for the partitions of one topic."""

    name: str
    topic_id: TopicId
    partitions: tuple[SharePosition, ...]


@frozen
class ShareOutcome:
    """What became of a topic that was to be forgotten, or of one of its partitions that was to begin elsewhere."""

    name: str
    topic_id: TopicId = ZERO_ID
    index: int = UNKNOWN
    error: BrokerError | None = None


@define(eq=False)
class ShareGroupAdministration:
    """See the module."""

    groups: Groups
    states: ShareStates
    records: ShareRecords
    topics: TopicView

    # -- where groups are

    async def positions(
        self, group_id: str, wanted: Sequence[tuple[str, Sequence[int]]] | None
    ) -> list[SharePositions]:
        """Of these partitions, or of all that the group has a state of. Of a group that there is not nothing is known,
        which is no error, as in Kafka."""
        known = await result_of(
            self.groups.run(group_id, lambda shard: operations.known_states(shard.shares, group_id))
        )
        if wanted is None:
            named = {} if known is None else known.initialized
            wanted = [(topic.name, sorted(topic.partitions)) for _id, topic in sorted(named.items(), key=_by_name)]
        return [await self._positions(group_id, name, indexes) for name, indexes in wanted]

    async def _positions(self, group_id: str, name: str, indexes: Sequence[int]) -> SharePositions:
        topic = self.topics.by_name.get(name)
        if topic is None:
            error = kept(UnknownTopicOrPartition(f"no topic is called {name!r}"))
            return SharePositions(name, ZERO_ID, tuple(SharePosition(index, error=error) for index in indexes))
        found: list[SharePosition] = []
        for start in range(0, len(indexes), ASKED_AT_ONCE):
            found += await self._some_positions(group_id, topic, indexes[start : start + ASKED_AT_ONCE])
        return SharePositions(name, topic.topic_id, tuple(found))

    async def _some_positions(self, group_id: str, topic: Topic, indexes: Sequence[int]) -> list[SharePosition]:
        asked = []
        for index in indexes:
            place = SharePlace(group_id, topic.topic_id, index)
            if 0 <= index < topic.partition_count:
                asked.append((index, self.states.summary(place), self.records.end_offset(place)))
            else:
                refused: Deferred[ShareState] = Deferred.refused(_no_partition(topic, index))
                asked.append((index, refused, Deferred()))
        return [await _position(*each) for each in asked]

    # -- beginning elsewhere

    async def begin_elsewhere(
        self, group_id: str, wanted: Sequence[tuple[str, Sequence[tuple[int, int]]]]
    ) -> list[ShareOutcome]:
        """Have a group without members begin at these offsets, by topic and partition; `UNINITIALISED` leaves it to its
        configuration. For each partition, in the order of the request, why it could not."""
        offsets: dict[tuple[TopicId, int], int] = {}
        outcomes: list[ShareOutcome] = []
        breathing = Breathing()
        for name, partitions in wanted:
            topic = self.topics.by_name.get(name)
            for index, offset in partitions:
                outcome = _judged(name, topic, index, offset)
                outcomes.append(outcome)
                if outcome.error is None:
                    offsets[outcome.topic_id, index] = offset
                await breathing.did()
        epoch = await result_of(
            self.groups.run(
                group_id,
                lambda shard: operations.begin_elsewhere(shard.shares, group_id, _state_topics(offsets, self.topics)),
            )
        )
        refusals = await self._each(
            [
                (
                    (topic_id, index),
                    partial(self.states.initialize, SharePlace(group_id, topic_id, index), epoch, offset),
                )
                for (topic_id, index), offset in offsets.items()
            ]
        )
        return [
            outcome
            if outcome.error is not None
            else ShareOutcome(
                outcome.name, outcome.topic_id, outcome.index, refusals.get((outcome.topic_id, outcome.index))
            )
            for outcome in outcomes
        ]

    # -- forgetting

    async def forget_topics(self, group_id: str, names: Sequence[str]) -> list[ShareOutcome]:
        """Have a group without members forget where it is in these topics. For each topic why it could not."""
        topics = {name: self.topics.by_name.get(name) for name in dict.fromkeys(names)}
        ids = {topic.topic_id for topic in topics.values() if topic is not None}
        places = await result_of(
            self.groups.run(group_id, lambda shard: operations.begin_forgetting(shard.shares, group_id, ids))
        )
        refusals = await self._delete(group_id, places)
        by_topic = {topic_id: error for (topic_id, _index), error in refusals.items()}
        gone = {topic_id for topic_id, _index in places} - by_topic.keys()
        if gone:
            await result_of(
                self.groups.run(group_id, lambda shard: operations.finish_forgetting(shard.shares, group_id, gone))
            )
        found = {topic_id for topic_id, _index in places}
        return [_forgotten(name, topic, found, by_topic) for name, topic in topics.items()]

    async def delete_groups(self, names: Sequence[str]) -> list[BrokerError | None]:
        """Delete groups of any kind that have no members; share groups with their states. For each why it could not."""
        refusals: list[BrokerError | None] = []
        for start in range(0, len(names), ASKED_AT_ONCE):
            some = names[start : start + ASKED_AT_ONCE]
            kinds = [self.groups.look(name, partial(_is_share, name)) for name in some]
            shares = [await _value_or(kind, default=False) for kind in kinds]
            # Those of other kinds go together.
            begun = [
                None if is_share else self.groups.delete(name) for name, is_share in zip(some, shares, strict=True)
            ]
            for name, deletion in zip(some, begun, strict=True):
                try:
                    await (self._delete_share(name) if deletion is None else result_of(deletion))
                except BrokerError as error:
                    refusals.append(kept(error))
                else:
                    refusals.append(None)
        return refusals

    async def _delete_share(self, group_id: str) -> None:
        places = await result_of(
            self.groups.run(group_id, lambda shard: operations.begin_deletion(shard.shares, group_id))
        )
        for error in (await self._delete(group_id, places)).values():
            raise fresh(error)
        await result_of(self.groups.run(group_id, lambda shard: operations.finish_deletion(shard.shares, group_id)))

    async def _delete(self, group_id: str, places: operations.StatePlaces) -> Mapping[tuple[TopicId, int], BrokerError]:
        return await self._each(
            [
                ((topic_id, index), partial(self.states.delete, SharePlace(group_id, topic_id, index)))
                for topic_id, index in places
            ]
        )

    async def _each(
        self, changes: Sequence[tuple[tuple[TopicId, int], Callable[[], Deferred[None]]]]
    ) -> dict[tuple[TopicId, int], BrokerError]:
        """Carry changes of states out, many at a time; what was refused."""
        refusals: dict[tuple[TopicId, int], BrokerError] = {}
        for start in range(0, len(changes), ASKED_AT_ONCE):
            begun = [(key, change()) for key, change in changes[start : start + ASKED_AT_ONCE]]
            for key, done in begun:
                try:
                    await result_of(done)
                except BrokerError as error:
                    refusals[key] = kept(error)
        return refusals


def _is_share(group_id: str, shard: GroupMachine) -> bool:
    return group_id in shard.shares.groups


async def _value_or(deferred: Deferred[bool], *, default: bool) -> bool:
    try:
        return await result_of(deferred)
    except BrokerError:
        return default


async def _position(index: int, summary: Deferred[ShareState], end: Deferred[int]) -> SharePosition:
    try:
        state = await result_of(summary)
    except BrokerError as error:
        return SharePosition(index, error=kept(error))
    if state.start_offset < 0:
        return SharePosition(index, leader_epoch=state.leader_epoch)
    end_offset = await result_of(end)
    lag = UNKNOWN if end_offset < 0 else max(end_offset - state.start_offset - state.complete_count, 0)
    return SharePosition(index, state.start_offset, state.leader_epoch, lag)


def _judged(name: str, topic: Topic | None, index: int, offset: int) -> ShareOutcome:
    if topic is None:
        return ShareOutcome(name, ZERO_ID, index, kept(UnknownTopicOrPartition(f"no topic is called {name!r}")))
    if not 0 <= index < topic.partition_count:
        return ShareOutcome(name, topic.topic_id, index, kept(_no_partition(topic, index)))
    if offset < UNINITIALISED:
        return ShareOutcome(name, topic.topic_id, index, kept(InvalidRequest(f"no group can begin at {offset}")))
    return ShareOutcome(name, topic.topic_id, index)


def _no_partition(topic: Topic, index: int) -> BrokerError:
    return UnknownTopicOrPartition(f"topic {topic.name!r} has no partition {index}")


def _state_topics(offsets: Mapping[tuple[TopicId, int], int], topics: TopicView) -> dict[TopicId, StateTopic]:
    indexes: dict[TopicId, set[int]] = {}
    for topic_id, index in offsets:
        indexes.setdefault(topic_id, set()).add(index)
    return {
        topic_id: StateTopic(topics.by_id[topic_id].name, frozenset(each))
        for topic_id, each in indexes.items()
        if topic_id in topics.by_id
    }


def _forgotten(
    name: str, topic: Topic | None, found: set[TopicId], refusals: Mapping[TopicId, BrokerError]
) -> ShareOutcome:
    if topic is None:
        return ShareOutcome(name, error=kept(UnknownTopicOrPartition(f"no topic is called {name!r}")))
    if topic.topic_id not in found:
        return ShareOutcome(name, error=kept(UnknownTopicOrPartition("There is no offset information to delete.")))
    return ShareOutcome(name, topic.topic_id, error=refusals.get(topic.topic_id))


def _by_name(item: tuple[TopicId, StateTopic]) -> tuple[str, TopicId]:
    return item[1].name, item[0]
