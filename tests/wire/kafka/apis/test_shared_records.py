"""What share groups do with records that are not plain: transactions, expiry, lanes, delays, order by key, back-off."""

import time
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.share.sharing import Sharing
from tests.engine.stage.world import Record, client_batch
from tests.engine.stage.world import record as record_of
from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.requests import batch, produced
from tests.wire.kafka.sharing import ACCEPT, REJECT, RELEASE, ShareMember
from tests.wire.kafka.transacting import Producer

PATIENCE_MS = 10_000


def record(value: str, **options: Any) -> Record:
    return record_of(value, created_ms=int(time.time() * 1000), **options)


@trio_test
async def test_aborted_records_are_not_given_to_a_group_that_wants_committed_ones(tmp_path: Path) -> None:
    settings: dict[str, object] = {"transaction.state.log.num.partitions": 2}
    keys = {"share_isolation_level": "read_committed"}
    async with shared_topic(tmp_path, settings=settings, **keys) as (door, client, member):
        producer = Producer(await door.connect())
        await producer.init()
        await producer.add()
        for _ in range(3):
            await producer.write()
        assert await member.take() == []
        await member.send_fetch(max_wait_ms=PATIENCE_MS)
        await producer.end(commit=False)
        await producer.add()
        for _ in range(2):
            await producer.write()
        await producer.end(commit=True)
        member.epoch += 1
        answer = await member.client.receive()
        taken = [(a.first_offset, a.last_offset) for p in answer.responses[0].partitions for a in p.acquired_records]
        assert taken == [(4, 5)]
        await member.acknowledge([(4, 5, [ACCEPT])])
        await produced(client, "t", batch(1))
        assert await member.take(max_wait_ms=PATIENCE_MS) == [(7, 7, 1)]


@trio_test
async def test_without_isolation_aborted_records_are_given_too(tmp_path: Path) -> None:
    settings: dict[str, object] = {"transaction.state.log.num.partitions": 2}
    async with shared_topic(tmp_path, settings=settings) as (door, _, member):
        producer = Producer(await door.connect())
        await producer.init()
        await producer.add()
        for _ in range(3):
            await producer.write()
        await producer.end(commit=False)
        assert await member.take(max_wait_ms=PATIENCE_MS) == [(0, 2, 1)]


@trio_test
async def test_expired_records_are_not_delivered(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        await produced(client, "t", client_batch([record("a"), record("b", ttl=1), record("c", ttl=600_000)]))
        await trio.sleep(0.005)
        assert await member.take() == [(0, 0, 1), (2, 2, 1)]
        await member.acknowledge([(0, 0, [ACCEPT]), (2, 2, [ACCEPT])])
        statistics = door.broker.node.services[Sharing].statistics()
        assert (statistics["expired"], statistics["available"]) == (1, 0)


@pytest.mark.parametrize("codec", [1, 3])
@trio_test
async def test_expired_records_of_compressed_batches_are_not_delivered(tmp_path: Path, codec: int) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", client_batch([record("a"), record("b", expires_at=1)], codec=codec))
        assert await member.take() == [(0, 0, 1)]


@trio_test
async def test_delayed_records_are_given_when_they_are_due(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", client_batch([record("a", delay=50)]))
        assert await member.take(max_wait_ms=PATIENCE_MS) == [(0, 0, 1)]


@trio_test
async def test_records_in_lanes_are_given_by_their_priority(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await member.take()
        for value, priority in (("a", "low"), ("b", "critical")):
            await produced(client, "t", client_batch([record(value, priority=priority)]))
        answer = await member.fetch(max_wait_ms=PATIENCE_MS)
        records = bytes(answer.responses[0].partitions[0].records)
        assert records.index(b"b") < records.rindex(b"a")
        await member.send_fetch(max_wait_ms=PATIENCE_MS)
        await produced(client, "t", client_batch([record("c", priority="high")]))
        assert (await member.client.receive()).responses[0].partitions[0].acquired_records[0].first_offset == 2


@trio_test
async def test_a_group_may_want_some_lanes_only(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, share_priority_lanes="critical,high") as (_, client, member):
        for value, priority in (("a", "low"), ("b", "critical"), ("c", "normal"), ("d", "high")):
            await produced(client, "t", client_batch([record(value, priority=priority)]))
        taken: list[Any] = []
        while len(taken) < 2:
            for first, last, _ in await member.take(max_wait_ms=PATIENCE_MS):
                taken += range(first, last + 1)
                await member.acknowledge([(first, last, [ACCEPT])])
        assert await member.take() == []


@trio_test
async def test_a_key_is_given_in_order(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, share_order="key") as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        await produced(
            client, "t", client_batch([record(v, key=k) for v, k in (("1", b"x"), ("2", b"x"), ("3", b"y"))])
        )
        await produced(client, "t", client_batch([record("4", key=None), record("5", key=b"y")]))
        assert await one.take() == [(0, 0, 1), (2, 2, 1), (3, 3, 1)]
        assert await other.take() == []
        await one.acknowledge([(0, 0, [RELEASE])])
        assert await other.take() == [(0, 0, 2)]
        await other.acknowledge([(0, 0, [ACCEPT])])
        assert await other.take() == [(1, 1, 1)]
        await one.acknowledge([(2, 3, [ACCEPT])])
        assert await one.take() == [(4, 4, 1)]
        await other.acknowledge([(1, 1, [ACCEPT])])
        await one.acknowledge([(4, 4, [ACCEPT])])
        await produced(client, "t", client_batch([record("6", key=b"x"), record("7", key=b"x")]))
        assert await one.take(max_wait_ms=PATIENCE_MS) == [(5, 5, 1)]


@trio_test
async def test_released_records_come_back_after_their_time(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, share_retry_backoff_ms=300) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take()
        began = trio.current_time()
        await member.acknowledge([(0, 0, [RELEASE]), (1, 1, [ACCEPT])])
        assert await member.take() == []
        await produced(client, "t", batch(1))
        assert await member.take(max_wait_ms=PATIENCE_MS) == [(2, 2, 1)]
        assert await member.take(max_wait_ms=PATIENCE_MS) == [(0, 0, 2)]
        assert trio.current_time() - began >= 0.3


@trio_test
async def test_what_was_deleted_is_not_delivered_again(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        for _ in range(3):
            await produced(client, "t", batch(2))
        assert await member.take() == [(0, 5, 1)]
        await member.acknowledge([(0, 5, [RELEASE, RELEASE, RELEASE, RELEASE, RELEASE, REJECT])])
        partition = door.broker.node.partitions.get(member.topic_id, 0)
        assert partition is not None
        await partition_start(door, partition, 3)
        assert await member.take() == [(3, 4, 2)]


async def partition_start(door: Any, partition: Any, offset: int) -> None:
    done = trio.Event()
    partition.delete_records(offset).when_settled(lambda _: done.set(), lambda _: done.set())
    with trio.fail_after(5):
        await done.wait()
