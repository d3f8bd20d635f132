"""AlterPartitionReassignments: on one node there is nowhere to go, and that is said as Kafka says it."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from wire.kafka.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT = 3, 38, 39
NO_REASSIGNMENT_IN_PROGRESS = 85


@trio_test
async def test_a_partition_stays_where_it_is_and_goes_on(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("t", [ReassignablePartition(0, [1])])])
        answer = await client.ask(request)
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)
        assert (await client.ask(ListPartitionReassignmentsRequest(topics=None))).topics == []
        assert (await produced(client, "t", batch())).error_code == 0


@trio_test
async def test_each_partition_is_answered_for_itself(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=4) as (client, _):
        topics = [
            ReassignableTopic(
                "t",
                [
                    ReassignablePartition(0, [2]),
                    ReassignablePartition(1, None),
                    ReassignablePartition(2, [1, 1]),
                    ReassignablePartition(3, [1]),
                    ReassignablePartition(4, [1]),
                ],
            ),
            ReassignableTopic("missing", [ReassignablePartition(0, [1])]),
        ]
        answer = await client.ask(AlterPartitionReassignmentsRequest(topics=topics))
        assert [(topic.name, [each.error_code for each in topic.partitions]) for topic in answer.responses] == [
            (
                "t",
                [
                    INVALID_REPLICA_ASSIGNMENT,
                    NO_REASSIGNMENT_IN_PROGRESS,
                    INVALID_REPLICA_ASSIGNMENT,
                    0,
                    UNKNOWN_TOPIC_OR_PARTITION,
                ],
            ),
            ("missing", [UNKNOWN_TOPIC_OR_PARTITION]),
        ]
        assert "broker 2, but no such broker is registered" in answer.responses[0].partitions[0].error_message


@trio_test
async def test_a_request_about_very_many_partitions_is_answered_in_its_order(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=250) as (client, _):
        partitions = [ReassignablePartition(index, [1] if index % 2 else None) for index in range(250)]
        answer = await client.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("t", partitions)]))
        found = [(each.partition_index, each.error_code) for each in answer.responses[0].partitions]
        assert found == [(index, 0 if index % 2 else NO_REASSIGNMENT_IN_PROGRESS) for index in range(250)]
