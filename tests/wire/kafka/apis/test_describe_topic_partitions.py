"""DescribeTopicPartitions: page after page until all is told once."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.requests import client_of_topic, create_topic
from wire.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, RequestCursor, TopicRequest

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_REQUEST = 3, 17, 42


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@trio_test
async def test_pages_together_hold_every_partition_once(tmp_path: Path, limit: int) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, _):
        await create_topic(client, "a", partitions=2)
        found: list[tuple[str, int]] = []
        cursor = None
        for _ in range(10):
            answer = await client.ask(DescribeTopicPartitionsRequest([], limit, cursor))
            page = [(topic.name, p.partition_index) for topic in answer.topics for p in topic.partitions]
            assert len(page) <= limit
            found += page
            if answer.next_cursor is None:
                break
            cursor = RequestCursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
        assert found == [("a", 0), ("a", 1), ("t", 0), ("t", 1), ("t", 2)]


@trio_test
async def test_what_does_not_exist_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        wanted = [TopicRequest("missing"), TopicRequest("a b"), TopicRequest("t")]
        answer = await client.ask(DescribeTopicPartitionsRequest(wanted))
        codes = {topic.name: topic.error_code for topic in answer.topics}
        assert codes == {"missing": UNKNOWN_TOPIC_OR_PARTITION, "a b": INVALID_TOPIC, "t": 0}


@trio_test
async def test_a_cursor_before_the_first_partition_is_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(DescribeTopicPartitionsRequest([], 10, RequestCursor("t", -1)))
        assert answer.topics[0].error_code == INVALID_REQUEST


@trio_test
async def test_a_cursor_past_the_end_gives_no_partitions(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(DescribeTopicPartitionsRequest([], 10, RequestCursor("t", 2**31 - 1)))
        assert [topic.partitions for topic in answer.topics] == [[]]
        assert answer.next_cursor is None
