"""Workers of share groups that live in the broker, against a broker of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from engine.errors import GroupAuthorizationFailed, InvalidRecordState
from tests.wire.inner.house import GUARDED, NOBODY, House, open_house, user
from tests.wire.kafka.door import Client, until
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sharing import configure_group
from wire.inner.homes import NotAtHome
from wire.inner.loans import Settling
from wire.inner.member import PollWanted
from wire.inner.residents import Residents
from wire.inner.share_member import Delivered, DoorShareMember, ShareMemberWanted

PATIENCE_S = 20.0


@asynccontextmanager
async def working(data_dir: Path, partitions: int = 1) -> AsyncIterator[tuple[House, Client, DoorShareMember]]:
    async with open_house(data_dir, {"group.share.min.record.lock.duration.ms": 1000}) as house:
        client = await house.door.connect()
        await create_topic(client, "t", partitions)
        await configure_group(client, share_auto_offset_reset="earliest")
        yield house, client, await joined(house)


async def joined(house: House, session_s: float = 30.0) -> DoorShareMember:
    members = house.service(Residents).share_members
    member = await members.join(NOBODY, "http", "g", ShareMemberWanted(("t",), session_s))
    await member.until_joined(PATIENCE_S)
    return member


async def polled(member: DoorShareMember, count: int) -> list[Delivered]:
    found: list[Delivered] = []
    with trio.fail_after(PATIENCE_S):
        while len(found) < count:
            found += await member.poll(PollWanted(max_records=count - len(found), wait_s=1.0))
    return found


@trio_test
async def test_two_members_never_have_the_same_record(tmp_path: Path) -> None:
    async with working(tmp_path) as (house, client, first):
        second = await joined(house)
        await produced(client, "t", batch(6))
        mine, yours = await polled(first, 3), await polled(second, 3)
        offsets = [each.record.offset for each in (*mine, *yours)]
        assert sorted(offsets) == [0, 1, 2, 3, 4, 5]
        outcomes = await second.settle([each.receipt for each in mine], Settling.ACK)
        assert all(isinstance(each, InvalidRecordState) for each in outcomes.values())


@trio_test
async def test_an_acknowledgement_goes_by_while_a_poll_waits(tmp_path: Path) -> None:
    async with working(tmp_path) as (_, client, member):
        await produced(client, "t", batch(1))
        (only,) = await polled(member, 1)
        later: list[Delivered] = []

        async def wait() -> None:
            later.extend(await member.poll(PollWanted(wait_s=PATIENCE_S)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked(0.05)
            began = trio.current_time()
            assert await member.settle([only.receipt], Settling.ACK) == {only.receipt: None}
            assert trio.current_time() - began < PATIENCE_S / 2
            with pytest.raises(InvalidRecordState, match="another poll"):
                await member.poll(PollWanted())
            await produced(client, "t", batch(1))
        assert [each.record.offset for each in later] == [1]


@trio_test
async def test_one_bad_receipt_does_not_keep_the_others_from_being_settled(tmp_path: Path) -> None:
    async with working(tmp_path) as (_, client, member):
        await produced(client, "t", batch(3))
        found = await polled(member, 3)
        taken_back, *kept = [each.receipt for each in found]
        forged = taken_back._replace(delivery_count=9)
        member.loans.lend(forged, until=trio.current_time() + 10)
        outcomes = await member.settle([forged, *kept], Settling.ACK)
        assert isinstance(outcomes[forged], InvalidRecordState)
        assert [outcomes[each] for each in kept] == [None, None]


@trio_test
async def test_a_silent_caller_ends_unless_it_has_something_in_hand(tmp_path: Path) -> None:
    async with working(tmp_path) as (house, client, _):
        idle, busy = await joined(house, session_s=1.0), await joined(house, session_s=1.0)
        await produced(client, "t", batch(1))
        await polled(busy, 1)
        await until(lambda: idle.is_over)
        assert not busy.is_over
        with pytest.raises(NotAtHome):
            await idle.poll(PollWanted())


@trio_test
async def test_who_may_not_work_for_the_group_is_told_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, GUARDED) as house:
        members = house.service(Residents).share_members
        member = await members.join(user("mallory"), "http", "g", ShareMemberWanted(("t",)))
        with pytest.raises(GroupAuthorizationFailed):
            await member.until_joined(PATIENCE_S)
