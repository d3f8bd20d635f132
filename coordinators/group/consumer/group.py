"""A group of the new consumer protocol (KIP-848): its epochs, its members, what each shall have and what each has.

The broker assigns. Whenever members, subscriptions or topics change, the group's epoch is raised, and a target
assignment is computed for that epoch. Each member then moves to its target on its own, heartbeat by heartbeat: it gives
back what is no longer its own, and takes what others have given back. Nobody waits for everybody.

All of this is hard state: records make it, and nothing else does. Only `is_stale` is soft. It says that topics may have
changed since the group's epoch was raised; after a load that is assumed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntEnum

from attrs import define, evolve, field, frozen

from coordinators.group.consumer.record_formats import (
    AssignedPartitions,
    Assignment,
    CurrentValue,
    EpochValue,
    RegexValue,
    SubscriptionValue,
    current_record,
    epoch_record,
    regex_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.state_machine import Record
from engine.errors import FencedInstanceId, UnknownMemberId
from engine.ids import TopicId

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2


class MemberState(IntEnum):
    """By the numbers that records have."""

    STABLE = 1
    UNREVOKED_PARTITIONS = 2
    UNRELEASED_PARTITIONS = 3
    UNKNOWN = 127


class ConsumerGroupState(Enum):
    """By the names that clients see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@frozen
class ConsumerMember:
    """A member; never altered, always replaced."""

    member_id: str
    subscription: SubscriptionValue = field(factory=SubscriptionValue)
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: AssignedPartitions = field(factory=dict)
    revoking: AssignedPartitions = field(factory=dict)

    @property
    def instance_id(self) -> str | None:
        return self.subscription.instance_id

    @property
    def current(self) -> CurrentValue:
        """What a record of its assignment says."""
        return CurrentValue(self.epoch, self.previous_epoch, int(self.state), self.assigned, self.revoking)

    def with_current(self, value: CurrentValue | None) -> "ConsumerMember":
        """The member as such a record says; without one, as it was made."""
        if value is None:
            return ConsumerMember(self.member_id, self.subscription)
        known = value.state in MemberState.__members__.values()
        state = MemberState(value.state) if known else MemberState.UNKNOWN
        return evolve(
            self,
            epoch=value.epoch,
            previous_epoch=value.previous_epoch,
            state=state,
            assigned=value.assigned,
            revoking=value.revoking,
        )

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def holds(self) -> Iterator[tuple[TopicId, int]]:
        """Every partition that nobody else may have yet."""
        for partitions in (self.assigned, self.revoking):
            for topic_id, indexes in partitions.items():
                for index in indexes:
                    yield topic_id, index


@define(eq=False)
class ConsumerGroup:
    """One group."""

    group_id: str
    epoch: int = field(default=0, init=False)
    metadata_hash: int = field(default=0, init=False)
    assignment_epoch: int = field(default=0, init=False)
    members: dict[str, ConsumerMember] = field(factory=dict, init=False)
    targets: dict[str, Assignment] = field(factory=dict, init=False)
    regexes: dict[str, RegexValue] = field(factory=dict, init=False)
    is_stale: bool = field(default=True, init=False)
    # Soft: when a target was computed last, and over how many partitions.
    assigned_at: float = field(default=0.0, init=False)
    assigned_count: int = field(default=0, init=False)
    _owners: dict[tuple[TopicId, int], str] = field(factory=dict, init=False)
    _static: dict[str, str] = field(factory=dict, init=False)
    # By how many members each topic and each expression is wanted, so that nobody has to ask them all.
    wanted_names: Counter[str] = field(factory=Counter, init=False)
    wanted_regexes: Counter[str] = field(factory=Counter, init=False)

    def tombstones(self) -> list[Record]:
        """Records that forget all of the group but its offsets; the last one ends it."""
        group_id = self.group_id
        records = [current_record(group_id, member_id, None) for member_id in self.members]
        records += [target_record(group_id, member_id, None) for member_id in self.targets]
        records.append(target_epoch_record(group_id, None))
        records += [subscription_record(group_id, member_id, None) for member_id in self.members]
        records += [regex_record(group_id, regex, None) for regex in self.regexes]
        records.append(epoch_record(group_id, None))
        return records

    # -- replay

    def replay_epoch(self, value: EpochValue) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def replay_subscription(self, member_id: str, value: SubscriptionValue | None) -> None:
        """A member is there, or says something new; or is gone."""
        before = self.members.get(member_id)
        if before is not None and before.instance_id is not None and self._static.get(before.instance_id) == member_id:
            del self._static[before.instance_id]
        if before is not None:
            note_wanted(self.wanted_names, self.wanted_regexes, before, -1)
        if value is None:
            self._disown(self.members.pop(member_id, None))
            return
        member = before or ConsumerMember(member_id)
        self.members[member_id] = member = evolve(member, subscription=value)
        note_wanted(self.wanted_names, self.wanted_regexes, member, 1)
        if value.instance_id is not None:
            self._static[value.instance_id] = member_id

    def replay_current(self, member_id: str, value: CurrentValue | None) -> None:
        """What a member has now. It is known already, unless compaction took its subscription's first record."""
        before = self.members.get(member_id)
        if before is None:
            if value is None:
                return
            before = ConsumerMember(member_id)
        self._disown(before)
        member = self.members[member_id] = before.with_current(value)
        for place in member.holds():
            self._owners[place] = member_id

    def replay_target(self, member_id: str, value: Assignment | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = value

    def replay_regex(self, regex: str, value: RegexValue | None) -> None:
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = value

    def _disown(self, member: ConsumerMember | None) -> None:
        for place in member.holds() if member is not None else ():
            # Another may have it by now: records of two members may come in either order.
            if self._owners.get(place) == member.member_id:  # type: ignore[union-attr]
                del self._owners[place]

    # -- looking

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_forgettable(self) -> bool:
        """Whether nothing would be lost with it, but offsets."""
        return not self.members

    def owner(self, topic_id: TopicId, partition: int) -> str | None:
        """Who has a partition, or still has to give it back."""
        return self._owners.get((topic_id, partition))

    def member(self, member_id: str) -> ConsumerMember:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self._static.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def known_static_member(self, instance_id: str, member_id: str) -> ConsumerMember:
        """The static member that a request comes from, or why it is none."""
        member = self.static_member(instance_id)
        if member is None:
            raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise FencedInstanceId(
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
            )
        return member

    def topics_of(self, member: ConsumerMember, regexes: Mapping[str, RegexValue] | None = None) -> frozenset[str]:
        """The names of the topics that a member wants, expressions resolved."""
        regex = member.subscription.regex
        resolved = (self.regexes if regexes is None else regexes).get(regex) if regex else None
        names = frozenset(member.subscription.topics)
        return names if resolved is None else names | frozenset(resolved.topics)

    def is_subscribed_to(self, topic: str) -> bool:
        resolved = (self.regexes.get(regex) for regex in self.wanted_regexes)
        return topic in self.wanted_names or any(topic in each.topics for each in resolved if each is not None)

    def might_read(self, topic: str) -> bool:
        """Whether a member wants the topic, or has an expression that it may fit."""
        return topic in self.wanted_names or bool(self.wanted_regexes)

    def preferred_assignor(self, members: Iterable[ConsumerMember]) -> str | None:
        """The assignor that most members ask for, if any does."""
        votes = Counter(each.subscription.assignor for each in members if each.subscription.assignor is not None)
        return votes.most_common(1)[0][0] if votes else None

    def hard_state(self) -> object:
        """Everything that records say."""
        epochs = (self.epoch, self.metadata_hash, self.assignment_epoch)
        return epochs, self.members, self.targets, self.regexes, self._owners, self._static


def note_wanted(names: Counter[str], regexes: Counter[str], member: ConsumerMember, by: int) -> None:
    """Count what a member wants, or wants no more; what nobody wants is not kept."""
    subscription = member.subscription
    for counter, wanted in (
        (names, subscription.topics),
        (regexes, (subscription.regex,) if subscription.regex else ()),
    ):
        for each in wanted:
            counter[each] += by
            if not counter[each]:
                del counter[each]
