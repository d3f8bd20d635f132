"""Members of the classic protocol in a group of the new one (KIP-848): during a migration both kinds are in one group.

JoinGroup is answered at once, with nobody to lead: the broker assigns. SyncGroup gives what the member has now, and a
Heartbeat that says REBALANCE_IN_PROGRESS makes it join again when it has to give back or may have more.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from attrs import define, evolve

from coordinators.group.classic.group import CONSUMER_PROTOCOL
from coordinators.group.consumer.draft import Draft
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember, MemberState
from coordinators.group.consumer.groups import ConsumerGroups
from coordinators.group.consumer.migration import by_id, can_downgrade, classic_assignment, common_protocols
from coordinators.group.consumer.protocol import Malformed, Subscription, read_subscription
from coordinators.group.consumer.record_formats import ClassicMetadata, SubscriptionValue
from coordinators.group.requests import (
    NO_MEMBER,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    SyncAnswer,
    SyncRequest,
)
from coordinators.state_machine import Verdict
from engine.errors import (
    BrokerError,
    IllegalGeneration,
    InconsistentGroupProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
    kept,
)


@define(eq=False)
class ClassicMembers:
    """Answers the members that speak the classic protocol."""

    consumers: ConsumerGroups
    random_bytes: Callable[[int], bytes]

    # -- join

    def join(self, request: JoinRequest) -> Verdict[JoinAnswer]:
        """A JoinAnswer."""
        group = self.consumers.groups[request.group_id]
        self.consumers.check_room(group, request.member_id)
        said = self._checked(group, request)
        member_id = request.member_id or f"{request.client_id}-{UUID(bytes=self.random_bytes(16), version=4)}"
        if request.member_id == NO_MEMBER and request.instance_id is None and request.takes_id_first:
            raise MemberIdRequired("join again with this member id", member_id=member_id)
        draft = self.consumers.draft(group)
        before = self._member(draft, request, member_id)
        member = evolve(before, subscription=_subscription(request, said))
        after = self.consumers.update(draft, before, member, by_id(said.owned, self.consumers.topics))
        members = list(draft.members.values())
        was_mixed = any(each.subscription.classic is None for each in group.members.values())
        if was_mixed and can_downgrade(members, self.consumers.settings):
            return self._downgrade(draft, members, member_id)
        timeout_ms = request.rebalance_timeout_ms
        self.consumers.sessions.expect_revocation(group.group_id, member_id, after.epoch, timeout_ms)
        answer = JoinAnswer(member_id, after.epoch, CONSUMER_PROTOCOL, request.protocols[0][0], "")
        return Verdict(draft.records, answer, reload_if_refused=True)

    def _downgrade(self, draft: Draft, members: list[ConsumerMember], member_id: str) -> Verdict[JoinAnswer]:
        """The last member of the new protocol came back as one of the classic: nobody has to move for that."""
        epoch = draft.group.epoch
        is_settled = draft.epoch == epoch and all(member.is_reconciled_to(epoch) for member in members)
        # The others' generation: so they are told of a rebalance, and need not give all up.
        answer = JoinAnswer(member_id, epoch, CONSUMER_PROTOCOL, common_protocols(members)[0], "")
        return self.consumers.downgrade(draft, members, answer, is_settled=is_settled)

    def _checked(self, group: ConsumerGroup, request: JoinRequest) -> Subscription:
        others = [each for member_id, each in group.members.items() if member_id != request.member_id]
        common = common_protocols(others)
        names = [name for name, _ in request.protocols]
        if request.protocol_type != CONSUMER_PROTOCOL or not names or (common and not set(names) & set(common)):
            raise InconsistentGroupProtocol(f"group {group.group_id!r} is of another type, or knows none of {names}")
        try:
            return read_subscription(request.protocols[0][1])
        except Malformed as error:
            raise InconsistentGroupProtocol(str(error)) from None

    def _member(self, draft: Draft, request: JoinRequest, member_id: str) -> ConsumerMember:
        group = draft.group
        if request.instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        if request.member_id != NO_MEMBER:
            return group.known_static_member(request.instance_id, member_id)
        static = group.static_member(request.instance_id)
        if static is None:
            return ConsumerMember(member_id)
        self.consumers.sessions.forget(group.group_id, static.member_id)
        return draft.replace(static, member_id)

    # -- what follows a join

    def sync(self, request: SyncRequest) -> Verdict[SyncAnswer]:
        """A SyncAnswer."""
        group, member = self._known(request.group_id, request.member_id, request.instance_id, request.generation)
        classic = member.subscription.classic
        assert classic is not None
        name = classic.protocols[0][0]
        if request.protocol_type not in (None, CONSUMER_PROTOCOL) or request.protocol not in (None, name):
            raise InconsistentGroupProtocol(f"the group's protocol is {name!r} of type {CONSUMER_PROTOCOL!r}")
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._expect_join(group.group_id, member)
            raise RebalanceInProgress(f"group {group.group_id!r} is at epoch {group.epoch}")
        self.consumers.touch(group.group_id, member)
        self.consumers.sessions.revoked(group.group_id, member.member_id)
        assignment = classic_assignment(member, self.consumers.topics)
        return Verdict(response=SyncAnswer(CONSUMER_PROTOCOL, name, assignment))

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> None:
        """A sign of life; raises if the member shall join again. Writes nothing."""
        group, member = self._known(group_id, member_id, instance_id, generation)
        self.consumers.touch(group_id, member)
        if (
            self._topics_changed(group)
            or member.epoch < group.epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, member))
        ):
            self._expect_join(group_id, member)
            raise RebalanceInProgress(f"group {group_id!r} is at epoch {group.epoch}")

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> Verdict[LeaveAnswer]:
        """For each member why it could not leave, or None."""
        group = self.consumers.groups[group_id]
        found: dict[str, ConsumerMember] = {}
        answers: LeaveAnswer = []
        for each in leaving:
            try:
                member = self._leaving(group, each)
                found[member.member_id] = member
                answers.append(None)
            except BrokerError as error:
                answers.append(kept(error))
        return self.consumers.remove(group, list(found.values()), answers) if found else Verdict(response=answers)

    def _leaving(self, group: ConsumerGroup, leaving: LeavingMember) -> ConsumerMember:
        if leaving.instance_id is None:
            return _classic(group, group.member(leaving.member_id))
        if leaving.member_id != NO_MEMBER:
            return _classic(group, group.known_static_member(leaving.instance_id, leaving.member_id))
        # An administrator removes a static member of either protocol by its name.
        member = group.static_member(leaving.instance_id)
        if member is None:
            raise UnknownMemberId(f"Instance id {leaving.instance_id} is unknown.")
        return member

    def _known(
        self, group_id: str, member_id: str, instance_id: str | None, generation: int
    ) -> tuple[ConsumerGroup, ConsumerMember]:
        group = self.consumers.groups[group_id]
        member = group.member(member_id) if instance_id is None else group.known_static_member(instance_id, member_id)
        _classic(group, member)
        if generation != member.epoch:
            raise IllegalGeneration(f"the member is at epoch {member.epoch}, not {generation}")
        return group, member

    def _expect_join(self, group_id: str, member: ConsumerMember) -> None:
        """It shall join again within the time that it set itself."""
        sessions, timeout_ms = self.consumers.sessions, member.subscription.rebalance_timeout_ms
        if not sessions.is_expected(group_id, member.member_id):
            sessions.expect_revocation(group_id, member.member_id, member.epoch, timeout_ms)

    def _topics_changed(self, group: ConsumerGroup) -> bool:
        if group.is_stale and not group.regexes:
            group.is_stale = self.consumers.draft(group).topics_hash() != group.metadata_hash
        return group.is_stale


def _classic(group: ConsumerGroup, member: ConsumerMember) -> ConsumerMember:
    if member.subscription.classic is None:
        raise UnknownMemberId(f"{member.member_id!r} of group {group.group_id!r} does not use the classic protocol")
    return member


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether somebody still holds a partition that the member shall have."""
    return any(
        group.owner(topic_id, index) not in (None, member.member_id)
        for topic_id, indexes in group.targets.get(member.member_id, {}).items()
        for index in indexes
    )


def _subscription(request: JoinRequest, said: Subscription) -> SubscriptionValue:
    return SubscriptionValue(
        request.instance_id,
        said.rack_id,
        request.client_id,
        request.client_host,
        tuple(sorted(set(said.topics))),
        None,
        request.rebalance_timeout_ms,
        None,
        ClassicMetadata(request.session_timeout_ms, request.protocols),
    )
