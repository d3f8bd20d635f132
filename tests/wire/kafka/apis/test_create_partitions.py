"""CreatePartitions: more partitions, which can be used at once."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, fetched, produced
from wire.kafka.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)

UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS = 3, 37


@trio_test
async def test_new_partitions_are_served_and_old_ones_keep_their_records(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch(5))
        assignments = [CreatePartitionsAssignment([1]), CreatePartitionsAssignment([1])]
        answer = await client.ask(CreatePartitionsRequest(topics=[CreatePartitionsTopic("t", 3, assignments)]))
        assert answer.results[0].error_code == 0
        assert (await produced(client, "t", batch(), partition=2)).error_code == 0
        assert (await fetched(client, "t")).high_watermark == 5


@trio_test
async def test_each_topic_is_answered_for_itself(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        topics = [CreatePartitionsTopic("t", 1, None), CreatePartitionsTopic("missing", 2, None)]
        answer = await client.ask(CreatePartitionsRequest(topics=topics))
        assert [(entry.name, entry.error_code) for entry in answer.results] == [
            ("t", INVALID_PARTITIONS),
            ("missing", UNKNOWN_TOPIC_OR_PARTITION),
        ]


@trio_test
async def test_validate_only_adds_nothing(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = CreatePartitionsRequest(topics=[CreatePartitionsTopic("t", 2, None)], validate_only=True)
        assert (await client.ask(request)).results[0].error_code == 0
        assert (await produced(client, "t", batch(), partition=1)).error_code == UNKNOWN_TOPIC_OR_PARTITION
