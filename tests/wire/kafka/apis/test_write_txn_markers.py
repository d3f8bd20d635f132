"""WriteTxnMarkers: an administrator ends what hangs."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.transacting import read, transacting
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH = 3, 47


def marker(producer_id: int, epoch: int, topics: list[WritableTxnMarkerTopic]) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id, epoch, False, topics, 0)])


@pytest.mark.parametrize("version", [1, 2])
@trio_test
async def test_a_marker_ends_the_transaction_of_a_partition(tmp_path: Path, version: int) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add()
        await producer.write()
        topics = [WritableTxnMarkerTopic("t", [0]), WritableTxnMarkerTopic("nowhere", [0])]
        answer = await producer.client.ask(marker(producer.producer_id, producer.epoch, topics), version)
        (result,) = answer.markers
        assert result.producer_id == producer.producer_id
        assert [each.partitions[0].error_code for each in result.topics] == [0, UNKNOWN_TOPIC_OR_PARTITION]
        assert (await read(producer.client)).last_stable_offset == 2


@trio_test
async def test_a_marker_of_an_older_epoch_is_refused(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        topics = [WritableTxnMarkerTopic("t", [0])]
        await producer.client.ask(marker(5, 3, topics))
        answer = await producer.client.ask(marker(5, 2, topics))
        assert answer.markers[0].topics[0].partitions[0].error_code == INVALID_PRODUCER_EPOCH


@trio_test
async def test_a_partition_named_twice_gets_one_marker(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add()
        await producer.write()
        request = marker(producer.producer_id, producer.epoch, [WritableTxnMarkerTopic("t", [0] * 200)] * 3)
        request.markers *= 2
        answer = await producer.client.ask(request)
        assert [[each.name for each in result.topics] for result in answer.markers] == [["t"]]
        assert (await read(producer.client)).last_stable_offset == 2
