"""AddOffsetsToTxn: the partition of a group's offsets becomes part of the transaction."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.transacting import Producer, transacting

INVALID_PRODUCER_EPOCH, PRODUCER_FENCED = 47, 90


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
@trio_test
async def test_offsets_are_added_in_every_version(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        assert await producer.add_offsets("g", version) == 0
        assert await producer.commit_offset(5, 4) == 0


@pytest.mark.parametrize(("version", "code"), [(1, INVALID_PRODUCER_EPOCH), (2, PRODUCER_FENCED)])
@trio_test
async def test_an_older_instance_is_fenced_with_the_code_it_knows(tmp_path: Path, version: int, code: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await Producer(producer.client).init()
        assert await producer.add_offsets("g", version) == code
