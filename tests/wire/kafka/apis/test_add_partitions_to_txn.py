"""AddPartitionsToTxn: all partitions or none."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.transacting import Producer, transacting

UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING = 3, 47, 49
OPERATION_NOT_ATTEMPTED, PRODUCER_FENCED = 55, 90


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@trio_test
async def test_partitions_are_added_in_every_version(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        assert await producer.add({"t": [0, 1]}, version) == {("t", 0): 0, ("t", 1): 0}
        assert (await producer.write()).error_code == 0


@trio_test
async def test_one_that_does_not_exist_keeps_all_out(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        assert await producer.add({"t": [0, 7], "nowhere": [0]}) == {
            ("t", 0): OPERATION_NOT_ATTEMPTED,
            ("t", 7): UNKNOWN_TOPIC_OR_PARTITION,
            ("nowhere", 0): UNKNOWN_TOPIC_OR_PARTITION,
        }


@pytest.mark.parametrize(("version", "code"), [(1, INVALID_PRODUCER_EPOCH), (2, PRODUCER_FENCED)])
@trio_test
async def test_an_older_instance_is_fenced_with_the_code_it_knows(tmp_path: Path, version: int, code: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await Producer(producer.client).init()
        assert await producer.add(version=version) == {("t", 0): code}


@trio_test
async def test_an_unknown_transactional_id_has_no_producer(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        stranger = Producer(producer.client, "stranger", 0, 0)
        assert await stranger.add() == {("t", 0): INVALID_PRODUCER_ID_MAPPING}
