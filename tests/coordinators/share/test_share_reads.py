"""A share fetch: how bytes and records are split among partitions, how little it waits for, whom news reach."""

from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.share.share_reads import SETTLE_S
from coordinators.share.sharing import ShareAsked, ShareBudget
from engine.deferred import Deferred
from tests.coordinators.share.test_sharing import ONE, OTHER, asked, loaded, sharing_of, told
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, produced


@trio_test
async def test_records_are_a_budget_for_all_partitions(tmp_path: Path) -> None:
    async with sharing_of(tmp_path, partitions=3) as (_, client, sharing, topic_id):
        for index in range(3):
            await produced(client, "t", batch(9), partition=index)
        budget = ShareBudget(max_records=12, is_strict=True)
        keys = [(topic_id, index) for index in range(3)]
        await loaded(sharing, keys)
        three = ShareAsked(0, keys, budget=budget)
        assert sorted(last - first + 1 for first, last, _ in await told(sharing.fetch(ONE, three))) == [3, 9]


@trio_test
async def test_bytes_are_split_evenly(tmp_path: Path) -> None:
    async with sharing_of(tmp_path, partitions=2) as (_, client, sharing, topic_id):
        for index in range(2):
            for _ in range(4):
                await produced(client, "t", batch([bytes(1000)]), partition=index)
        keys = [(topic_id, 0), (topic_id, 1)]
        await loaded(sharing, keys)
        two = ShareAsked(0, keys, budget=ShareBudget(max_bytes=4500))
        assert await told(sharing.fetch(ONE, two)) == [(0, 1, 1), (0, 1, 1)]


@trio_test
async def test_one_batch_is_given_however_large_it_is(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await produced(client, "t", batch([bytes(10_000)]))
        assert await told(sharing.fetch(ONE, asked(0, topic_id, max_bytes=100))) == [(0, 0, 1)]


@trio_test
async def test_a_fetch_waits_for_as_many_bytes_as_it_asks_for(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        waiting = sharing.fetch(ONE, asked(1, topic_id, min_bytes=2000, max_wait_ms=60_000))
        assert isinstance(waiting, Deferred)
        await produced(client, "t", batch([bytes(1000)]))
        assert not waiting.settled
        await produced(client, "t", batch([bytes(1000)]))
        assert await told(waiting) == [(0, 1, 1)]


@trio_test
async def test_when_the_wait_is_over_less_is_given(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await produced(client, "t", batch(2))
        await told(sharing.fetch(OTHER, asked(0, topic_id, max_records=0)))
        fetch = asked(0, topic_id, min_bytes=10_000, max_wait_ms=1_000)
        assert await told(sharing.fetch(ONE, fetch)) == [(0, 1, 1)]


@trio_test
async def test_a_fetch_that_has_a_partition_loaded_waits_no_longer_than_it_wants(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, _client, sharing, topic_id):
        began = trio.current_time()
        assert await told(sharing.fetch(ONE, asked(0, topic_id, max_wait_ms=200))) == []
        assert 0.15 < trio.current_time() - began < SETTLE_S / 2


@trio_test
async def test_whoever_has_gone_waits_no_longer(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        waiting = sharing.fetch(ONE, asked(1, topic_id, max_wait_ms=60_000))
        assert isinstance(waiting, Deferred)
        waiting.abandon()
        await produced(client, "t", batch(2))
        assert await told(sharing.fetch(OTHER, asked(0, topic_id))) == [(0, 1, 1)]


@trio_test
async def test_of_those_that_wait_the_first_is_served_first(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        for sharer in (ONE, OTHER):
            await told(sharing.fetch(sharer, asked(0, topic_id)))
        first = sharing.fetch(OTHER, asked(1, topic_id, max_wait_ms=60_000))
        second = sharing.fetch(ONE, asked(1, topic_id, max_wait_ms=60_000))
        assert isinstance(first, Deferred)
        assert isinstance(second, Deferred)
        await produced(client, "t", batch(2))
        await until(lambda: first.settled)
        assert not second.settled
        await produced(client, "t", batch(2))
        assert await told(second) == [(2, 3, 1)]


@trio_test
async def test_a_fetch_whose_member_has_come_again_is_given_nothing(tmp_path: Path) -> None:
    async with sharing_of(tmp_path) as (_, client, sharing, topic_id):
        await told(sharing.fetch(ONE, asked(0, topic_id)))
        old = sharing.fetch(ONE, asked(1, topic_id, min_bytes=1, max_wait_ms=60_000))
        assert isinstance(old, Deferred)
        new = sharing.fetch(ONE, asked(0, topic_id, max_wait_ms=60_000))
        assert await told(old) == []
        await produced(client, "t", batch(2))
        assert await told(new) == [(0, 1, 1)]
