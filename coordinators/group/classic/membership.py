"""Heartbeat, SyncGroup and LeaveGroup of the classic protocol.

SyncGroup is where a rebalance ends: the leader brings everybody's assignment, it is written down as the group's record,
and once that is durable all who have asked are answered.
"""

from collections.abc import Sequence

from attrs import define

from coordinators.group.classic.group import HEARTBEAT_REFUSALS, SYNC_REFUSALS, ClassicGroup, GroupState
from coordinators.group.classic.members import Member
from coordinators.group.classic.rebalances import Rebalances
from coordinators.group.record_formats import group_record
from coordinators.group.requests import NO_MEMBER, LeaveAnswer, LeavingMember, SyncAnswer, SyncRequest
from coordinators.state_machine import Effects, Verdict
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMemberId,
    kept,
)


@define(eq=False)
class Membership:
    """Answers the members of one shard's groups."""

    rebalances: Rebalances

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> None:
        """The member lives; raises what it has to do. Writes nothing."""
        group = self._group(group_id)
        member = group.check_member(member_id, instance_id)
        _check_generation(group, generation)
        if group.state is not GroupState.EMPTY:
            self.rebalances.touch(group, member)
        _refuse(HEARTBEAT_REFUSALS, group)

    # -- sync

    def sync(self, request: SyncRequest) -> Verdict[SyncAnswer]:
        """Give a member its assignment, once the leader has brought it."""
        group = self._group(request.group_id)
        member = group.check_member(request.member_id, request.instance_id)
        _check_generation(group, request.generation)
        _check_protocol(group, request)
        _refuse(SYNC_REFUSALS, group)
        self.rebalances.touch(group, member)
        if group.state is GroupState.STABLE:
            self.rebalances.synced(group, member.member_id)
            return Verdict(response=SyncAnswer(group.protocol_type, group.protocol, member.assignment))
        effects = Effects()
        effects.refuse(member.sync, RebalanceInProgress("another sync of this member came"))
        waiting = member.sync = Deferred()
        self.rebalances.synced(group, member.member_id)
        if group.leader == member.member_id:
            self._assign(group, request.assignments, effects)
        return effects.verdict(waiting)

    def _assign(self, group: ClassicGroup, given: dict[str, bytes], effects: Effects) -> None:
        """Write the assignments down; replaying that record makes the group stable."""
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        value = group.record_value(assignments, self.rebalances.clock.now_ms())
        effects.records.append(group_record(group.group_id, value))
        effects.reload_if_refused = True
        for member in group.members.values():
            answer = SyncAnswer(group.protocol_type, group.protocol, assignments[member.member_id])
            effects.answer(member.sync, answer)
            member.sync = None
            self.rebalances.touch(group, member)

    # -- leave

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> Verdict[LeaveAnswer]:
        """Take members out; the answer says for each why it was not."""
        group = self.rebalances.groups.get(group_id)
        if group is None:
            return Verdict(response=[UnknownMemberId(f"there is no group {group_id!r}") for _ in leaving])
        effects = Effects()
        before = len(group.members)
        results: LeaveAnswer = [self._leave_one(group, each, effects) for each in leaving]
        if len(group.members) < before:
            self.rebalances.prepare_or_complete(group, effects)
        else:
            self.rebalances.complete_if_everybody_joined(group, effects)
        return effects.verdict(results)

    def _leave_one(self, group: ClassicGroup, leaving: LeavingMember, effects: Effects) -> BrokerError | None:
        if leaving.member_id in group.pending:
            self.rebalances.timers.cancel(("pending", group.group_id, leaving.member_id))
            group.remove(leaving.member_id)
            return None
        try:
            member = self._leaving_member(group, leaving)
        except BrokerError as error:
            return kept(error)
        self.rebalances.forget_member(group, member, effects)
        return None

    def _leaving_member(self, group: ClassicGroup, leaving: LeavingMember) -> Member:
        if leaving.member_id == NO_MEMBER and leaving.instance_id is not None:
            member = group.static_member(leaving.instance_id)
            if member is None:
                raise UnknownMemberId(f"group {group.group_id!r} has no static member {leaving.instance_id!r}")
            return member
        return group.check_member(leaving.member_id, leaving.instance_id)

    def _group(self, group_id: str) -> ClassicGroup:
        group = self.rebalances.groups.get(group_id)
        if group is None:
            raise UnknownMemberId(f"there is no group {group_id!r}")
        return group


def _check_generation(group: ClassicGroup, generation: int) -> None:
    if generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id!r} is at generation {group.generation}, not {generation}")


def _check_protocol(group: ClassicGroup, request: SyncRequest) -> None:
    """From SyncGroup version 5 a member says what it believes the group's protocol to be (KIP-559)."""
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        raise InconsistentGroupProtocol(f"the group's type is {group.protocol_type!r}, not {request.protocol_type!r}")
    if request.protocol is not None and request.protocol != group.protocol:
        raise InconsistentGroupProtocol(f"the group's protocol is {group.protocol!r}, not {request.protocol!r}")


def _refuse(refusals: dict[GroupState, type[BrokerError]], group: ClassicGroup) -> None:
    refusal = refusals.get(group.state)
    if refusal is not None:
        raise refusal(f"group {group.group_id!r} is in state {group.state.value}")
