"""What a member is read: of several partitions at once, within what it asked for, without what it may not see."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from engine.errors import OffsetOutOfRange, TopicAuthorizationFailed
from tests.wire.inner.house import GUARDED, House, open_house, user
from tests.wire.kafka.guarded import Guarded
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.inner.member import PollWanted, ReadPortion, Reset
from wire.inner.member_reads import MemberReads

PLACES = {("t", 0): 0, ("t", 1): 0}


async def read(house: House, limits: PollWanted, wanted: dict[tuple[str, int], int] = PLACES) -> list[ReadPortion]:
    with house.guest() as guest:
        reads = MemberReads(house.inner, house.reading, guest)
        return list(await reads.read(wanted, limits, committed_only=True))


@trio_test
async def test_partitions_are_read_together_and_no_more_than_wanted(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t", 2)
        for partition in (0, 1):
            await produced(client, "t", batch([b"a", b"b", b"c"]), partition=partition)
        found = await read(house, PollWanted())
        assert sorted((each.place, len(each.records), each.next_offset) for each in found) == [
            (("t", 0), 3, 3),
            (("t", 1), 3, 3),
        ]
        few = await read(house, PollWanted(max_records=4))
        assert sum(len(each.records) for each in few) == 4


@trio_test
async def test_a_read_waits_and_what_comes_first_ends_it(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t", 2)
        assert await read(house, PollWanted(wait_s=0.05)) == []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: produced(client, "t", batch([b"x"]), partition=1))
            with trio.fail_after(10):
                (found,) = await read(house, PollWanted(wait_s=20.0))
        assert (found.place, [each.value for each in found.records]) == (("t", 1), [b"x"])


@trio_test
async def test_a_place_that_is_not_there_is_told_and_its_edges_are(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t", 1)
        await produced(client, "t", batch([b"a", b"b"]))
        (found,) = await read(house, PollWanted(), {("t", 0): 99})
        assert isinstance(found.error, OffsetOutOfRange)
        assert await read(house, PollWanted(), {("gone", 0): 0}) == []
        with house.guest() as guest:
            reads = MemberReads(house.inner, house.reading, guest)
            assert await reads.edge(("t", 0), Reset.EARLIEST) == 0
            assert await reads.edge(("t", 0), Reset.LATEST) == 2


@trio_test
async def test_who_may_not_read_is_told_so(tmp_path: Path) -> None:
    async with open_house(tmp_path, GUARDED) as house:
        await create_topic(await Guarded(house.door).client("root"), "t", 1)
        with house.guest(user("mallory")) as guest, pytest.raises(TopicAuthorizationFailed):
            await MemberReads(house.inner, house.reading, guest).read({("t", 0): 0}, PollWanted(), committed_only=False)
