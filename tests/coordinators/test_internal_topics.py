"""Topics of the broker's own: which shard a key belongs to, when the topic is made, loaded and given up."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.cluster.controller import ClusterController
from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.internal_topics import java_hash
from coordinators.topics import TopicSpec
from coordinators.waiting import result_of
from engine.clock import ManualClock
from engine.errors import CoordinatorNotAvailable, NotCoordinator, StorageError
from tests.wire.kafka.door import config, open_door
from tests.wire.kafka.requests import BY_NAME, batch, produce
from tidegate.broker import Broker
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

INVALID_TOPIC = 17
SETTINGS: dict[str, object] = {"offsets.topic.num.partitions": 7}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        # A surrogate pair counts as two units; a negative hash loses its sign.
        ("\U0001f600", 1772899),
        ("polygenelubricants", 0),
    ],
)
def test_the_hash_is_javas(text: str, value: int) -> None:
    assert java_hash(text) == value


@trio_test
async def test_the_topic_is_made_once_as_configured(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        internal = broker.node.internal_topics
        assert internal.is_missing(OFFSETS_TOPIC)
        with pytest.raises(NotCoordinator):
            internal.shard_of(OFFSETS_TOPIC, "g")
        await internal.ensure(OFFSETS_TOPIC)
        await internal.ensure(OFFSETS_TOPIC)
        topic = broker.node.topics.by_name[OFFSETS_TOPIC]
        assert (topic.partition_count, topic.config["cleanup.policy"]) == (7, ("compact",))
        assert internal.shard_of(OFFSETS_TOPIC, "g") == ord("g") % 7


@trio_test
async def test_a_deleted_topic_is_coordinated_no_longer(tmp_path: Path) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        await broker.node.internal_topics.ensure(OFFSETS_TOPIC)
        assert await result_of(broker.node.groups.fetch_offsets("g", None)) == []
        await broker.node.controller.delete_topics([OFFSETS_TOPIC])
        with pytest.raises(NotCoordinator):
            await result_of(broker.node.groups.fetch_offsets("g", None))
        await broker.node.internal_topics.ensure(OFFSETS_TOPIC)
        assert await result_of(broker.node.groups.fetch_offsets("g", None)) == []


@trio_test
async def test_the_topic_is_made_alike_whoever_asks_for_it(tmp_path: Path) -> None:
    async with open_door(tmp_path, SETTINGS) as door:
        request = MetadataRequest([MetadataRequestTopic(name=OFFSETS_TOPIC)], allow_auto_topic_creation=True)
        (topic,) = (await (await door.connect()).ask(request)).topics
        assert (topic.is_internal, len(topic.partitions)) == (True, 7)
        assert door.broker.node.topics.by_name[OFFSETS_TOPIC].config["cleanup.policy"] == ("compact",)


@trio_test
async def test_clients_do_not_write_to_it(tmp_path: Path) -> None:
    async with open_door(tmp_path, SETTINGS) as door:
        await door.broker.node.internal_topics.ensure(OFFSETS_TOPIC)
        answer = await (await door.connect()).ask(produce(OFFSETS_TOPIC, batch(1)), BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == INVALID_TOPIC


@trio_test
async def test_a_topic_that_cannot_be_made_is_not_tried_for_every_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Broker(config(tmp_path, SETTINGS)) as broker:
        internal, clock = broker.node.internal_topics, ManualClock()
        broker.node.partitions.clock = clock
        tries: list[TopicSpec] = []

        async def create_topics(specs: Sequence[TopicSpec]) -> tuple[StorageError]:
            tries.extend(specs)
            return (StorageError("the disk is full"),)

        monkeypatch.setattr(ClusterController, "create_topics", lambda _, specs: create_topics(specs))
        for _ in range(100):
            with pytest.raises(CoordinatorNotAvailable, match=f"{OFFSETS_TOPIC} cannot be made: the disk is full"):
                await internal.ensure(OFFSETS_TOPIC)
            clock.advance_ms(100)
        assert len(tries) == 10
        assert caplog.text.count("cannot be made") == 1
        monkeypatch.undo()
        clock.advance_ms(1000)
        await internal.ensure(OFFSETS_TOPIC)
