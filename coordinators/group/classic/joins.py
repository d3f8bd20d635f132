"""JoinGroup of the classic protocol: who may join, under which id, and whether that begins a rebalance.

A new member is first refused with an id to come back with (KIP-394), so that a client that gives up and tries again is
not two members. A static member (KIP-345) is known by its instance id instead: it takes its earlier self's place, and
nobody else has to move. A member that repeats a join in the same generation is told that generation again.
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from attrs import define, evolve, field

from coordinators.group.classic.group import ClassicGroup, GroupState
from coordinators.group.classic.members import Member
from coordinators.group.classic.rebalances import NEW_MEMBER_TIMEOUT_MS, Rebalances
from coordinators.group.consumer.group import ConsumerGroup
from coordinators.group.record_formats import group_record
from coordinators.group.requests import NO_MEMBER, JoinAnswer, JoinRequest
from coordinators.group.streams.group import StreamsGroup
from coordinators.state_machine import Effects, Verdict
from engine.deferred import Deferred
from engine.errors import (
    FencedInstanceId,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)


@define(eq=False)
class Joins:
    """Answers joins of one shard's groups."""

    rebalances: Rebalances
    random_bytes: Callable[[int], bytes]
    # Groups that the broker assigns to.
    others: Sequence[Mapping[str, ConsumerGroup | StreamsGroup]] = field(factory=tuple)

    def join(self, request: JoinRequest) -> Verdict[JoinAnswer]:
        """Take a member in, or on; the answer comes when the round of joins is over."""
        groups = self.rebalances.groups
        group = groups.get(request.group_id)
        empty = next((each[request.group_id] for each in self.others if request.group_id in each), None)
        if empty is not None and empty.members:
            raise InconsistentGroupProtocol(f"group {request.group_id!r} is not a classic group")
        if group is None:
            if request.member_id != NO_MEMBER:
                raise UnknownMemberId(f"there is no group {request.group_id!r}")
            group = ClassicGroup(request.group_id)
        self._check_room(group, request.member_id)
        if not group.supports(request.protocol_type, request.protocols):
            raise InconsistentGroupProtocol(
                f"group {group.group_id!r} is of type {group.protocol_type!r} and none of the protocols "
                f"{[name for name, _ in request.protocols]} is known to all its members"
            )
        groups[group.group_id] = group
        effects = Effects()
        if empty is not None:
            # A group of a new protocol that has no members left gives its name to one of the classic protocol.
            effects.records += empty.tombstones()
            effects.reload_if_refused = True
        if request.member_id == NO_MEMBER:
            return self._join_new(group, request, effects)
        return self._join_known(group, request, effects)

    def _check_room(self, group: ClassicGroup, member_id: str) -> None:
        most = self.rebalances.settings.max_size
        if group.state is GroupState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            has_room = (member is not None and member.join is not None) or group.joined_count < most
        else:
            has_room = group.state is GroupState.EMPTY or member_id in group.members or len(group.members) < most
        if not has_room:
            group.remove(member_id)
            raise GroupMaxSizeReached(f"group {group.group_id!r} has {most} members, which is group.max.size")

    # -- new members

    def _join_new(self, group: ClassicGroup, request: JoinRequest, effects: Effects) -> Verdict[JoinAnswer]:
        member_id = f"{request.instance_id or request.client_id}-{self._new_uuid()}"
        if request.instance_id is not None:
            known = group.static_member(request.instance_id)
            if known is not None:
                return self._return_static(group, known, member_id, request, effects)
        elif request.takes_id_first:
            self.rebalances.expect_join(group, member_id, request.session_timeout_ms)
            refusal = MemberIdRequired("join again with this member id", member_id=member_id)
            return effects.verdict(Deferred(), refusal)
        return self._add(group, member_id, request, effects)

    def _new_uuid(self) -> UUID:
        return UUID(bytes=self.random_bytes(16), version=4)

    def _add(self, group: ClassicGroup, member_id: str, request: JoinRequest, effects: Effects) -> Verdict[JoinAnswer]:
        member = Member(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            request.protocols,
            join=Deferred(),
        )
        member.is_new = True
        self.rebalances.timers.cancel(("pending", group.group_id, member_id))
        if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
            group.new_member_added = True
        group.add(member)
        self.rebalances.expect(group, member, NEW_MEMBER_TIMEOUT_MS)
        return self._in_next_round(group, member, effects)

    # -- members that are known

    def _join_known(self, group: ClassicGroup, request: JoinRequest, effects: Effects) -> Verdict[JoinAnswer]:
        if request.member_id in group.pending and request.instance_id is None:
            return self._add(group, request.member_id, request, effects)
        member = group.check_member(request.member_id, request.instance_id)
        if group.state is not GroupState.PREPARING_REBALANCE and self._is_up_to_date(group, member, request):
            self.rebalances.touch(group, member)
            return Verdict(response=self.rebalances.join_answer(group, member))
        self._update(group, member, request, effects)
        return self._in_next_round(group, member, effects)

    def _is_up_to_date(self, group: ClassicGroup, member: Member, request: JoinRequest) -> bool:
        """Whether the current generation is an answer: the join was lost, or nothing about the member is new.

        A leader of a stable group that joins again wants a rebalance.
        """
        if group.state is GroupState.STABLE and group.leader == member.member_id:
            return False
        return member.protocols == request.protocols

    def _update(self, group: ClassicGroup, member: Member, request: JoinRequest, effects: Effects) -> None:
        effects.refuse(member.join, RebalanceInProgress("another join of this member came"))
        group.learn(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        group.keep_waiting(member)

    def _in_next_round(self, group: ClassicGroup, member: Member, effects: Effects) -> Verdict[JoinAnswer]:
        waiting = member.join
        assert waiting is not None, "it has just joined"
        self.rebalances.prepare_or_complete(group, effects)
        return effects.verdict(waiting)

    # -- static members (KIP-345)

    def _return_static(
        self, group: ClassicGroup, known: Member, new_id: str, request: JoinRequest, effects: Effects
    ) -> Verdict[JoinAnswer]:
        """A static member came back: its earlier self is fenced, and a stable group stays as it is."""
        old_leader = group.leader or ""
        fenced = FencedInstanceId(f"{known.instance_id!r} joined again under another member id")
        effects.refuse(known.join, fenced)
        effects.refuse(known.sync, fenced)
        self.rebalances.timers.cancel(("session", group.group_id, known.member_id))
        member = group.replace(known, new_id)
        member.client_id, member.client_host = request.client_id, request.client_host
        self._update(group, member, request, effects)
        self.rebalances.touch(group, member)
        if group.state is GroupState.STABLE and group.selected_protocol() == group.protocol:
            return self._keep_stable(group, member, old_leader, request, effects)
        return self._in_next_round(group, member, effects)

    def _keep_stable(
        self, group: ClassicGroup, member: Member, old_leader: str, request: JoinRequest, effects: Effects
    ) -> Verdict[JoinAnswer]:
        """Answer with the current generation and write the new member id down.

        A leader shall not assign anew. One that can be told so (KIP-814) still sees the members; another one
        is told that somebody else leads.
        """
        answer = self.rebalances.join_answer(group, member)
        is_leader = group.leader == member.member_id
        if is_leader:
            if request.can_skip_assignment:
                answer = evolve(answer, skip_assignment=True)
            else:
                answer = evolve(answer, members=(), leader=old_leader)
        group.end_waiting(member)
        assignments = {each.member_id: each.assignment for each in group.members.values()}
        value = group.record_value(assignments, self.rebalances.clock.now_ms())
        effects.records.append(group_record(group.group_id, value))
        effects.reload_if_refused = True
        return effects.verdict(answer)
