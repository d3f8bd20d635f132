"""Where a share group has states: what beginning elsewhere, forgetting and deleting do to its records.

Each is one operation on the group's shard, before or after the states themselves are changed where they are kept
(`administration.py`). What was begun and broken off can be begun again.
"""

from collections.abc import Mapping, Set

from coordinators.group.share.draft import topics_hash
from coordinators.group.share.group import ShareGroup
from coordinators.group.share.groups import ShareGroups, without_topics
from coordinators.group.share.record_formats import (
    ShareEpoch,
    StateTopic,
    StateTopics,
    epoch_record,
    states_record,
    target_epoch_record,
)
from coordinators.state_machine import Record, Verdict
from engine.errors import NonEmptyGroup
from engine.ids import TopicId

StatePlaces = list[tuple[TopicId, int]]


def known_states(shares: ShareGroups, group_id: str) -> Verdict[StateTopics | None]:
    """Where the group has states; None if there is no such group."""
    group = shares.groups.get(group_id)
    return Verdict(response=None if group is None else group.states)


def begin_elsewhere(shares: ShareGroups, group_id: str, topics: Mapping[TopicId, StateTopic]) -> Verdict[int]:
    """The group is to begin anew in these partitions; it is made if there is none. Gives the epoch of the new states:
    a leader that still goes by the old ones is fenced."""
    group = shares.existing(group_id, makes=True)
    _check_empty(group)
    if not topics:
        return Verdict(response=group.epoch)
    is_new, epoch = group.epoch == 0, group.epoch + 1
    records: list[Record] = [epoch_record(group_id, ShareEpoch(epoch, topics_hash((), shares.topics)))]
    if is_new or group.assignment_epoch == group.epoch:
        # Nobody is there to be assigned anything: it stays settled.
        records.append(target_epoch_record(group_id, epoch, shares.clock.now_ms()))
    states = group.with_states(topics)
    if states != group.states:
        records.append(states_record(group_id, states))
    return Verdict(records, epoch)


def begin_forgetting(shares: ShareGroups, group_id: str, ids: Set[TopicId]) -> Verdict[StatePlaces]:
    """The group's states in these topics are to go: they are noted as being deleted. Gives where they are."""
    group = shares.existing(group_id)
    _check_empty(group)
    places = [place for place in _places_to_delete(shares, group) if place[0] in ids]
    left = without_topics(group.states, ids)
    going = {topic_id: _name(group.states, topic_id) for topic_id, _index in places}
    states = left._replace(deleting={**left.deleting, **going})
    records = [states_record(group_id, states)] if states != group.states else []
    return Verdict(records, places)


def finish_forgetting(shares: ShareGroups, group_id: str, ids: Set[TopicId]) -> Verdict[None]:
    """They are gone."""
    group = shares.groups.get(group_id)
    if group is None or ids.isdisjoint(group.states.deleting):
        return Verdict()
    deleting = {topic_id: name for topic_id, name in group.states.deleting.items() if topic_id not in ids}
    return Verdict([states_record(group_id, group.states._replace(deleting=deleting))])


def begin_deletion(shares: ShareGroups, group_id: str) -> Verdict[StatePlaces]:
    """The group is to be deleted: it must have no members. Gives where it has states, which go first."""
    group = shares.existing(group_id)
    _check_empty(group)
    return Verdict(response=_places_to_delete(shares, group))


def finish_deletion(shares: ShareGroups, group_id: str) -> Verdict[None]:
    """Its states are gone, and so is the group; unless somebody has joined it meanwhile."""
    group = shares.existing(group_id)
    _check_empty(group)
    return Verdict(group.tombstones())


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise NonEmptyGroup("The group is not empty.")


def _places_to_delete(shares: ShareGroups, group: ShareGroup) -> StatePlaces:
    """All that it has, and what a deletion that was broken off has left."""
    places = set(group.state_places())
    for topic_id in group.states.deleting:
        topic = shares.topics.by_id.get(topic_id)
        if topic is not None:
            places.update((topic_id, index) for index in range(topic.partition_count))
    return sorted(places)


def _name(states: StateTopics, topic_id: TopicId) -> str:
    topic = states.initialized.get(topic_id) or states.initializing.get(topic_id)
    return states.deleting[topic_id] if topic is None else topic.name
