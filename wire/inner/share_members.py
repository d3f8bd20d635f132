"""Members of share groups for callers of the doors that are not Kafka's, and the receipts of what they have in hand.

    member = await share_members.join(caller, "http", "thumbnails", ShareMemberWanted(("images",)))
    delivered = await member.poll(PollWanted(max_records=10, wait_s=30.0))
    outcomes = await share_members.settle(caller, [each.receipt for each in delivered], Settling.ACK)

A receipt says whose it is (`receipts.py`): `settle` finds the members by it. One whose member lives on another node is
`Elsewhere`, and counts there.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.background import Background
from engine.errors import InvalidRecordState
from wire.inner.asking import GROUP, InnerClient, check_counts
from wire.inner.home_asking import anybody, coordinator_of
from wire.inner.homes import Home, NotAtHome
from wire.inner.loans import Settling
from wire.inner.members import check
from wire.inner.reading import RecordReading
from wire.inner.receipts import WorkReceipt
from wire.inner.records import ReadRecord
from wire.inner.share_member import DoorShareMember, Outcome, ShareMemberWanted
from wire.inner.share_membership import ShareMembership
from wire.inner.share_session import LeaderSession
from wire.kafka.calls import Guest

logger = logging.getLogger("tidegate.doors")

ALL_BYTES = 2**31 - 1


@define(eq=False)
class ShareMembers:
    """See the module."""

    inner: InnerClient
    reading: RecordReading
    background: Background
    random_bytes: Callable[[int], bytes]
    home: Home[DoorShareMember]
    joined: int = field(default=0, init=False)
    settled: dict[str, int] = field(factory=dict, init=False)
    """How many receipts were settled, by how; and how many were refused."""

    async def join(
        self, caller: Caller, door: str, group: str, wanted: ShareMemberWanted, client_id: str | None = None
    ) -> DoorShareMember:
        """A new member; it may take a while until it has something to work on (`DoorShareMember.until_joined`)."""
        check(group, wanted.topics)
        with self.home.moving_in(caller) as member_id:
            guest = self.inner.staying(caller, door, client_id or door)
            member = self._made(member_id, guest, group, wanted)
            self.home.add(member_id, member, guest)
        self.joined += 1
        self.background.start_soon(self._live, member, guest)
        return member

    def find(self, caller: Caller, member_id: str, group: str | None = None) -> DoorShareMember:
        """A caller's member, of this group if one is named; `Elsewhere` or `NotAtHome`."""
        member = self.home.find(member_id, caller)
        if group not in (None, member.membership.group):
            raise NotAtHome(f"{member_id} is not a member of group {group!r}")
        return member

    async def settle(
        self, caller: Caller, receipts: Sequence[WorkReceipt], settlement: Settling, delay_ms: int | None = None
    ) -> dict[WorkReceipt, Outcome]:
        """What became of each receipt. `Elsewhere` if one of them counts on another node: then none is settled."""
        by_member: dict[str, list[WorkReceipt]] = {}
        for receipt in receipts:
            by_member.setdefault(receipt.member_id, []).append(receipt)
        found = {member_id: self._holder(caller, member_id) for member_id in by_member}
        outcomes: dict[WorkReceipt, Outcome] = {}
        for member_id, theirs in by_member.items():
            holder = found[member_id]
            if holder is None:
                refusal = InvalidRecordState(
                    "its member has left, or was silent for too long: the record is for others"
                )
                outcomes |= dict.fromkeys(theirs, refusal)
            else:
                outcomes |= await holder.settle(theirs, settlement, delay_ms)
        self._count(settlement, outcomes)
        return outcomes

    def _holder(self, caller: Caller, member_id: str) -> DoorShareMember | None:
        try:
            return self.home.find(member_id, caller)
        except NotAtHome:
            return None

    def _count(self, settlement: Settling, outcomes: dict[WorkReceipt, Outcome]) -> None:
        done = sum(1 for outcome in outcomes.values() if outcome is None)
        name = settlement.name.lower()
        self.settled[name] = self.settled.get(name, 0) + done
        self.settled["refused"] = self.settled.get("refused", 0) + len(outcomes) - done

    def _made(self, member_id: str, guest: Guest, group: str, wanted: ShareMemberWanted) -> DoorShareMember:
        inner = self.inner
        ask = coordinator_of(inner, guest, GROUP, group)
        membership = ShareMembership(ask, anybody(inner, guest), group, wanted.topics, member_id)

        def session_with(leader: int) -> LeaderSession:
            async def ask_leader(message: Any, wait_s: float) -> Any:
                answer = await inner.ask(guest, message, node_id=leader, timeout_s=wait_s)
                if wait_s > 0:
                    check_counts(guest)
                return answer

            return LeaderSession(ask_leader, group, member_id)

        return DoorShareMember(
            member_id, guest.caller, wanted, membership, session_with, self._opened, self.random_bytes
        )

    async def _opened(self, data: Any) -> Sequence[ReadRecord]:
        first = min(each.first_offset for each in data.acquired_records)
        found = await self.reading.opened(data.records, first, ALL_BYTES, ALL_BYTES)
        return found.records

    async def _live(self, member: DoorShareMember, guest: Guest) -> None:
        try:
            await member.run()
        except Exception:
            logger.exception("a member of share group %s ends by a bug", member.membership.group)
        finally:
            self.home.remove(member.id)
            # Its sessions end with it, and what it has in hand is for others.
            self.inner.leave(guest)

    def statistics(self) -> dict[str, int]:
        """Members, now and so far, and what was done with receipts."""
        counts = {f"receipts_{name}": count for name, count in self.settled.items()}
        in_hand = sum(member.loans.in_hand for member in self.home)
        return {"members": len(self.home), "members_joined": self.joined, "receipts_in_hand": in_hand, **counts}
