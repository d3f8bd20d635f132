"""Members of groups for callers of the doors that are not Kafka's: an HTTP or gRPC caller in a group like any consumer.

    member = await members.join(caller, "http", "billing", MemberWanted(("orders",), reset=Reset.EARLIEST))
    polled = await member.poll(PollWanted(wait_s=30.0))      # portions of partitions, with their records
    await member.commit({("orders", 0): 42}, polled.generation)
    member = members.find(caller, member_id)                  # in a later request; `Elsewhere` on another node
    await member.leave()

A member shares its group with Kafka's own consumers, of either protocol. It lives on this node until it leaves or its
caller is silent for its session time (`member.py`). A door that holds a caller by a connection or a stream should leave
when that ends; one that does not need do nothing.
"""

import logging

import trio
from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.background import Background
from coordinators.waiting import in_worker
from engine.errors import InvalidGroupId, InvalidRequest
from engine.workers import Workers
from wire.inner.asking import GROUP, InnerClient
from wire.inner.assignors import ASSIGNORS, Claimant, Counts, Dealt
from wire.inner.home_asking import anybody, coordinator_of
from wire.inner.homes import Home, NotAtHome
from wire.inner.member import DoorMember, MemberWanted
from wire.inner.member_reads import MemberReads
from wire.inner.memberships import DoorMembership
from wire.inner.offsets import GroupOffsets
from wire.inner.reading import RecordReading
from wire.kafka.calls import Guest

logger = logging.getLogger("tidegate.doors")

MOST_TOPICS = 1_000
LEAST_SESSION_MS = 10_000
"""What the coordinator is told at least: heartbeats come every three seconds, and a busy node may be late with some."""
DEALT_AT_ONCE = 2_000
"""So many pairs of members and partitions are dealt out at once; more, in a thread."""


@define(eq=False)
class Members:
    """See the module."""

    inner: InnerClient
    reading: RecordReading
    background: Background
    workers: Workers
    home: Home[DoorMember]
    joined: int = field(default=0, init=False)

    async def join(
        self, caller: Caller, door: str, group: str, wanted: MemberWanted, client_id: str | None = None
    ) -> DoorMember:
        """A new member; it may take a while until it has something to read (`DoorMember.until_joined`)."""
        check(group, wanted.topics)
        with self.home.moving_in(caller) as member_id:
            guest = self.inner.staying(caller, door, client_id or door)
            member = self._made(member_id, guest, group, wanted)
            self.home.add(member_id, member, guest)
        self.joined += 1
        self.background.start_soon(self._live, member, guest)
        return member

    def find(self, caller: Caller, member_id: str, group: str | None = None) -> DoorMember:
        """A caller's member, of this group if one is named; `Elsewhere` or `NotAtHome`."""
        member = self.home.find(member_id, caller)
        if group not in (None, member.membership.group):
            raise NotAtHome(f"{member_id} is not a member of group {group!r}")
        return member

    def _made(self, member_id: str, guest: Guest, group: str, wanted: MemberWanted) -> DoorMember:
        ask = coordinator_of(self.inner, guest, GROUP, group)
        session_ms = max(int(wanted.session_s * 1000), LEAST_SESSION_MS)
        rebalance_ms = int((wanted.session_s + wanted.hand_over_s) * 1000) + LEAST_SESSION_MS
        membership = DoorMembership(
            ask, anybody(self.inner, guest), self._deal, trio.sleep, group, wanted.topics, session_ms, rebalance_ms
        )
        offsets = GroupOffsets(ask, trio.sleep, group)
        reads = MemberReads(self.inner, self.reading, guest)
        return DoorMember(member_id, guest.caller, wanted, membership, offsets, reads)

    async def _live(self, member: DoorMember, guest: Guest) -> None:
        try:
            await member.run()
        except Exception:
            logger.exception("a member of group %s ends by a bug", member.membership.group)
        finally:
            self.home.remove(member.id)
            self.inner.leave(guest)

    async def _deal(self, name: str, claimants: list[Claimant], counts: Counts) -> Dealt:
        if len(claimants) * sum(counts.values()) <= DEALT_AT_ONCE:
            return ASSIGNORS[name](claimants, counts)
        return await in_worker(self.workers, ASSIGNORS[name], claimants, counts)


def check(group: str, topics: tuple[str, ...]) -> None:
    """Refuse what nobody can join."""
    if not group:
        raise InvalidGroupId("a group needs a name")
    if not 0 < len(topics) <= MOST_TOPICS or not all(topics):
        raise InvalidRequest(f"a member reads 1 to {MOST_TOPICS} topics, each with a name")
