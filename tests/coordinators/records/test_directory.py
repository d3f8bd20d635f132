"""What a request names is found, and what is not there is told as Kafka tells it."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.records.directory import PartitionDirectory
from engine.errors import UnknownTopicId, UnknownTopicOrPartition
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import create_topic


@trio_test
async def test_topics_and_partitions_are_found_by_name_or_id_or_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        made = await create_topic(await door.connect(), "t", partitions=2)
        directory = door.broker.node.services[PartitionDirectory]
        assert directory.topic("t") is directory.topic(made.topic_id)
        assert directory.find("t", 1) is directory.find(made.topic_id, 1)
        with pytest.raises(UnknownTopicOrPartition):
            directory.topic("missing")
        with pytest.raises(UnknownTopicId):
            directory.topic(b"\1" * 16)
        for index in (-1, 2):
            with pytest.raises(UnknownTopicOrPartition):
                directory.find("t", index)
