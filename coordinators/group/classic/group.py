"""A classic group: its states, its members, and what a request is answered in each state.

A rebalance goes Empty or Stable -> PreparingRebalance (everybody joins) -> CompletingRebalance (the leader assigns) ->
Stable. `TRANSITIONS` holds the first two steps. The last one is the group's record: replaying it makes the group
Stable, or Empty if it has no members, here and on the next coordinator alike.

What the last record says is hard state: protocol, generation, leader, members and their assignments. All else is soft:
who has joined the round, who waits for an answer, who still has to sync. It is lost with the coordinator; then members
find themselves in the last recorded generation, or unknown, and join again.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

from attrs import define, field

from coordinators.group.classic.members import Member, subscribed_topics
from coordinators.group.record_formats import NO_TIME, GroupValue
from coordinators.group.requests import JoinAnswer, Protocols
from engine.deferred import Deferred
from engine.errors import BrokerError, FencedInstanceId, RebalanceInProgress, UnknownMemberId

CONSUMER_PROTOCOL = "consumer"


class GroupState(Enum):
    """Kafka's states, by the names that clients see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


# Where a rebalance goes. Empty and Stable are entered by replaying the group's record and not from here.
TRANSITIONS: Final = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {GroupState.COMPLETING_REBALANCE},
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
}

# What a member of the current generation is told in a state; nothing where its request is right.
HEARTBEAT_REFUSALS: Final[dict[GroupState, type[BrokerError]]] = {
    GroupState.EMPTY: UnknownMemberId,
    GroupState.PREPARING_REBALANCE: RebalanceInProgress,
}
SYNC_REFUSALS: Final[dict[GroupState, type[BrokerError]]] = {
    GroupState.EMPTY: UnknownMemberId,
    GroupState.PREPARING_REBALANCE: RebalanceInProgress,
}
COMMIT_REFUSALS: Final[dict[GroupState, type[BrokerError]]] = {
    GroupState.COMPLETING_REBALANCE: RebalanceInProgress,
}


@define(eq=False)
class ClassicGroup:
    """One group, by the rules that need nobody else: no clock, no timers, no answers."""

    group_id: str
    state: GroupState = field(default=GroupState.EMPTY, init=False)
    previous_state: GroupState = field(default=GroupState.EMPTY, init=False)
    protocol_type: str | None = field(default=None, init=False)
    generation: int = field(default=0, init=False)
    protocol: str | None = field(default=None, init=False)
    leader: str | None = field(default=None, init=False)
    state_timestamp_ms: int = field(default=NO_TIME, init=False)
    members: dict[str, Member] = field(factory=dict, init=False)
    # The last record, or None for a group that has none yet.
    stored: GroupValue | None = field(default=None, init=False)
    # Topics that any member subscribes to; None where that cannot be told.
    subscribed: frozenset[str] | None = field(default=None, init=False)
    # Soft: ids given out that nobody has joined with, members that have not synced, somebody new in the first round.
    pending: set[str] = field(factory=set, init=False)
    unsynced: set[str] = field(factory=set, init=False)
    new_member_added: bool = field(default=False, init=False)
    _static: dict[str, str] = field(factory=dict, init=False)
    # Kept along with the members, so that a join costs the same in a group of any size: who waits for an answer to its
    # join, and by how many members each protocol is known.
    _joined: set[str] = field(factory=set, init=False)
    _known: Counter[str] = field(factory=Counter, init=False)

    # -- the record

    def adopt(self, value: GroupValue) -> None:
        """What a record says is so now; members that were here keep who waits for them."""
        self.stored = value
        members = {}
        for each in value.members:
            member = self.members.get(each.member_id)
            if member is None:
                member = Member.stored(each, value.protocol_type, value.protocol or "")
            member.assignment = each.assignment
            members[each.member_id] = member
        self.members = members
        self._static = {m.instance_id: m.member_id for m in members.values() if m.instance_id is not None}
        self._joined = {m.member_id for m in members.values() if m.join is not None}
        self._known = Counter(name for m in members.values() for name in m.protocol_names)
        self.protocol_type = value.protocol_type or None
        self.generation, self.protocol, self.leader = value.generation, value.protocol, value.leader
        self.state_timestamp_ms = value.state_timestamp_ms
        self.previous_state, self.state = self.state, GroupState.STABLE if members else GroupState.EMPTY
        self._note_subscriptions()

    def record_value(self, assignments: dict[str, bytes], now_ms: int) -> GroupValue:
        """What a record of the group would say, with these assignments."""
        protocol = self.protocol or ""
        members = tuple(member.value(protocol, assignments[member_id]) for member_id, member in self.members.items())
        return GroupValue(self.protocol_type or "", self.generation, self.protocol, self.leader, now_ms, members)

    # -- states

    def enter(self, state: GroupState, now_ms: int) -> None:
        """Go on in a rebalance."""
        assert state in TRANSITIONS[self.state], f"{self.group_id} cannot go from {self.state} to {state}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        return GroupState.PREPARING_REBALANCE in TRANSITIONS[self.state]

    @property
    def is_forgettable(self) -> bool:
        """Whether nothing would be lost with it."""
        return self.state is GroupState.EMPTY and not self.members and not self.pending

    def next_generation(self) -> None:
        """A round of joins is over: everybody who joined is of a new generation."""
        self.generation += 1
        self.protocol = self.selected_protocol() if self.members else None
        self.unsynced.clear()
        self._note_subscriptions()

    # -- members

    def add(self, member: Member) -> None:
        """A member joins; the first one leads and says what the group is for."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._known.update(member.protocol_names)
        if member.join is not None:
            self._joined.add(member.member_id)
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """A member is gone, whichever way; if it led, another does."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._known.subtract(member.protocol_names)
            if member.instance_id is not None:
                self._static.pop(member.instance_id, None)
        self._joined.discard(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)

    def replace(self, old: Member, new_id: str) -> Member:
        """A static member came back under a new member id: it keeps its place, its assignment and its lead."""
        assert old.instance_id is not None
        new = old.returned(new_id)
        self.members = {new_id if key == old.member_id else key: value for key, value in self.members.items()}
        self.members[new_id] = new
        self._static[old.instance_id] = new_id
        self._joined.discard(old.member_id)
        if self.leader == old.member_id:
            self.leader = new_id
        if old.member_id in self.unsynced:
            self.unsynced.remove(old.member_id)
            self.unsynced.add(new_id)
        return new

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self._static.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request comes from, or why it is none."""
        if instance_id is not None:
            known = self._static.get(instance_id)
            if known is None:
                raise UnknownMemberId(f"group {self.group_id!r} has no static member {instance_id!r}")
            if known != member_id:
                raise FencedInstanceId(f"{instance_id!r} of group {self.group_id!r} is another member by now")
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"group {self.group_id!r} has no member {member_id!r}")
        return member

    # -- a round of joins

    def keep_waiting(self, member: Member) -> Deferred[JoinAnswer]:
        """A member has joined: its answer, which comes when the round is over."""
        member.join = Deferred()
        self._joined.add(member.member_id)
        return member.join

    def end_waiting(self, member: Member) -> None:
        """The member's join is answered."""
        member.join = None
        self._joined.discard(member.member_id)

    def learn(self, member: Member, protocols: Protocols) -> None:
        """The protocols that a member knows by now."""
        self._known.subtract(member.protocol_names)
        member.protocols = protocols
        self._known.update(member.protocol_names)

    @property
    def joined_count(self) -> int:
        """Members whose join waits for an answer."""
        return len(self._joined)

    @property
    def everybody_joined(self) -> bool:
        return not self.pending and len(self._joined) == len(self.members)

    def elect_joined_leader(self) -> bool:
        """A leader who has joined this round, if anybody has; False if nobody has."""
        if self.leader is not None and self.members[self.leader].join is not None:
            return True
        joined = next((member_id for member_id in self.members if member_id in self._joined), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a round of joins may take: as long as the most patient member allows."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether somebody with these protocols can join."""
        if self.state is GroupState.EMPTY or not self.members:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(self._is_common(name) for name, _ in protocols)

    def selected_protocol(self) -> str:
        """The one with most votes among those that all members know; each votes for its first."""
        votes = Counter(
            next(name for name, _ in member.protocols if self._is_common(name)) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def _is_common(self, protocol: str) -> bool:
        return self._known[protocol] == len(self.members)

    @property
    def is_consumers(self) -> bool:
        """Whether its members speak the consumers' protocol, whose subscriptions can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member wants the topic, or might."""
        return topic in self.subscribed if self.subscribed is not None else bool(self.members)

    def _note_subscriptions(self) -> None:
        if not self.members or self.protocol is None:
            self.subscribed = frozenset() if self.is_consumers else None
        elif self.is_consumers:
            self.subscribed = _subscriptions(self.protocol, list(self.members.values()))
        else:
            self.subscribed = None


def _subscriptions(protocol: str, members: Sequence[Member]) -> frozenset[str] | None:
    wanted = [subscribed_topics(member.subscription(protocol)) for member in members]
    known = [topics for topics in wanted if topics is not None]
    return frozenset().union(*known) if len(known) == len(wanted) else None
