"""A share group as it will be after an operation: the records gathered so far, and what they make of its epochs, its
targets and one of its members.

An operation changes nothing itself, but each of its steps has to see what the steps before it decided.
"""

import logging
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from attrs import define, evolve, field

from coordinators.group.share.assignor import Sharer, assign
from coordinators.group.share.group import ShareGroup, ShareMember
from coordinators.group.share.record_formats import (
    Assignment,
    ShareEpoch,
    StateTopic,
    current_record,
    epoch_record,
    states_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.state_machine import Record
from coordinators.topic_view import TopicView
from engine.ids import TopicId

logger = logging.getLogger("tidegate.groups")


def topics_hash(names: Iterable[str], topics: TopicView) -> int:
    """Of the topics of these names that exist, and how many partitions they have."""
    found = (topics.by_name.get(name) for name in sorted(set(names)))
    parts = [topic.topic_id + topic.partition_count.to_bytes(4, "big") for topic in found if topic is not None]
    return int.from_bytes(blake2b(b"".join(parts), digest_size=8).digest(), "big", signed=True) if parts else 0


@define(eq=False)
class ShareDraft:
    """See the module."""

    group: ShareGroup
    topics: TopicView
    now_ms: int
    member: ShareMember
    records: list[Record] = field(factory=list)
    epoch: int = field(init=False)
    assignment_epoch: int = field(init=False)
    assigned_count: int = field(default=0, init=False)
    _target: Assignment = field(init=False)
    _is_gone: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.epoch, self.assignment_epoch = self.group.epoch, self.group.assignment_epoch
        self._target = self.group.targets.get(self.member.member_id, {})

    def subscribe(self, before: ShareMember) -> None:
        """The member is new, or says something new."""
        member = self.member
        if member.subscription != before.subscription or member.member_id not in self.group.members:
            self.records.append(subscription_record(self.group.group_id, member.member_id, member.subscription))

    def remove(self) -> None:
        """The member is gone."""
        group_id, member_id = self.group.group_id, self.member.member_id
        self._is_gone = True
        self.records += (
            current_record(group_id, member_id, None),
            target_record(group_id, member_id, None),
            subscription_record(group_id, member_id, None),
        )

    def raise_epoch(self) -> None:
        """Something about the group has changed: a new assignment is due."""
        self.epoch += 1
        group_id = self.group.group_id
        logger.info("share group rebalances", extra={"group": group_id, "epoch": self.epoch})
        self.records.append(epoch_record(group_id, ShareEpoch(self.epoch, self.topics_hash())))

    def topics_hash(self) -> int:
        """Tells whether the topics that the group reads are the same, with the same partitions."""
        return topics_hash((name for member in self._members() for name in member.subscription.topics), self.topics)

    def _members(self) -> Iterable[ShareMember]:
        mine = self.member.member_id
        yield from (member for member_id, member in self.group.members.items() if member_id != mine)
        if not self._is_gone:
            yield self.member

    def compute_target(self) -> None:
        """Who shall have what, as of the group's epoch; and where the group has a state from now on."""
        group_id, targets = self.group.group_id, self.group.targets
        wanted: dict[tuple[str, ...], frozenset[TopicId]] = {}
        sharers = {}
        for member in self._members():
            names = member.subscription.topics
            # Most members want the same.
            topics = wanted.get(names)
            if topics is None:
                found = (self.topics.by_name.get(name) for name in names)
                topics = wanted[names] = frozenset(topic.topic_id for topic in found if topic is not None)
            sharers[member.member_id] = Sharer(topics, targets.get(member.member_id, {}))
        counts = {
            topic_id: self.topics.by_id[topic_id].partition_count for topics in wanted.values() for topic_id in topics
        }
        self.assigned_count = sum(counts.values())
        shares = assign(sharers, counts)
        for member_id, share in shares.items():
            if targets.get(member_id) != share:
                self.records.append(target_record(group_id, member_id, share))
        self._target = shares[self.member.member_id]
        self._note_states(counts)
        self.assignment_epoch = self.epoch
        self.records.append(target_epoch_record(group_id, self.epoch, self.now_ms))

    def _note_states(self, counts: Mapping[TopicId, int]) -> None:
        added = {
            topic_id: StateTopic(self.topics.by_id[topic_id].name, frozenset(range(count)))
            for topic_id, count in counts.items()
        }
        states = self.group.with_states(added)
        if states != self.group.states:
            self.records.append(states_record(self.group.group_id, states))

    def reconcile(self) -> ShareMember:
        """The member with what it shall have, as far as it still wants that."""
        found = (self.topics.by_name.get(name) for name in self.member.subscription.topics)
        wanted = {topic.topic_id for topic in found if topic is not None}
        assigned = {topic_id: indexes for topic_id, indexes in self._target.items() if topic_id in wanted}
        before = self.member
        if before.epoch == self.assignment_epoch and before.assigned == assigned:
            return before
        after = evolve(before, epoch=self.assignment_epoch, previous_epoch=before.epoch, assigned=assigned)
        self.records.append(current_record(self.group.group_id, after.member_id, after.current))
        return after
