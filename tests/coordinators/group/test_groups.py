"""The group coordinator on a broker: shards, deleted topics, restarts."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.group.requests import CommitRequest, FetchedOffset, JoinRequest, OffsetToCommit
from coordinators.topics import TopicSpec
from coordinators.waiting import result_of
from engine.errors import CoordinatorLoadInProgress, InvalidGroupId, InvalidSessionTimeout, NotCoordinator
from tests.wire.kafka.door import config
from tidegate.broker import Broker

SETTINGS: dict[str, object] = {"offsets.topic.num.partitions": 5}


async def ready(broker: Broker) -> None:
    await broker.node.controller.create_topics([TopicSpec("t", 2)])
    await broker.node.internal_topics.ensure(OFFSETS_TOPIC)


async def commit(broker: Broker, group: str, offset: int) -> None:
    topic_id = broker.node.topics.by_name["t"].topic_id
    offsets = (OffsetToCommit("t", 0, offset, topic_id=topic_id),)
    assert await result_of(broker.node.groups.commit(CommitRequest(group, "", -1, offsets))) == [None]


async def committed(broker: Broker, group: str) -> int:
    (found,) = await result_of(broker.node.groups.fetch_offsets(group, [("t", 0)]))
    return int(found.offset)


@trio_test
async def test_groups_of_every_shard_are_listed_and_counted(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        await ready(broker)
        names = {f"group-{number}" for number in range(20)}
        for name in names:
            await commit(broker, name, 1)
        assert {group.group_id for group in broker.node.groups.list_groups()} == names
        assert broker.node.groups.statistics()["offsets"] == 20


@trio_test
async def test_offsets_are_there_after_a_restart(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        await ready(broker)
        await commit(broker, "g", 42)
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        assert [found.offset for found in await _when_loaded(broker, "g")] == [42]


async def _when_loaded(broker: Broker, group: str) -> list[FetchedOffset]:
    while True:
        try:
            return await result_of(broker.node.groups.fetch_offsets(group, None))
        except CoordinatorLoadInProgress:
            await trio.lowlevel.checkpoint()


@trio_test
async def test_a_deleted_topic_is_forgotten(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        await ready(broker)
        await commit(broker, "g", 42)
        record = broker.node.topics.by_name["t"].record
        await broker.node.groups.forget_topics([record])
        assert await committed(broker, "g") == -1


@trio_test
async def test_without_its_topic_this_node_coordinates_nothing(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        groups = broker.node.groups
        with pytest.raises(NotCoordinator):
            await result_of(groups.describe("g"))
        with pytest.raises(NotCoordinator):
            groups.heartbeat("g", "m", None, 1)
        assert groups.list_groups() == []


@trio_test
async def test_what_is_refused_before_any_shard_is_asked(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        join = JoinRequest("", "", None, "c", "h", 10_000, 10_000, "consumer", (("range", b""),))
        with pytest.raises(InvalidGroupId):
            await result_of(broker.node.groups.join(join))
        short = JoinRequest("g", "", None, "c", "h", 1, 10_000, "consumer", (("range", b""),))
        with pytest.raises(InvalidSessionTimeout):
            await result_of(broker.node.groups.join(short))
