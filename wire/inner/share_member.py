"""A worker of a share group that lives in the broker on behalf of somebody who only asks now and then.

Its task (`run`) tells the coordinator that it lives. Its caller polls, and gets each record with a receipt by which it
is settled: once, within its lock, by any connection of the same principal. A caller that has nothing in hand and says
nothing for `session_s` is gone; one that has something is waited for until the locks run out.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import trio
from attrs import define, field, frozen

from coordinators.access.callers import Caller
from coordinators.share.acks import AckType
from engine.errors import BrokerError, InvalidRecordState, NotLeader, fresh, kept
from wire.inner.homes import NotAtHome
from wire.inner.loans import Loans, Settling
from wire.inner.member import PollWanted
from wire.inner.receipts import WorkReceipt
from wire.inner.share_membership import ShareMembership
from wire.inner.share_session import NOT_SAID, LeaderSession, Said, SharePlace

MOST_IN_HAND = 10_000
"""The most records that one member may have at a time: what is remembered of each is little, but not nothing."""
SEVERAL_LEADERS_WAIT_S = 1.0
"""How long a fetch waits at each of several leaders: what one of them hands out is for the caller at once."""
PAUSE_S = 0.2
LEAVING_S = 5.0
NUMBER_BYTES = 6


@frozen
class ShareMemberWanted:
    """What somebody joins a share group for."""

    topics: tuple[str, ...]
    session_s: float = 30.0


@frozen
class Delivered:
    """A record, lent for `lock_s`; `record` is as `reading.py` gives it."""

    receipt: WorkReceipt
    record: Any
    lock_s: float


class Opens(Protocol):
    """Makes records of what a leader has handed out of a partition."""

    async def __call__(self, data: Any) -> Sequence[Any]: ...


Outcome = BrokerError | None
"""Of a receipt: None if it was settled."""


@define(eq=False)
class DoorShareMember:
    """See the module. `session_with` makes a session with a leader."""

    id: str
    caller: Caller
    wanted: ShareMemberWanted
    membership: ShareMembership
    session_with: Callable[[int], LeaderSession]
    opens: Opens
    random_bytes: Callable[[int], bytes]
    loans: Loans = field(factory=Loans, init=False)
    failure: BrokerError | None = field(default=None, init=False)
    is_over: bool = field(default=False, init=False)
    lock_s: float = field(default=30.0, init=False)
    """For how long the group lends."""
    _sessions: dict[int, LeaderSession] = field(factory=dict, init=False)
    _lenders: dict[tuple[str, int], SharePlace] = field(factory=dict, init=False)
    """By their topics' names, the partitions of which something was lent."""
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _living: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _calls: int = field(default=0, init=False)
    _is_polling: bool = field(default=False, init=False)
    _seen: float = field(factory=trio.current_time, init=False)
    _held_until: float = field(default=-math.inf, init=False)
    _leaves: bool = field(default=False, init=False)
    _gone: trio.Event = field(factory=trio.Event, init=False)

    # -- its task

    async def run(self) -> None:
        """Live until the caller leaves, or is gone, or the group refuses it."""
        try:
            with self._living:
                while True:
                    await self.membership.beat()
                    self._tell()
                    await self._rest(self.membership.interval_s)
        except BrokerError as error:
            self.failure = kept(error)
        finally:
            self.is_over = True
            self._tell()
            try:
                with trio.move_on_after(LEAVING_S, shield=self._leaves), suppress(BrokerError):
                    await self.membership.leave()
            finally:
                self._gone.set()

    async def _rest(self, seconds: float) -> None:
        """Until the next heartbeat; or the end, if the caller is gone."""
        now = trio.current_time()
        gone_at = math.inf if self._calls else max(self._seen + self.wanted.session_s, self._held_until)
        await trio.sleep(max(0.0, min(seconds, gone_at - now)))
        gone_at = math.inf if self._calls else max(self._seen + self.wanted.session_s, self._held_until)
        if trio.current_time() >= gone_at:
            self._end()
            await trio.lowlevel.checkpoint()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _end(self) -> None:
        self._leaves = True
        self._living.cancel()

    # -- its caller

    @contextmanager
    def _call(self) -> Iterator[None]:
        self._check()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._seen = trio.current_time()

    def _check(self) -> None:
        if self.failure is not None:
            raise fresh(self.failure)
        if self.is_over:
            raise NotAtHome("the member has left its share group")

    def heartbeat(self) -> None:
        """The caller lives."""
        self._check()
        self._seen = trio.current_time()

    async def until_heard(self, wait_s: float) -> None:
        """Wait until the coordinator has heard of the member; raises if it refuses it, and not if it takes longer."""
        with self._call(), trio.move_on_after(wait_s):
            while not self.membership.is_known and not self.is_over:
                await self._changed.wait()
        self._check()

    async def until_joined(self, wait_s: float) -> None:
        """Wait until there is something to work on; raises if the group refuses the member, and not if it takes
        longer."""
        with self._call(), trio.move_on_after(wait_s):
            while not self.membership.assigned and not self.is_over:
                await self._changed.wait()
        self._check()

    async def leave(self) -> None:
        """The caller is done: what it has not settled is for others at once."""
        self._check()
        self._end()
        await self._gone.wait()

    # -- polling

    async def poll(self, limits: PollWanted) -> list[Delivered]:
        """Records to work on, each with its receipt; none after `wait_s`. One poll at a time."""
        if self._is_polling:
            raise InvalidRecordState("another poll of this member is under way")
        self._is_polling = True
        try:
            with self._call():
                return await self._polled(limits, trio.current_time() + limits.wait_s)
        finally:
            self._is_polling = False

    async def _polled(self, limits: PollWanted, deadline: float) -> list[Delivered]:
        while True:
            now = trio.current_time()
            self.loans.forget(now)
            delivered = await self._poll_once(limits, max(0.0, deadline - now))
            self._check()
            if delivered or trio.current_time() >= deadline:
                return delivered

    async def _poll_once(self, limits: PollWanted, left_s: float) -> list[Delivered]:
        room = min(limits.max_records, MOST_IN_HAND - len(self.loans))
        leaders = self.membership.by_leader()
        if not leaders or room <= 0:
            with trio.move_on_after(min(left_s, 1.0) if room <= 0 else left_s):
                await self._changed.wait()
            return []
        wait_s = left_s if len(leaders) == 1 else min(left_s, SEVERAL_LEADERS_WAIT_S)
        share = max(1, room // len(leaders))
        delivered: list[Delivered] = []
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for leader, places in leaders.items():
                limit = PollWanted(limits.max_bytes, share, wait_s)
                nursery.start_soon(self._fetch, leader, places, limit, delivered)
        if not delivered and trio.current_time() - began < PAUSE_S:
            await trio.sleep(min(PAUSE_S, left_s))
        return delivered

    async def _fetch(
        self, leader: int, places: frozenset[SharePlace], limits: PollWanted, delivered: list[Delivered]
    ) -> None:
        try:
            answer = await self._session(leader).fetch(
                places, max_records=limits.max_records, max_bytes=limits.max_bytes, wait_s=limits.wait_s
            )
            self.lock_s = answer.acquisition_lock_timeout_ms / 1000
            for topic in answer.responses:
                for data in topic.partitions:
                    place = (topic.topic_id, data.partition_index)
                    if data.error_code:
                        await self.membership.look_around()
                    elif data.acquired_records:
                        delivered += await self._lend(leader, place, data)
        except BrokerError:
            await self.membership.look_around()

    def _session(self, leader: int) -> LeaderSession:
        if leader not in self._sessions:
            self._sessions[leader] = self.session_with(leader)
        return self._sessions[leader]

    async def _lend(self, leader: int, place: SharePlace, data: Any) -> list[Delivered]:
        until = trio.current_time() + self.lock_s
        counts = {
            offset: each.delivery_count
            for each in data.acquired_records
            for offset in range(each.first_offset, each.last_offset + 1)
        }
        records = {each.offset: each for each in await self.opens(data) if each.offset in counts}
        topic = self.membership.names.get(place[0], "")
        self._lenders[topic, place[1]] = place
        delivered = []
        for offset, record in records.items():
            number = self.random_bytes(NUMBER_BYTES).hex()
            receipt = WorkReceipt(topic, place[1], offset, counts[offset], self.id, number)
            self.loans.lend(receipt, until)
            delivered.append(Delivered(receipt, record, self.lock_s))
        self._held_until = max(self._held_until, until)
        if gaps := [Said(offset, AckType.GAP) for offset in counts.keys() - records.keys()]:
            # Compacted away, or the marker of a transaction: nobody has to work on that.
            with suppress(BrokerError):
                await self._session(leader).acknowledge({place: gaps})
        return delivered

    # -- settling

    async def settle(
        self, receipts: Sequence[WorkReceipt], settlement: Settling, delay_ms: int | None = None
    ) -> dict[WorkReceipt, Outcome]:
        """What became of each. Released records wait `delay_ms`, or as long as their group's keys say."""
        with self._call():
            outcomes: dict[WorkReceipt, Outcome] = {}
            by_place: dict[SharePlace, list[WorkReceipt]] = {}
            for receipt in dict.fromkeys(receipts):
                try:
                    if self.loans.check(receipt, settlement, trio.current_time()):
                        by_place.setdefault(self._lenders[receipt.topic, receipt.partition], []).append(receipt)
                    else:
                        outcomes[receipt] = None
                except BrokerError as error:
                    outcomes[receipt] = kept(error)
            for leader, places in self._by_leader(by_place).items():
                outcomes |= await self._settle_at(leader, places, settlement, delay_ms)
            return outcomes

    def _by_leader(
        self, receipts: Mapping[SharePlace, list[WorkReceipt]]
    ) -> dict[int, dict[SharePlace, list[WorkReceipt]]]:
        found: dict[int, dict[SharePlace, list[WorkReceipt]]] = {}
        for place, each in receipts.items():
            found.setdefault(self.membership.leaders.get(place, -1), {})[place] = each
        return found

    async def _settle_at(
        self,
        leader: int,
        receipts: Mapping[SharePlace, list[WorkReceipt]],
        settlement: Settling,
        delay_ms: int | None,
    ) -> dict[WorkReceipt, Outcome]:
        said = {place: [_said(receipt, settlement, delay_ms) for receipt in each] for place, each in receipts.items()}
        began = trio.current_time()
        try:
            if leader < 0:
                raise NotLeader("nobody leads the partition at the moment: try again")
            told = await self._session(leader).acknowledge(said, renews=settlement is Settling.EXTEND)
        except BrokerError as error:
            await self.membership.look_around()
            return {receipt: kept(error) for each in receipts.values() for receipt in each}
        outcomes: dict[WorkReceipt, Outcome] = {}
        for place, each in receipts.items():
            refusal = told.get(place)
            if isinstance(refusal, InvalidRecordState) and len(each) > 1:
                # One of them was refused, and the others with it: each for itself.
                for receipt in each:
                    outcomes |= await self._settle_at(leader, {place: [receipt]}, settlement, delay_ms)
                continue
            self._take(each, refusal, settlement, began)
            outcomes |= dict.fromkeys(each, refusal)
        return outcomes

    def _take(self, receipts: list[WorkReceipt], error: Outcome, settlement: Settling, began: float) -> None:
        if isinstance(error, InvalidRecordState):
            self.loans.lose(receipts)
        elif error is None and settlement is Settling.EXTEND:
            until = began + self.lock_s
            self.loans.extend(receipts, until)
            self._held_until = max(self._held_until, until)
        elif error is None:
            self.loans.settle(receipts, settlement)


def _said(receipt: WorkReceipt, settlement: Settling, delay_ms: int | None) -> Said:
    delay = delay_ms if settlement is Settling.NACK and delay_ms is not None else NOT_SAID
    return Said(receipt.offset, AckType(settlement), receipt.delivery_count, delay)
