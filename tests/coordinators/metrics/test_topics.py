"""Figures of topics: what goes in and out, bounded in number, never going back."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.topics import TopicMetrics
from engine.errors import StorageError
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.door import Door, open_door
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def metrics_of(door: Door, topics: int = 10, partitions: int = 10) -> TopicMetrics:
    node = door.broker.node
    return TopicMetrics(node.topics, node.partitions, topics, partitions)


def scraped(metrics: TopicMetrics) -> Scrape:
    return collected(metrics.collect())


@trio_test
async def test_records_and_bytes_are_told_by_topic(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        await create_topic(client, "t", 2)
        for partition in (0, 1):
            await produced(client, "t", batch(3), partition=partition)
        taken = await fetched(client, "t")
        assert taken.records is not None
        found = scraped(metrics)
        assert found("tidegate_topic_received_records_total", topic="t") == 6
        assert found("tidegate_topic_received_batches_total", topic="t") == 2
        assert found("tidegate_topic_received_bytes_total", topic="t") == 2 * len(batch(3))
        assert found("tidegate_topic_sent_records_total", topic="t") == 3
        assert found("tidegate_topic_sent_bytes_total", topic="t") == len(taken.records)
        assert found("tidegate_topic_partitions", topic="t") == 2


@trio_test
async def test_offsets_and_sizes_are_told_by_partition(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door)
        made = await create_topic(client, "t", 2)
        await produced(client, "t", batch(3), partition=1)
        found = scraped(metrics)
        ends = [found("tidegate_partition_end_offset", topic="t", partition=str(index)) for index in (0, 1)]
        assert ends == [0, 3]
        assert found("tidegate_partition_start_offset", topic="t", partition="1") == 0
        assert found("tidegate_partition_size_bytes", topic="t", partition="1") == len(batch(3))
        assert found("tidegate_log_size_bytes") == len(batch(3))
        assert (found("tidegate_topics"), found("tidegate_partitions")) == (1, 2)
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        partition.offline = StorageError("broken")
        assert scraped(metrics)("tidegate_partitions_offline") == 1
        partition.offline = None


@trio_test
async def test_topics_beyond_the_limit_are_summed(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door, topics=1)
        for number, name in enumerate(("a", "b", "c")):
            await create_topic(client, name)
            await produced(client, name, batch(number + 1))
        found = scraped(metrics)
        assert found.labels("tidegate_topic_received_records_total", "topic") == {"a", "other"}
        assert found("tidegate_topic_received_records_total", topic="other") == 5
        assert found("tidegate_metrics_topics_left_out") == 2
        assert found("tidegate_metrics_partitions_left_out") == 2


@trio_test
async def test_the_sum_of_the_others_does_not_fall_when_one_is_deleted(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door, topics=0)
        for name in ("a", "b"):
            await create_topic(client, name)
            await produced(client, name, batch(2))
        scraped(metrics)
        await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="a")], timeout_ms=10_000))
        assert scraped(metrics)("tidegate_topic_received_records_total", topic="other") == 4
        await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="b")], timeout_ms=10_000))
        assert scraped(metrics)("tidegate_topic_received_records_total", topic="other") == 4


@trio_test
async def test_partitions_beyond_the_limit_have_no_series(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, metrics = await door.connect(), metrics_of(door, partitions=3)
        await create_topic(client, "t", 5)
        found = scraped(metrics)
        assert found.labels("tidegate_partition_end_offset", "partition") == {"0", "1", "2"}
        assert found("tidegate_metrics_partitions_left_out") == 2
