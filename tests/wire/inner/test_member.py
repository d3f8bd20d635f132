"""Members that live in the broker: what their callers get when groups settle, rebalance, and lose somebody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, trio_test

from engine.errors import IllegalGeneration, OffsetOutOfRange
from tests.wire.inner.office import Office
from wire.inner.homes import NotAtHome
from wire.inner.member import DoorMember, DoorMemberState, MemberWanted, Polled, PollWanted, Reset

EARLIEST = MemberWanted(("t",), reset=Reset.EARLIEST)
SOON = PollWanted(wait_s=20.0)
PLACES = [("t", 0), ("t", 1)]


@asynccontextmanager
async def office(partitions: int = 2) -> AsyncIterator[tuple[Office, trio.Nursery]]:
    """A coordinator whose time goes on."""
    async with trio.open_nursery() as nursery:
        found = Office({"t": partitions})
        nursery.start_soon(found.keep_time)
        yield found, nursery
        nursery.cancel_scope.cancel()


async def joined(found: Office, nursery: trio.Nursery, wanted: MemberWanted = EARLIEST, name: str = "m") -> DoorMember:
    member = found.member(name, wanted)
    nursery.start_soon(member.run)
    await member.until_joined(120.0)
    assert member.state is DoorMemberState.READING
    return member


def given(polled: Polled) -> list[int]:
    return sorted(number for portion in polled.portions for number in portion.records)


@trio_test
async def test_a_member_alone_reads_everything(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        for number, place in enumerate(PLACES):
            found.write(place, number)
        member = await joined(found, nursery)
        assert member.assigned() == PLACES
        assert given(await member.poll(SOON)) == [0, 1]


@trio_test
async def test_a_poll_waits_for_records_and_no_longer_than_asked(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = await joined(found, nursery)
        began = trio.current_time()
        assert given(await member.poll(PollWanted(wait_s=5.0))) == []
        assert trio.current_time() - began == pytest.approx(5.0, abs=0.3)

        async def later() -> None:
            await trio.sleep(3)
            found.write(("t", 1), 7)

        nursery.start_soon(later)
        assert given(await member.poll(SOON)) == [7]


@trio_test
async def test_what_was_given_is_committed_after_the_next_poll(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        member = await joined(found, nursery)
        assert given(await member.poll(SOON)) == [1]
        await trio.sleep(11)
        assert found.committed(("t", 0)) == 0  # where it began; it may not have worked on the record yet
        await member.poll(PollWanted())
        await trio.sleep(6)
        assert found.committed(("t", 0)) == 1


@trio_test
async def test_without_auto_commit_nothing_is_committed_unless_asked(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        member = await joined(found, nursery, MemberWanted(("t",), auto_commit_s=None, reset=Reset.EARLIEST))
        polled = await member.poll(SOON)
        await member.poll(PollWanted(wait_s=10.0))
        assert found.committed(("t", 0)) == -1
        await member.commit({("t", 0): 1}, polled.generation)
        assert found.committed(("t", 0)) == 1


@trio_test
async def test_a_second_member_gets_its_share_when_the_first_is_done(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        first = await joined(found, nursery, name="m1")
        assert given(await first.poll(SOON)) == [1]
        second = found.member("m2", EARLIEST)
        nursery.start_soon(second.run)
        await trio.sleep(8)
        assert first.state is DoorMemberState.HANDING_OVER  # its caller may still work on the record
        assert given(await first.poll(PollWanted(wait_s=10.0))) == []
        await second.until_joined(60.0)
        assert sorted(first.assigned() + second.assigned()) == PLACES
        assert len(first.assigned()) == 1
        assert given(await second.poll(PollWanted(wait_s=1.0))) == []  # it was committed when it was handed over


@trio_test
async def test_a_caller_that_takes_too_long_is_not_waited_for(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        slow = await joined(found, nursery, MemberWanted(("t",), session_s=300.0, reset=Reset.EARLIEST), "m1")
        polled = await slow.poll(SOON)
        assert given(polled) == [1]
        other = await joined(found, nursery, name="m2")
        assert sorted(slow.assigned() + other.assigned()) == PLACES
        with pytest.raises(IllegalGeneration):
            await slow.commit({("t", 0): 1}, polled.generation)
        again = given(await slow.poll(PollWanted(wait_s=1.0))) + given(await other.poll(PollWanted(wait_s=1.0)))
        assert again == [1]


@trio_test
async def test_a_silent_caller_loses_its_place_and_nothing_is_lost(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        for place in PLACES:
            found.write(place, place[1])
        silent = await joined(found, nursery, name="m1")
        assert given(await silent.poll(SOON)) == [0, 1]
        other = await joined(found, nursery, MemberWanted(("t",), session_s=300.0, reset=Reset.EARLIEST), "m2")
        await trio.sleep(40)
        assert silent.is_over
        with pytest.raises(NotAtHome):
            await silent.poll(SOON)
        assert other.assigned() == PLACES
        assert given(await other.poll(SOON)) == [0, 1]


@trio_test
async def test_heartbeats_and_a_long_poll_keep_a_member_alive(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = await joined(found, nursery, MemberWanted(("t",), session_s=10.0))
        for _ in range(5):
            await trio.sleep(8)
            member.heartbeat()
        await member.poll(PollWanted(wait_s=30.0))
        assert not member.is_over
        await trio.sleep(11)
        assert member.is_over


@trio_test
async def test_who_leaves_commits_and_others_read_on_at_once(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        member = await joined(found, nursery)
        assert given(await member.poll(SOON)) == [1]
        await member.leave()
        assert found.committed(("t", 0)) == 1
        began = trio.current_time()
        found.write(("t", 0), 2)
        other = await joined(found, nursery, name="m2")
        assert given(await other.poll(SOON)) == [2]
        assert trio.current_time() - began < 10


@trio_test
async def test_a_member_outlives_its_coordinator(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = await joined(found, nursery)
        found.is_away = True
        await trio.sleep(7)
        found.is_away = False
        found.write(("t", 0), 5)
        assert given(await member.poll(SOON)) == [5]


@trio_test
async def test_the_leader_deals_out_partitions_that_come_later(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = await joined(found, nursery)
        found.counts["t"] = 3
        polled = await member.poll(PollWanted(wait_s=30.0))
        assert polled.portions == []
        assert member.assigned() == [*PLACES, ("t", 2)]


@trio_test
async def test_a_member_can_go_back_and_is_refused_what_is_not_its_own(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        member = await joined(found, nursery)
        assert given(await member.poll(SOON)) == [1]
        member.seek({("t", 0): 0})
        assert given(await member.poll(SOON)) == [1]
        with pytest.raises(IllegalGeneration):
            member.seek({("t", 9): 0})
        with pytest.raises(IllegalGeneration):
            await member.commit({("u", 0): 1})


@trio_test
async def test_where_no_place_may_be_chosen_the_caller_is_told(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = found.member("m", MemberWanted(("t",), reset=Reset.NONE))
        nursery.start_soon(member.run)
        with pytest.raises(OffsetOutOfRange):
            await member.until_joined(20.0)


@trio_test
async def test_a_place_that_is_gone_is_chosen_anew(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        found.write(("t", 0), 1)
        member = await joined(found, nursery)
        member.seek({("t", 0): 99})
        assert given(await member.poll(SOON)) == [1]


@trio_test
async def test_polls_of_one_member_come_one_by_one(autojump_clock: MockClock) -> None:
    async with office() as (found, nursery):
        member = await joined(found, nursery)
        nursery.start_soon(member.poll, SOON)
        await trio.sleep(1)
        with pytest.raises(IllegalGeneration, match="another poll"):
            await member.poll(SOON)
