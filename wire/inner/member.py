"""A consumer that lives in the broker on behalf of somebody who only asks now and then.

Its task (`run`) joins the group, tells the coordinator every few seconds that it lives, commits, and joins again when
the group rebalances. Its caller polls. What it was given counts as done when it polls again (or commits): until then a
rebalance waits for it, `hand_over_s` at most, so that others do not get the same records. A caller that neither polls
nor says that it lives for `session_s` is gone, and its partitions go to others.

| state | what goes on | what ends it |
|---|---|---|
| JOINING | the group settles; a poll waits | the assignment, and where to read on |
| READING | polls are answered | the group rebalances, the caller leaves or is gone |
| HANDING_OVER | no poll gives anything | the caller is done, or has had its time |
| OVER | everything is refused | nothing |

A poll never gives records of a partition that was taken back: what was read meanwhile is thrown away. Commits name the
generation, so the coordinator refuses those of somebody who is not a member any more.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, Protocol

import trio
from attrs import define, evolve, field, frozen

from coordinators.access.callers import Caller
from engine.errors import BrokerError, IllegalGeneration, OffsetOutOfRange, RebalanceInProgress, fresh, kept
from wire.inner.assignors import Place
from wire.inner.homes import NotAtHome
from wire.inner.memberships import DoorMembership
from wire.inner.offsets import GroupOffsets
from wire.inner.positions import Positions

BEAT_S = 3.0
LOOK_S = 15.0
"""How often a member that leads looks whether topics have come or grown."""
LEAVING_S = 5.0
PAUSE_S = 0.2


class DoorMemberState(Enum):
    """See the module."""

    JOINING = "joining"
    READING = "reading"
    HANDING_OVER = "handing over"
    OVER = "over"


class Reset(Enum):
    """Where a group begins that has no place in a partition, or whose place is gone."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@frozen
class MemberWanted:
    """What somebody joins a group for."""

    topics: tuple[str, ...]
    session_s: float = 30.0
    auto_commit_s: float | None = 5.0
    reset: Reset = Reset.LATEST
    committed_only: bool = False
    """Whether records of transactions are given only when those are committed."""
    hand_over_s: float = 30.0


@frozen
class PollWanted:
    """How much a poll may give, and how long it waits for something."""

    max_bytes: int = 1024 * 1024
    max_records: int = 500
    wait_s: float = 0.0


@frozen
class ReadPortion:
    """What was read of one partition; `records` are as `reading.py` gives them."""

    place: Place
    records: Sequence[Any]
    next_offset: int
    error: BrokerError | None = None


@frozen
class Polled:
    """What a poll gives, and in which generation."""

    generation: int
    portions: Sequence[ReadPortion] = ()


class Reads(Protocol):
    """How a member gets at records, in the name of its caller."""

    async def read(
        self, wanted: Mapping[Place, int], limits: PollWanted, *, committed_only: bool
    ) -> Sequence[ReadPortion]:
        """Something of any of the partitions, from these offsets on; nothing after `wait_s`."""

    async def edge(self, place: Place, reset: Reset) -> int:
        """The first or the next offset of a partition."""


@define(eq=False)
class DoorMember:
    """See the module."""

    id: str
    caller: Caller
    wanted: MemberWanted
    membership: DoorMembership
    offsets: GroupOffsets
    reads: Reads
    state: DoorMemberState = field(default=DoorMemberState.JOINING, init=False)
    failure: BrokerError | None = field(default=None, init=False)
    """Why it is over, where that was not its caller's wish."""
    positions: Positions = field(factory=Positions, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _nudged: trio.Event = field(factory=trio.Event, init=False)
    _living: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _reading: trio.CancelScope | None = field(default=None, init=False)
    _calls: int = field(default=0, init=False)
    _seen: float = field(factory=trio.current_time, init=False)
    _rejoins: bool = field(default=False, init=False)
    _is_polling: bool = field(default=False, init=False)
    _round: int = field(default=0, init=False)
    """Counts assignments: what was read in an earlier one is not given."""
    _reason: str = field(default="", init=False)
    _gone: trio.Event = field(factory=trio.Event, init=False)

    @property
    def is_over(self) -> bool:
        """Whether it has left."""
        return self.state is DoorMemberState.OVER

    @property
    def generation(self) -> int:
        """The group's, in which it is a member; -1 while it joins."""
        return self.membership.generation

    def assigned(self) -> list[Place]:
        """What it reads now."""
        return sorted(self.positions.given()) if self.state is DoorMemberState.READING else []

    # -- its task

    async def run(self) -> None:
        """Live until the caller leaves, or is gone, or the group refuses it."""
        try:
            with self._living:
                while True:
                    await self._join()
                    await self._read_on()
                    await self._hand_over()
        except BrokerError as error:
            self.failure = kept(error)
        finally:
            self._enter(DoorMemberState.OVER)
            self.membership.heard.set()
            try:
                await self._leave()
            finally:
                self._gone.set()

    async def _join(self) -> None:
        self._rejoins = False
        self._round += 1
        self._enter(DoorMemberState.JOINING)
        self.positions.drop_all()
        places = await self.membership.join()
        for place, committed in (await self.offsets.fetch(places)).items():
            start = committed if committed >= 0 else await self._edge(place)
            self.positions.start(place, start, committed)
        self._enter(DoorMemberState.READING)

    async def _edge(self, place: Place) -> int:
        if self.wanted.reset is Reset.NONE:
            raise OffsetOutOfRange(f"the group has no place in {place[0]}-{place[1]}, and is told not to choose one")
        return await self.reads.edge(place, self.wanted.reset)

    async def _read_on(self) -> None:
        """Until the member has to join again."""
        now = trio.current_time()
        commit_at, look_at = now + (self.wanted.auto_commit_s or 0.0), now + LOOK_S
        while not self._rejoins:
            await self._wait(BEAT_S if self.wanted.auto_commit_s is None else min(BEAT_S, self.wanted.auto_commit_s))
            now = trio.current_time()
            self._rejoins |= not await self.membership.beat()
            if self.wanted.auto_commit_s is not None and now >= commit_at:
                commit_at = now + self.wanted.auto_commit_s
                await self._auto_commit()
            if self.membership.leads and now >= look_at:
                look_at = now + LOOK_S
                self._rejoins |= await self._has_grown()

    async def _wait(self, seconds: float) -> None:
        """Until it is time, or somebody nudges; ends the member if its caller is gone."""
        now = trio.current_time()
        until_gone = self._seen + self.wanted.session_s - now if not self._calls else seconds
        with trio.move_on_after(max(0.0, min(seconds, until_gone))):
            await self._nudged.wait()
        self._nudged = trio.Event()
        if not self._calls and trio.current_time() >= self._seen + self.wanted.session_s:
            self._end("its caller was silent for the session time")
            await trio.lowlevel.checkpoint()

    async def _has_grown(self) -> bool:
        """Whether topics of the group have more partitions than were dealt out, or others have come."""
        known = self.membership.counts
        found = await self.membership.partition_counts({*known, *self.membership.wanted})
        return dict(found) != dict(known)

    async def _hand_over(self) -> None:
        """Wait until the caller is done with what it has, and commit that: then others may have it."""
        self._enter(DoorMemberState.HANDING_OVER)
        if self._reading is not None:
            self._reading.cancel()
        deadline = trio.current_time() + self.wanted.hand_over_s
        while not self.positions.is_settled and (left := deadline - trio.current_time()) > 0:
            await self._wait(min(left, BEAT_S))
            if self.membership.member_id:
                await self.membership.beat()
        if self.wanted.auto_commit_s is not None:
            await self._auto_commit()

    async def _auto_commit(self) -> None:
        offsets = self.positions.to_commit()
        try:
            if offsets:
                await self._commit(offsets)
        except BrokerError:
            pass  # it is tried again, or somebody else reads the records once more

    async def _commit(self, offsets: Mapping[Place, int]) -> None:
        code = await self.offsets.commit(self.membership, offsets)
        if code:
            self._rejoins |= self.membership.heeds(code)
            self._nudge()
            raise RebalanceInProgress("the group has not taken the commit: the member is to join again")
        self.positions.committed(offsets)

    async def _leave(self) -> None:
        with trio.move_on_after(LEAVING_S, shield=bool(self._reason)):
            if self.wanted.auto_commit_s is not None:
                await self._auto_commit()
            with suppress(BrokerError):
                await self.membership.leave(self._reason)

    def _enter(self, state: DoorMemberState) -> None:
        self.state = state
        self._changed.set()
        self._changed = trio.Event()

    def _nudge(self) -> None:
        self._nudged.set()

    def _end(self, reason: str) -> None:
        self._reason = reason
        self._living.cancel()
        if self._reading is not None:
            self._reading.cancel()

    # -- its caller

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Whoever waits for an answer lives."""
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
            raise NotAtHome("the member has left its group")

    def heartbeat(self) -> None:
        """The caller lives."""
        self._check()
        self._seen = trio.current_time()

    async def until_heard(self, wait_s: float) -> None:
        """Wait until the coordinator has heard of the member; raises if it refuses it, and not if it takes longer."""
        with self._call(), trio.move_on_after(wait_s):
            await self.membership.heard.wait()
        self._check()

    async def until_joined(self, wait_s: float) -> None:
        """Wait for the first assignment; raises if the group refuses the member, and not if it takes longer."""
        with self._call(), trio.move_on_after(wait_s):
            while self.state is DoorMemberState.JOINING:
                await self._changed.wait()
        self._check()

    async def poll(self, limits: PollWanted) -> Polled:
        """Records that the caller has not had; what it had before counts as done. One poll at a time."""
        if self._is_polling:
            raise IllegalGeneration("another poll of this member is under way")
        self._is_polling = True
        try:
            with self._call():
                self.positions.done()
                self._nudge_if_waited_for()
                return await self._polled(limits, trio.current_time() + limits.wait_s)
        finally:
            self._is_polling = False

    async def _polled(self, limits: PollWanted, deadline: float) -> Polled:
        while True:
            left = max(0.0, deadline - trio.current_time())
            portions = await self._read_once(evolve(limits, wait_s=left))
            self._check()
            if portions or trio.current_time() >= deadline:
                return Polled(self.generation, portions)

    async def _read_once(self, limits: PollWanted) -> list[ReadPortion]:
        """What there is, of what is the member's when it is given."""
        if self.state is not DoorMemberState.READING or not self.positions.given():
            with trio.move_on_after(limits.wait_s):
                await self._changed.wait()
            return []
        round_number, began = self._round, trio.current_time()
        found: Sequence[ReadPortion] = ()
        with trio.CancelScope() as self._reading:
            found = await self.reads.read(self.positions.in_turn(), limits, committed_only=self.wanted.committed_only)
        self._reading = None
        if self.state is not DoorMemberState.READING or self._round != round_number:
            return []
        given = await self._given(found)
        if not given and trio.current_time() - began < PAUSE_S:
            # Nothing, and not for want of waiting: what is wrong may be right in a moment.
            await trio.sleep(min(PAUSE_S, limits.wait_s))
        return given

    async def _given(self, found: Sequence[ReadPortion]) -> list[ReadPortion]:
        given = [each for each in found if each.records and each.place in self.positions]
        for each in found:
            if each.error is None and each.place in self.positions:
                self.positions.give(each.place, each.next_offset)
        for each in found:
            if isinstance(each.error, OffsetOutOfRange) and not given:
                self.positions.start(each.place, await self._edge(each.place))
        return given

    def _nudge_if_waited_for(self) -> None:
        if self.state is DoorMemberState.HANDING_OVER:
            self._nudge()

    async def commit(self, offsets: Mapping[Place, int] | None = None, generation: int | None = None) -> None:
        """Commit these, or all that was given. Refused for what is not the member's any more, or was given in another
        generation than the one that is named."""
        with self._call():
            if generation is not None and generation != self.generation:
                raise IllegalGeneration(f"the member is in generation {self.generation} now, not {generation}")
            wanted = self.positions.given() if offsets is None else dict(offsets)
            for topic, index in wanted:
                if (topic, index) not in self.positions:
                    raise IllegalGeneration(
                        f"{topic}-{index} is not the member's, or not any more: the group rebalanced"
                    )
            if wanted:
                await self._commit(wanted)
            self._nudge_if_waited_for()

    def seek(self, offsets: Mapping[Place, int]) -> None:
        """Read on from these offsets."""
        self.heartbeat()
        for topic, index in offsets:
            if (topic, index) not in self.positions:
                raise IllegalGeneration(f"{topic}-{index} is not the member's, or not any more: the group rebalanced")
        for place, offset in offsets.items():
            self.positions.start(place, offset)
        if self._reading is not None:
            self._reading.cancel()

    async def leave(self, *, is_done: bool = True) -> None:
        """The caller goes; unless it was cut off, it is done with all that it was given."""
        self._check()
        if is_done:
            self.positions.done()
        self._end("its caller leaves")
        await self._gone.wait()
