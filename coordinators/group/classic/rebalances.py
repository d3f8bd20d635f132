"""Rebalances of classic groups: a round of joins, a new generation, and the timers that keep both moving.

A round ends when everybody has joined, or when its time is over. Whoever has not joined by then is no longer a member;
only static members stay until their session ends. The first round of a group waits a little for more members
(`group.initial.rebalance.delay.ms`), and again as long as more come, but no longer than the rebalance timeout.

A session is a deadline that every sign of life moves on. Its timer is not set anew each time: when it fires, it looks
whether the deadline has passed, and if not it is set for the rest. So a heartbeat costs one assignment.
"""

import logging
from typing import Any

from attrs import define

from coordinators.group.classic.group import ClassicGroup, GroupState
from coordinators.group.classic.members import Member
from coordinators.group.config import GroupSettings
from coordinators.group.record_formats import group_record
from coordinators.group.requests import JoinAnswer, JoinedMember
from coordinators.state_machine import Effects, ShardTimers, Verdict
from engine.clock import Clock
from engine.errors import RebalanceInProgress, UnknownMemberId

logger = logging.getLogger("tidegate.groups")

# A member that has never been answered cannot heartbeat, and its connection may be gone.
NEW_MEMBER_TIMEOUT_MS = 300_000


@define(eq=False)
class Rebalances:
    """Moves the groups of one shard through their rebalances."""

    groups: dict[str, ClassicGroup]
    clock: Clock
    timers: ShardTimers[Any]
    settings: GroupSettings

    # -- beginning

    def prepare_or_complete(self, group: ClassicGroup, effects: Effects) -> None:
        """Something about the members changed."""
        if group.can_rebalance:
            self.prepare(group, effects)
        else:
            self.complete_if_everybody_joined(group, effects)

    def prepare(self, group: ClassicGroup, effects: Effects) -> None:
        """Begin a round of joins; who waits for an assignment is told to join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                effects.refuse(member.sync, RebalanceInProgress(f"group {group.group_id!r} rebalances again"))
                member.sync = None
                self.touch(group, member)
        self.timers.cancel(("sync", group.group_id))
        group.unsynced.clear()
        is_first = group.state is GroupState.EMPTY
        logger.info("group rebalances", extra={"group": group.group_id, "members": len(group.members)})
        group.enter(GroupState.PREPARING_REBALANCE, self.clock.now_ms())
        if is_first:
            self._wait_for_more(group, group.rebalance_timeout_ms)
        elif group.everybody_joined:
            self.complete(group, effects)
        else:
            self._wait_for_all(group)

    def _wait_for_more(self, group: ClassicGroup, left_ms: int) -> None:
        """The first round: wait, and again as long as members come, within the rebalance timeout."""
        delay_ms = min(self.settings.initial_rebalance_delay_ms, left_ms)
        group.new_member_added = False

        def over(_: object) -> Verdict[None]:
            if self.groups.get(group.group_id) is not group or group.state is not GroupState.PREPARING_REBALANCE:
                return Verdict()
            if group.new_member_added and left_ms > delay_ms:
                self._wait_for_more(group, left_ms - delay_ms)
                return Verdict()
            effects = Effects()
            self.complete(group, effects)
            return effects.verdict()

        self.timers.set(("join", group.group_id), delay_ms, over)

    def _wait_for_all(self, group: ClassicGroup) -> None:
        def over(_: object) -> Verdict[None]:
            effects = Effects()
            if self.groups.get(group.group_id) is group and group.state is GroupState.PREPARING_REBALANCE:
                self.complete(group, effects)
            return effects.verdict()

        self.timers.set(("join", group.group_id), group.rebalance_timeout_ms, over)

    # -- ending

    def complete_if_everybody_joined(self, group: ClassicGroup, effects: Effects) -> None:
        """The first round of a group ends by its timer alone."""
        is_first = group.previous_state is GroupState.EMPTY
        if group.state is GroupState.PREPARING_REBALANCE and not is_first and group.everybody_joined:
            self.complete(group, effects)

    def complete(self, group: ClassicGroup, effects: Effects) -> None:
        """The round is over: a new generation of those who joined."""
        self.timers.cancel(("join", group.group_id))
        for member in list(group.members.values()):
            if member.join is None and member.instance_id is None:
                self.forget_member(group, member, effects)
        if not group.elect_joined_leader() and group.members:
            # Static members alone, none of whom has joined: wait until their sessions end.
            self._wait_for_all(group)
            return
        group.next_generation()
        facts = {"group": group.group_id, "generation": group.generation, "members": len(group.members)}
        logger.info("group has a new generation" if group.members else "group is empty", extra=facts)
        if not group.members:
            effects.reload_if_refused = True
            effects.records.append(group_record(group.group_id, group.record_value({}, self.clock.now_ms())))
            return
        group.enter(GroupState.COMPLETING_REBALANCE, self.clock.now_ms())
        for member in group.members.values():
            effects.answer(member.join, self.join_answer(group, member))
            group.end_waiting(member)
            member.is_new = False
            self.touch(group, member)
            group.unsynced.add(member.member_id)
        self._expect_syncs(group)

    def join_answer(self, group: ClassicGroup, member: Member) -> JoinAnswer:
        """The current generation as this member is told it."""
        protocol = group.protocol or ""
        members: tuple[JoinedMember, ...] = ()
        if group.leader == member.member_id:
            members = tuple(
                JoinedMember(each.member_id, each.instance_id, each.subscription(protocol))
                for each in group.members.values()
            )
        return JoinAnswer(
            member.member_id, group.generation, group.protocol_type, group.protocol, group.leader or "", members
        )

    def _expect_syncs(self, group: ClassicGroup) -> None:
        generation = group.generation

        def over(_: object) -> Verdict[None]:
            effects = Effects()
            if self.groups.get(group.group_id) is group and group.generation == generation:
                self._expel_unsynced(group, effects)
            return effects.verdict()

        self.timers.set(("sync", group.group_id), group.rebalance_timeout_ms, over)

    def _expel_unsynced(self, group: ClassicGroup, effects: Effects) -> None:
        late = [group.members[member_id] for member_id in group.unsynced if member_id in group.members]
        for member in late:
            self.forget_member(group, member, effects)
        if late and group.can_rebalance:
            self.prepare(group, effects)

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """A member has asked for its assignment."""
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self.timers.cancel(("sync", group.group_id))

    # -- members

    def forget_member(self, group: ClassicGroup, member: Member, effects: Effects) -> None:
        """Take a member out; what follows for the group is the caller's."""
        self.timers.cancel(("session", group.group_id, member.member_id))
        gone = UnknownMemberId(f"{member.member_id!r} is no longer in group {group.group_id!r}")
        effects.refuse(member.join, gone)
        effects.refuse(member.sync, gone)
        group.remove(member.member_id)

    def touch(self, group: ClassicGroup, member: Member) -> None:
        """A sign of life: the session begins anew."""
        self.expect(group, member, member.session_timeout_ms)

    def expect(self, group: ClassicGroup, member: Member, within_ms: int) -> None:
        """Expect a sign of life by then."""
        deadline = self.clock.monotonic() + within_ms / 1000
        earlier = deadline < member.session_deadline
        is_first = member.session_deadline == 0.0
        member.session_deadline = deadline
        if is_first or earlier:
            self._watch_session(group, member)

    def _watch_session(self, group: ClassicGroup, member: Member) -> None:
        left_ms = (member.session_deadline - self.clock.monotonic()) * 1000

        def over(_: object) -> Verdict[None]:
            if self.groups.get(group.group_id) is not group or group.members.get(member.member_id) is not member:
                return Verdict()
            if self._is_excused(member):
                member.session_deadline = self.clock.monotonic() + member.session_timeout_ms / 1000
            if self.clock.monotonic() < member.session_deadline:
                self._watch_session(group, member)
                return Verdict()
            effects = Effects()
            self.forget_member(group, member, effects)
            self.prepare_or_complete(group, effects)
            return effects.verdict()

        self.timers.set(("session", group.group_id, member.member_id), left_ms, over)

    def _is_excused(self, member: Member) -> bool:
        """Whether the member waits for us and cannot heartbeat; a new one is not waited for without end."""
        return not member.is_new and (member.join is not None or member.sync is not None)

    def expect_join(self, group: ClassicGroup, member_id: str, within_ms: int) -> None:
        """An id was given out: it counts in a round of joins until its owner joins or the time is over."""
        group.pending.add(member_id)

        def over(_: object) -> Verdict[None]:
            effects = Effects()
            if self.groups.get(group.group_id) is group and member_id in group.pending:
                group.remove(member_id)
                self.complete_if_everybody_joined(group, effects)
            return effects.verdict()

        self.timers.set(("pending", group.group_id, member_id), within_ms, over)
