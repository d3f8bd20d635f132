"""TxnOffsetCommit: offsets that count when the transaction commits."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.transacting import Producer, transacting

NOT_COORDINATOR, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE = 16, 47, 48


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
@trio_test
async def test_offsets_count_after_the_commit_in_every_version(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (door, producer):
        if version < 5:
            await producer.add_offsets()
        else:
            await producer.add_offsets("another, so that the topic is there")
        assert await producer.commit_offset(7, version) == 0
        groups = door.broker.node.groups
        machine = groups.runtime.machine(groups.internal_topics.shard_of("__consumer_offsets", "g"))
        assert [each.offset for each in machine.commits.fetch("g", [("t", 0)], require_stable=False)] == [-1]
        assert (await producer.end(version=5 if version == 5 else 4)).error_code == 0
        assert [each.offset for each in machine.commits.fetch("g", [("t", 0)], require_stable=True)] == [7]


@trio_test
async def test_without_the_groups_partition_in_the_transaction_older_versions_are_refused(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add_offsets("another, so that the topic is there")
        await producer.end()
        assert await producer.commit_offset(7, 4) == INVALID_TXN_STATE


@pytest.mark.parametrize("version", [4, 5])
@trio_test
async def test_an_older_instance_is_fenced(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add_offsets()
        newer = Producer(producer.client)
        await newer.take_over()
        assert await producer.commit_offset(7, version) == INVALID_PRODUCER_EPOCH


@trio_test
async def test_a_group_that_has_moved_is_looked_for_elsewhere(tmp_path: Path) -> None:
    """Only the transaction's coordinator may be anywhere: a client that is told to wait would wait for ever."""
    async with transacting(tmp_path) as (door, producer):
        await producer.add_offsets()
        groups = door.broker.node.groups
        groups.runtime.unload(groups.internal_topics.shard_of("__consumer_offsets", "g"), leader_epoch=9)
        assert await producer.commit_offset(7, 4) == NOT_COORDINATOR
