"""Metadata: nodes, topics, and topics made by asking for them."""

from pathlib import Path

import pytest
from attrs import evolve
from trio.testing import trio_test

from coordinators.topic_creation import TopicSpec
from engine.catalogue.records import NodeRecord
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import client_of_topic
from wire.kafka.authorized_operations import TOPIC_OPERATIONS
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, UNKNOWN_TOPIC_ID = 3, 17, 100


def _of(*names: str, create: bool = False) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create)


@trio_test
async def test_the_node_is_described_with_the_address_that_clients_reach(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"broker.rack": "r1", "node.id": 7}) as door:
        answer = await (await door.connect()).ask(MetadataRequest(topics=[]))
        (broker,) = answer.brokers
        assert (broker.node_id, f"{broker.host}:{broker.port}", broker.rack) == (7, door.broker.kafka_address, "r1")
        assert answer.controller_id == 7
        assert len(answer.cluster_id) == 22


@trio_test
async def test_without_a_rack_none_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await client.ask(MetadataRequest(topics=[]))).brokers[0].rack is None


@trio_test
async def test_a_topic_is_described_by_name_and_by_id(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, topic_id):
        (by_name,) = (await client.ask(_of("t"))).topics
        (by_id,) = (await client.ask(MetadataRequest([MetadataRequestTopic(topic_id)]))).topics
        assert by_name == by_id
        assert (by_name.name, by_name.topic_id) == ("t", topic_id)
        assert [(p.partition_index, p.leader_id, p.isr_nodes) for p in by_name.partitions] == [
            (index, 1, [1]) for index in range(3)
        ]


@pytest.mark.parametrize(("version", "topics", "expected"), [(0, [], ["t"]), (1, None, ["t"]), (1, [], [])])
@trio_test
async def test_what_stands_for_all_topics_depends_on_the_version(
    tmp_path: Path, version: int, topics: list[MetadataRequestTopic] | None, expected: list[str]
) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await client.ask(MetadataRequest(topics=topics), version)
        assert [topic.name for topic in answer.topics] == expected


@trio_test
async def test_a_missing_topic_is_made_where_broker_and_client_allow_it(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"num.partitions": 4}) as door:
        client = await door.connect()
        assert (await client.ask(_of("new"))).topics[0].error_code == UNKNOWN_TOPIC_OR_PARTITION
        (made,) = (await client.ask(_of("new", create=True))).topics
        assert (made.error_code, len(made.partitions)) == (0, 4)


@trio_test
async def test_no_topic_is_made_where_the_broker_forbids_it(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"auto.create.topics.enable": False}) as door:
        (refused,) = (await (await door.connect()).ask(_of("new", create=True))).topics
        assert refused.error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["a/b", "..", "x" * 250])
@trio_test
async def test_an_illegal_name_is_told_and_not_made(tmp_path: Path, name: str) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await client.ask(_of(name, create=True))).topics[0].error_code == INVALID_TOPIC
        assert [topic.name for topic in (await client.ask(MetadataRequest(topics=None))).topics] == ["t"]


@trio_test
async def test_an_unknown_id_is_told_without_a_name(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        (topic,) = (await client.ask(MetadataRequest([MetadataRequestTopic(b"\1" * 16)]))).topics
        assert (topic.error_code, topic.name, topic.topic_id) == (UNKNOWN_TOPIC_ID, None, b"\1" * 16)


@trio_test
async def test_allowed_operations_are_told_to_who_asks(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = _of("t")
        assert (await client.ask(request)).topics[0].topic_authorized_operations == -(2**31)
        request.include_topic_authorized_operations = True
        assert (await client.ask(request)).topics[0].topic_authorized_operations == TOPIC_OPERATIONS


@trio_test
async def test_the_topic_of_trace_events_is_internal_among_all_and_not_by_its_name(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await door.broker.node.controller.create_topics([TopicSpec("__trace_events", 1)])
        (among_all,) = (await client.ask(MetadataRequest(topics=None))).topics
        (by_name,) = (await client.ask(_of("__trace_events"))).topics
        assert (among_all.is_internal, by_name.is_internal) == (True, False)


@trio_test
async def test_a_topic_named_twice_by_its_id_is_described_once(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        wanted = [MetadataRequestTopic(topic_id=topic_id, name=f"n{number}") for number in range(5)]
        (topic,) = (await client.ask(MetadataRequest(topics=wanted))).topics
        assert topic.name == "t"


@pytest.mark.parametrize(("version", "code"), [(5, 5), (6, 72), (13, 72)])
@trio_test
async def test_a_leader_without_the_listener_of_the_client_is_told_as_such(
    tmp_path: Path, version: int, code: int
) -> None:
    async with open_door(tmp_path, {}) as door:
        client, node = await door.connect(), door.broker.node
        await node.controller.create_topics([TopicSpec("t", 1)])
        topic = node.topics.by_name["t"]
        node.topics.by_name["t"] = evolve(topic, partitions=(evolve(topic.partitions[0], leader=2),))
        node.controller.replicas.nodes.by_id[2] = NodeRecord(2, ("NODES://127.0.0.1:1",))
        answer = await client.ask(_of("t"), version)
        assert [broker.node_id for broker in answer.brokers] == [1]
        (partition,) = answer.topics[0].partitions
        assert (partition.leader_id, partition.error_code) == (-1, code)
        node.controller.replicas.nodes.by_id[2] = NodeRecord(2, ("NODES://127.0.0.1:1", "PLAINTEXT://127.0.0.1:2"))
        answer = await client.ask(_of("t"), version)
        assert [broker.port for broker in answer.brokers][1:] == [2]
        assert answer.topics[0].partitions[0].leader_id == 2
