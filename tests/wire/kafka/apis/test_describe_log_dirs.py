"""DescribeLogDirs: the data directory, its partitions and its disk."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest


@trio_test
async def test_partitions_are_told_with_their_sizes(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        records = batch()
        await produced(client, "t", records, partition=1)
        (result,) = (await client.ask(DescribeLogDirsRequest(topics=None))).results
        assert result.log_dir == str(tmp_path)
        assert result.total_bytes >= result.usable_bytes > 0
        (topic,) = result.topics
        sizes = {partition.partition_index: partition.partition_size for partition in topic.partitions}
        assert sizes == {0: 0, 1: len(records)}


@trio_test
async def test_only_what_is_asked_for_and_exists_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        wanted = [DescribableLogDirTopic("t", [1, 7]), DescribableLogDirTopic("missing", [0])]
        (result,) = (await client.ask(DescribeLogDirsRequest(topics=wanted))).results
        assert [(topic.name, [p.partition_index for p in topic.partitions]) for topic in result.topics] == [("t", [1])]
