"""Groups of members whose callers come, work, dawdle, leave and die by chance: nothing is lost, nor read by two."""

import random

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, trio_test

from engine.errors import BrokerError
from tests.wire.inner.office import Office
from wire.inner.member import DoorMember, DoorMemberState, MemberWanted, PollWanted, Reset

PARTITIONS = 4
TURNS = 60
PATIENCE_S = 600.0
SEEDS = range(12)


@define(eq=False)
class Caller:
    """Somebody who polls. What a poll gave it has worked on when it polls again, or leaves; not if it dies before."""

    member: DoorMember
    in_hand: list[int] = field(factory=list)
    worked_on: list[int] = field(factory=list)
    is_alive: bool = True

    async def poll(self, wait_s: float) -> None:
        self.worked_on += self.in_hand
        self.in_hand = []
        try:
            polled = await self.member.poll(PollWanted(max_records=3, wait_s=wait_s))
        except BrokerError:
            self.is_alive = False  # it was silent for too long: it would join anew
            return
        self.in_hand = [number for portion in polled.portions for number in portion.records]

    async def leave(self) -> None:
        self.is_alive = False
        if not self.member.is_over:
            self.worked_on += self.in_hand
            await self.member.leave()


@define(eq=False)
class Life:
    """What happens, by the seed."""

    office: Office
    nursery: trio.Nursery
    chance: random.Random
    callers: list[Caller] = field(factory=list)
    written: int = 0

    def join(self) -> Caller:
        wanted = MemberWanted(
            ("t",), session_s=self.chance.choice((10.0, 30.0)), reset=Reset.EARLIEST, hand_over_s=10.0
        )
        member = self.office.member(f"m{len(self.callers)}", wanted)
        self.nursery.start_soon(member.run)
        self.callers.append(caller := Caller(member))
        return caller

    def write(self) -> None:
        for _ in range(self.chance.randrange(1, 6)):
            self.office.write(("t", self.chance.randrange(PARTITIONS)), self.written)
            self.written += 1

    @property
    def alive(self) -> list[Caller]:
        return [each for each in self.callers if each.is_alive]

    async def turn(self) -> None:
        act = self.chance.choices(("poll", "write", "join", "leave", "die", "away", "dawdle"), (40, 25, 6, 4, 4, 3, 8))[
            0
        ]
        some = self.chance.choice(self.alive) if self.alive else self.join()
        if act == "poll":
            await some.poll(self.chance.choice((0.0, 1.0, 5.0)))
        elif act == "write":
            self.write()
        elif act == "join" and len(self.alive) < PARTITIONS:
            self.join()
        elif act == "leave":
            await some.leave()
        elif act == "die":
            some.is_alive = False
        elif act == "away":
            self.office.is_away = True
            await trio.sleep(self.chance.random() * 8)
            self.office.is_away = False
        else:
            await trio.sleep(self.chance.random() * 12)
        self.check()

    def check(self) -> None:
        """Whoever reads, of one generation, reads something else than the others."""
        reading = [each.member for each in self.callers if each.member.state is DoorMemberState.READING]
        newest = max((member.generation for member in reading), default=0)
        held = [place for member in reading if member.generation == newest for place in member.assigned()]
        assert len(held) == len(set(held)), held


@pytest.mark.parametrize("seed", SEEDS)
@trio_test
async def test_every_record_is_worked_on_whoever_comes_and_goes(autojump_clock: MockClock, seed: int) -> None:
    async with trio.open_nursery() as nursery:
        office = Office({"t": PARTITIONS})
        nursery.start_soon(office.keep_time)
        life = Life(office, nursery, random.Random(seed))
        for _ in range(TURNS):
            await life.turn()
        last = life.join()
        with trio.fail_after(PATIENCE_S):
            while {number for each in life.callers for number in each.worked_on} != set(range(life.written)):
                for each in life.alive:
                    await each.poll(1.0)
                if not last.is_alive:
                    last = life.join()
        nursery.cancel_scope.cancel()


@trio_test
async def test_callers_that_behave_get_each_record_once(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        office = Office({"t": PARTITIONS})
        nursery.start_soon(office.keep_time)
        life = Life(office, nursery, random.Random(1))
        for number in range(40):
            life.write()
            if number % 10 == 0:
                life.join()
            for each in life.alive:
                await each.poll(1.0)
            if number == 25:
                await life.alive[0].leave()
        with trio.fail_after(PATIENCE_S):
            while len({number for each in life.callers for number in each.worked_on}) < life.written:
                for each in life.alive:
                    await each.poll(1.0)
        worked_on = [number for each in life.callers for number in each.worked_on]
        assert sorted(worked_on) == list(range(life.written))
        nursery.cancel_scope.cancel()
