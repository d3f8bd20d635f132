"""A node that holds some partitions and leads some of those: what it is asked about the others it answers with who
leads them."""

from pathlib import Path
from typing import Any

import trio
from attrs import define, evolve
from trio.testing import trio_test

from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.internal_topics import java_hash
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.records import CONTROLLER, ControllerRecord, NodeRecord
from tests.coordinators.cluster.nodes import place
from tests.wire.kafka.door import Client, Door, open_door
from tests.wire.kafka.requests import batch, create_topic, fetch, fetched, produce, produced
from tests.wire.kafka.sharing import ShareMember
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from wire.kafka.messages.describe_cluster import DescribeClusterRequest
from wire.kafka.messages.describe_producers import DescribeProducersRequest, TopicRequest
from wire.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from wire.kafka.messages.describe_topic_partitions import TopicRequest as DescribedTopic
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

HERE, ELSEWHERE, HELD = 0, 1, 2
"""Partitions of the topic `t`: led here, lying elsewhere, held here and led elsewhere."""
LEADER_NOT_AVAILABLE, NOT_LEADER, FENCED = 5, 6, 74
OTHER = NodeRecord(2, ("PLAINTEXT://other.example:9192",), "r2")
EPOCH = 1
"""The other node's, in both of its partitions."""


@define(eq=False)
class Cluster:
    """This node, and what the catalogue says of another that does not run."""

    door: Door
    client: Client
    topic: Any

    @classmethod
    async def begin(cls, door: Door) -> "Cluster":
        client = await door.connect()
        await create_topic(client, "t", 3)
        cluster = cls(door, client, door.broker.node.topics.by_name["t"])
        cluster.catalogue.commit(Commit((), (Put(OTHER.key, OTHER.encode()),)))
        cluster.place(ELSEWHERE, replicas=(2,), isr=(2,), leader=2)
        cluster.place(HELD, replicas=(2, 1), isr=(2, 1), leader=2)
        await cluster.follow()
        return cluster

    @property
    def catalogue(self) -> Any:
        return self.door.broker.node.controller.replicas.catalogue

    def place(self, index: int, **row: object) -> None:
        place(self.catalogue, self.topic, index, **row)

    async def follow(self) -> None:
        """Until everything that was committed is in force."""
        await self.door.broker.node.controller.replicas.in_force(self.catalogue.revision())


@trio_test
async def test_clients_are_told_of_all_nodes_and_leaders(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"broker.rack": "r1"}) as door:
        cluster = await Cluster.begin(door)
        port = int(door.broker.kafka_address.rpartition(":")[2])
        nodes = [(1, "127.0.0.1", port, "r1"), (2, "other.example", 9192, "r2")]
        answer = await cluster.client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        assert [(each.node_id, each.host, each.port, each.rack) for each in answer.brokers] == nodes
        found = [(each.leader_id, each.leader_epoch, each.replica_nodes) for each in answer.topics[0].partitions]
        assert found == [(1, 0, [1]), (2, EPOCH, [2]), (2, EPOCH, [2, 1])]
        described = await cluster.client.ask(DescribeClusterRequest())
        assert [(each.broker_id, each.host, each.port, each.rack) for each in described.brokers] == nodes


@trio_test
async def test_a_leader_that_nothing_is_known_of_is_not_named(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        cluster.place(HERE, replicas=(3, 1), isr=(3,), leader=3)
        await cluster.follow()
        answer = await cluster.client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        (led,) = [each for each in answer.topics[0].partitions if each.partition_index == HERE]
        assert (led.error_code, led.leader_id, led.offline_replicas) == (LEADER_NOT_AVAILABLE, -1, [3])


@trio_test
async def test_a_node_that_is_fenced_leads_nothing_and_is_described_only_to_who_asks_for_it(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        fenced = evolve(OTHER, fenced=True)
        cluster.catalogue.commit(Commit((), (Put(OTHER.key, fenced.encode()),)))
        await cluster.follow()
        answer = await cluster.client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        # librdkafka gives up what it waits for at a node that is not named any more: it served until a moment ago.
        assert [each.node_id for each in answer.brokers] == [1, 2]
        assert [each.leader_id for each in answer.topics[0].partitions] == [1, -1, -1]
        for is_wanted, expected in ((False, [(1, False)]), (True, [(1, False), (2, True)])):
            described = await cluster.client.ask(DescribeClusterRequest(include_fenced_brokers=is_wanted))
            assert [(each.broker_id, each.is_fenced) for each in described.brokers] == expected


@trio_test
async def test_partitions_are_described_with_those_that_are_away_and_those_that_could_lead(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        cluster.place(HERE, replicas=(3, 1, 2), isr=(1,), elr=(2,))
        cluster.place(HELD, replicas=(3, 1), isr=(3,), leader=3)
        await cluster.follow()
        answer = await cluster.client.ask(DescribeTopicPartitionsRequest([DescribedTopic("t")]))
        found = {each.partition_index: each for each in answer.topics[0].partitions}
        here, held = found[HERE], found[HELD]
        assert (here.replica_nodes, here.isr_nodes, here.leader_id) == ([3, 1, 2], [1], 1)
        assert (here.offline_replicas, here.eligible_leader_replicas, here.last_known_elr) == ([3], [2], [])
        assert (held.leader_id, held.offline_replicas, held.error_code) == (-1, [3], 0)


@trio_test
async def test_what_is_led_here_is_served_as_ever(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        assert (await produced(cluster.client, "t", batch(), partition=HERE)).error_code == 0
        assert (await fetched(cluster.client, "t", partition=HERE)).high_watermark == 1


@trio_test
async def test_a_producer_is_told_who_leads(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        for index in (ELSEWHERE, HELD):
            request = produce("t", batch(), partition=index)
            request.topic_data[0].topic_id = cluster.topic.topic_id
            answer = await cluster.client.ask(request)
            (entry,) = answer.responses[0].partition_responses
            assert entry.error_code == NOT_LEADER
            assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (2, EPOCH)
            (node,) = answer.node_endpoints
            assert (node.node_id, node.host, node.port, node.rack) == (2, "other.example", 9192, "r2")
            older = await cluster.client.ask(produce("t", batch(), partition=index), 9)
            assert older.responses[0].partition_responses[0].error_code == NOT_LEADER


@trio_test
async def test_a_consumer_is_told_who_leads(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        for index in (ELSEWHERE, HELD):
            answer = await cluster.client.ask(fetch("", partition=index, topic_id=cluster.topic.topic_id))
            (entry,) = answer.responses[0].partitions
            assert entry.error_code == NOT_LEADER
            assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (2, EPOCH)
            assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [
                (2, "other.example", 9192)
            ]


@trio_test
async def test_a_consumer_with_an_older_epoch_is_told_the_new_one(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        for leader in (2, 1):
            cluster.place(HERE, leader=leader)
        await cluster.follow()
        request = fetch("", partition=HERE, topic_id=cluster.topic.topic_id)
        request.topics[0].partitions[0].current_leader_epoch = 0
        answer = await cluster.client.ask(request)
        (entry,) = answer.responses[0].partitions
        hint = entry.current_leader
        assert (entry.error_code, hint.leader_id, hint.leader_epoch) == (FENCED, 1, 2)


@trio_test
async def test_whoever_waits_for_records_is_told_when_the_leader_resigns(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        request = fetch("", partition=HERE, topic_id=cluster.topic.topic_id, max_wait_ms=60_000)
        await cluster.client.send(request)
        partition = door.broker.node.partitions.get(cluster.topic.topic_id, HERE)
        assert partition is not None
        with trio.fail_after(20):
            while not partition.statistics()["watchers"]:
                await trio.lowlevel.checkpoint()
            cluster.place(HERE, replicas=(1, 2), isr=(1, 2), leader=2)
            answer = await cluster.client.receive()
        assert answer.responses[0].partitions[0].error_code == NOT_LEADER


@trio_test
async def test_every_request_about_a_partition_is_sent_to_its_leader(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        ask = cluster.client.ask
        for index in (ELSEWHERE, HELD):
            offsets = await ask(ListOffsetsRequest(topics=[ListOffsetsTopic("t", [ListOffsetsPartition(index)])]))
            assert offsets.topics[0].partitions[0].error_code == NOT_LEADER
            deletion = DeleteRecordsTopic("t", [DeleteRecordsPartition(index, 0)])
            deleted = await ask(DeleteRecordsRequest(topics=[deletion], timeout_ms=1000))
            assert deleted.topics[0].partitions[0].error_code == NOT_LEADER
            wanted = OffsetForLeaderTopic("t", [OffsetForLeaderPartition(index, leader_epoch=0)])
            ended = await ask(OffsetForLeaderEpochRequest(topics=[wanted]))
            assert ended.topics[0].partitions[0].error_code == NOT_LEADER
            producers = await ask(DescribeProducersRequest(topics=[TopicRequest("t", [index])]))
            assert producers.topics[0].partitions[0].error_code == NOT_LEADER


@trio_test
async def test_a_coordinator_is_the_leader_of_its_partition(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"offsets.topic.num.partitions": 2}) as door:
        cluster = await Cluster.begin(door)
        groups = {java_hash(name) % 2: name for name in ("g0", "g1")}
        for group in groups.values():
            found = await cluster.client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
            assert found.coordinators[0].node_id == 1
        topic = door.broker.node.topics.by_name[OFFSETS_TOPIC]
        place(cluster.catalogue, topic, 1, replicas=(2, 1), isr=(2, 1), leader=2)
        await cluster.follow()
        found = await cluster.client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[groups[0], groups[1]]))
        nodes = [(each.node_id, each.host) for each in found.coordinators]
        assert nodes == [(1, "127.0.0.1"), (2, "other.example")]
        runtime = door.broker.node.groups.runtime
        assert [index for index, _ in runtime.loaded()] == [0], "its shard went with the leadership"
        place(cluster.catalogue, topic, 1, leader=1)
        await cluster.follow()
        assert [index for index, _ in runtime.loaded()] == [0, 1]


@trio_test
async def test_clients_are_told_of_the_controller_and_not_of_fenced_nodes(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        entered = evolve(OTHER, epoch=5)
        controller = Put(CONTROLLER, ControllerRecord(OTHER.node_id, entered.epoch).encode())
        cluster.catalogue.commit(Commit((), (Put(OTHER.key, entered.encode()), controller)))
        await cluster.follow()
        answer: Any = await cluster.client.ask(DescribeClusterRequest())
        assert (answer.controller_id, len(answer.brokers)) == (2, 2)
        answer = await cluster.client.ask(MetadataRequest(topics=[]))
        assert (answer.controller_id, len(answer.brokers)) == (1, 2), "changes may be asked of any node: of this one"
        cluster.catalogue.commit(Commit((), (Put(OTHER.key, evolve(OTHER, fenced=True).encode()),)))
        await cluster.follow()
        answer = await cluster.client.ask(DescribeClusterRequest())
        assert (answer.controller_id, len(answer.brokers)) == (1, 1), "it is in a new life, and not in yet"


@trio_test
async def test_a_share_fetch_and_what_it_acknowledges_are_told_who_leads(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        cluster = await Cluster.begin(door)
        member = ShareMember(await door.connect(), cluster.topic.topic_id)
        for index in (ELSEWHERE, HELD):
            answer = await member.fetch(partitions=(index,), max_wait_ms=600_000)
            told = {each.partition_index: each for each in answer.responses[0].partitions}[index]
            assert (told.error_code, told.current_leader.leader_id, told.current_leader.leader_epoch) == (
                NOT_LEADER,
                2,
                EPOCH,
            )
            assert [(node.node_id, node.host) for node in answer.node_endpoints] == [(2, "other.example")]
            assert await member.acknowledge([(0, 0, [1])], partition=index) == NOT_LEADER
