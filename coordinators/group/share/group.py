"""A share group (KIP-932): its epochs, its members, what each shall have and what each has, and where it has a state.

The broker assigns. Whenever members, subscriptions or topics change, the group's epoch is raised and a target
assignment is computed for that epoch. A member has its target as soon as it comes: it need not wait for others, for
several may read one partition.

All of this is hard state: records make it, and nothing else does. Only `is_stale` and when it was assigned last are
soft. A group is stale if topics may have changed since its epoch was raised; after a load that is assumed.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum

from attrs import define, evolve, field, frozen

from coordinators.group.share.record_formats import (
    Assignment,
    ShareCurrent,
    ShareEpoch,
    ShareSubscription,
    StateTopic,
    StateTopics,
    current_record,
    epoch_record,
    states_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.state_machine import Record
from engine.errors import UnknownMemberId
from engine.ids import TopicId

JOIN_EPOCH = 0
LEAVE_EPOCH = -1

NO_STATES = StateTopics({})


class ShareGroupState(Enum):
    """By the names that clients see. There is nothing in between."""

    EMPTY = "Empty"
    STABLE = "Stable"


@frozen
class ShareMember:
    """A member; never altered, always replaced."""

    member_id: str
    subscription: ShareSubscription = field(factory=ShareSubscription)
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Assignment = field(factory=dict)

    @property
    def current(self) -> ShareCurrent:
        """What a record of its assignment says."""
        return ShareCurrent(self.epoch, self.previous_epoch, self.assigned)

    def with_current(self, value: ShareCurrent | None) -> "ShareMember":
        """The member as such a record says; without one, as it was made."""
        if value is None:
            return ShareMember(self.member_id, self.subscription)
        return evolve(self, epoch=value.epoch, previous_epoch=value.previous_epoch, assigned=value.assigned)


@define(eq=False)
class ShareGroup:
    """One group."""

    group_id: str
    epoch: int = field(default=0, init=False)
    metadata_hash: int = field(default=0, init=False)
    assignment_epoch: int = field(default=0, init=False)
    members: dict[str, ShareMember] = field(factory=dict, init=False)
    targets: dict[str, Assignment] = field(factory=dict, init=False)
    states: StateTopics = field(default=NO_STATES, init=False)
    is_stale: bool = field(default=True, init=False)
    assigned_at: float = field(default=0.0, init=False)
    assigned_count: int = field(default=0, init=False)
    wanted_names: Counter[str] = field(factory=Counter, init=False)
    """By how many members each topic is wanted."""

    def tombstones(self) -> list[Record]:
        """Records that forget all of the group; the last one ends it."""
        group_id = self.group_id
        records = [current_record(group_id, member_id, None) for member_id in self.members]
        records += [target_record(group_id, member_id, None) for member_id in self.targets]
        records.append(target_epoch_record(group_id, None))
        records += [subscription_record(group_id, member_id, None) for member_id in self.members]
        records += [states_record(group_id, None), epoch_record(group_id, None)]
        return records

    # -- replay

    def replay_epoch(self, value: ShareEpoch) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def replay_subscription(self, member_id: str, value: ShareSubscription | None) -> None:
        """A member is there, or says something new; or is gone."""
        before = self.members.get(member_id)
        if before is not None:
            self._note_wanted(before, -1)
        if value is None:
            self.members.pop(member_id, None)
            return
        member = self.members[member_id] = evolve(before or ShareMember(member_id), subscription=value)
        self._note_wanted(member, 1)

    def replay_current(self, member_id: str, value: ShareCurrent | None) -> None:
        """What a member has now. It is known already, unless compaction took its subscription's first record."""
        before = self.members.get(member_id)
        if before is None and value is None:
            return
        self.members[member_id] = (before or ShareMember(member_id)).with_current(value)

    def replay_target(self, member_id: str, value: Assignment | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = value

    def _note_wanted(self, member: ShareMember, by: int) -> None:
        for name in member.subscription.topics:
            self.wanted_names[name] += by
            if not self.wanted_names[name]:
                del self.wanted_names[name]

    # -- looking

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def member(self, member_id: str) -> ShareMember:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.wanted_names

    def state_places(self) -> list[tuple[TopicId, int]]:
        """Every partition of which the group has, or may have, a state."""
        places: set[tuple[TopicId, int]] = set()
        for topics in (self.states.initialized, self.states.initializing):
            for topic_id, topic in topics.items():
                places.update((topic_id, index) for index in topic.partitions)
        return sorted(places)

    def with_states(self, added: Mapping[TopicId, StateTopic]) -> StateTopics:
        """Its states, and these partitions' too."""
        known = dict(self.states.initialized)
        for topic_id, topic in added.items():
            before = known.get(topic_id)
            partitions = topic.partitions if before is None else before.partitions | topic.partitions
            known[topic_id] = StateTopic(topic.name, partitions)
        deleting = {topic_id: name for topic_id, name in self.states.deleting.items() if topic_id not in added}
        return StateTopics(known, deleting)

    def hard_state(self) -> object:
        """Everything that records say."""
        epochs = (self.epoch, self.metadata_hash, self.assignment_epoch)
        return epochs, self.members, self.targets, self.states
