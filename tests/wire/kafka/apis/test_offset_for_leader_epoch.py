"""OffsetForLeaderEpoch: where an epoch ended."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_LEADER_EPOCH = 3, 75


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(OffsetForLeaderPartition(0, -1, 0), (0, 0, 4), id="current"),
        pytest.param(OffsetForLeaderPartition(0, 0, 5), (0, -1, -1), id="not-yet"),
        pytest.param(OffsetForLeaderPartition(0, 1, 0), (UNKNOWN_LEADER_EPOCH, -1, -1), id="newer-metadata"),
        pytest.param(OffsetForLeaderPartition(7, -1, 0), (UNKNOWN_TOPIC_OR_PARTITION, -1, -1), id="no-partition"),
    ],
)
@trio_test
async def test_the_end_of_an_epoch(
    tmp_path: Path, wanted: OffsetForLeaderPartition, expected: tuple[int, int, int]
) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch(4))
        answer = await client.ask(OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", [wanted])]))
        entry = answer.topics[0].partitions[0]
        assert (entry.error_code, entry.leader_epoch, entry.end_offset) == expected
