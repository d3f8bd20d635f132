"""EndTxn: a transaction is seen whole or not at all."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.transacting import Producer, read, transacting

INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, PRODUCER_FENCED = 47, 48, 90


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
@trio_test
async def test_a_commit_shows_everything_in_every_version(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add()
        await producer.write(b"one")
        assert not (await read(producer.client)).records
        answer = await producer.end(version=version)
        assert answer.error_code == 0
        found = await read(producer.client)
        assert b"one" in bytes(found.records)
        assert (found.last_stable_offset, found.high_watermark, found.aborted_transactions) == (2, 2, [])


@trio_test
async def test_version_5_tells_the_next_epoch(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        for epoch in (1, 2, 3):
            await producer.write(version=12)
            answer = await producer.end(version=5)
            assert (answer.producer_id, answer.producer_epoch) == (producer.producer_id, epoch)


@trio_test
async def test_an_abort_names_what_is_to_be_hidden(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add()
        await producer.write(b"lost")
        assert (await producer.end(commit=False)).error_code == 0
        found = await read(producer.client)
        (aborted,) = found.aborted_transactions
        assert (aborted.producer_id, aborted.first_offset) == (producer.producer_id, 0)
        assert (await read(producer.client, committed=False)).aborted_transactions is None


@trio_test
async def test_what_was_not_begun_cannot_be_ended(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        assert (await producer.end()).error_code == INVALID_TXN_STATE


@pytest.mark.parametrize(("version", "code"), [(1, INVALID_PRODUCER_EPOCH), (2, PRODUCER_FENCED), (5, PRODUCER_FENCED)])
@trio_test
async def test_an_older_instance_is_fenced_with_the_code_it_knows(tmp_path: Path, version: int, code: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add()
        await producer.write()
        newer = Producer(producer.client)
        await newer.take_over()
        assert (await producer.end(version=version)).error_code == code
        assert len((await read(producer.client)).aborted_transactions) == 1
