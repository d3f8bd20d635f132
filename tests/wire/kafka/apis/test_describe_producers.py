"""DescribeProducers: who wrote to a partition, as it remembers them."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.describe_producers import DescribeProducersRequest, TopicRequest

UNKNOWN_TOPIC_OR_PARTITION = 3


@trio_test
async def test_an_idempotent_producer_is_described(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch())
        await produced(client, "t", batch(3, producer_id=9, producer_epoch=2, base_sequence=0))
        answer = await client.ask(DescribeProducersRequest([TopicRequest("t", [0])]))
        (producer,) = answer.topics[0].partitions[0].active_producers
        assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (9, 2, 2)
        assert producer.current_txn_start_offset == -1


@trio_test
async def test_an_unknown_partition_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        wanted = [TopicRequest("t", [0, 1]), TopicRequest("missing", [0])]
        answer = await client.ask(DescribeProducersRequest(wanted))
        codes = [[partition.error_code for partition in topic.partitions] for topic in answer.topics]
        assert codes == [[0, UNKNOWN_TOPIC_OR_PARTITION], [UNKNOWN_TOPIC_OR_PARTITION]]


@trio_test
async def test_a_partition_named_twice_is_described_once(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(DescribeProducersRequest([TopicRequest("t", [0] * 500)] * 3))
        assert [[each.partition_index for each in topic.partitions] for topic in answer.topics] == [[0]]
