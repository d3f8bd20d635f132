"""`tidegate.v1.Admin`: the cluster and its topics."""

from typing import Any, Final

from coordinators.cluster.nodes import Nodes
from engine.errors import InvalidRequest, UnknownTopicOrPartition
from wire.grpc.asking import DOOR, check, only
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import admin_pb2
from wire.grpc.methods import GrpcMethod
from wire.inner.asking import InnerClient
from wire.inner.reading import EARLIEST, LATEST, RecordReading
from wire.kafka.calls import Guest
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from wire.kafka.messages.describe_cluster import DescribeClusterRequest
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

TIMEOUT_MS: Final = 30_000
TOPIC_RESOURCE: Final = 2
TOPIC_SOURCE: Final = 1
"""Of a setting that was set for the topic itself."""
SET, DELETE = 0, 1


async def describe_cluster(call: GrpcCall[admin_pb2.DescribeClusterRequest], inner: InnerClient, nodes: Nodes) -> None:
    """The nodes that serve, and where Kafka's clients reach them."""
    await call.only()
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        found = await inner.ask(guest, DescribeClusterRequest())
    check(found, "the cluster")
    rows = [nodes.by_id[each.broker_id] for each in found.brokers if each.broker_id in nodes.by_id]
    told = [admin_pb2.Node(id=row.node_id, listeners=row.listeners, rack=row.rack or "") for row in rows]
    await call.send(
        admin_pb2.ClusterDescription(cluster_id=found.cluster_id, controller_id=found.controller_id, nodes=told)
    )


async def create_topic(call: GrpcCall[admin_pb2.CreateTopicRequest], inner: InnerClient) -> None:
    """Make a topic."""
    request = await call.only()
    wanted = CreatableTopic(
        request.topic,
        request.partitions or -1,
        request.replication_factor or -1,
        configs=[CreatableTopicConfig(name, value) for name, value in request.configs.items()],
    )
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        found = await inner.ask(guest, CreateTopicsRequest([wanted], TIMEOUT_MS))
    made = only(found.topics)
    check(made, request.topic)
    await call.send(admin_pb2.CreateTopicResponse(partitions=made.num_partitions))


async def list_topics(call: GrpcCall[admin_pb2.ListTopicsRequest], inner: InnerClient) -> None:
    """Those that the caller may know of."""
    request = await call.only()
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        found = await inner.ask(guest, MetadataRequest(None))
    await call.send(
        admin_pb2.ListTopicsResponse(
            topics=[
                admin_pb2.TopicSummary(name=each.name, partitions=len(each.partitions), internal=each.is_internal)
                for each in sorted(found.topics, key=lambda topic: topic.name)
                if request.internal or not each.is_internal
            ]
        )
    )


async def describe_topic(
    call: GrpcCall[admin_pb2.DescribeTopicRequest], inner: InnerClient, reading: RecordReading
) -> None:
    """Its partitions, where they begin and end, and what was set for it."""
    name = (await call.only()).topic
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        wanted = [MetadataRequestTopic(name=name)]
        found = await inner.ask(guest, MetadataRequest(wanted, allow_auto_topic_creation=False))
        topic = only(found.topics)
        described = list(topic.partitions)
        if topic.error_code:
            raise UnknownTopicOrPartition(f"there is no topic {name!r}, or you may not know of it")
        ends = [await _ends(guest, reading, name, each) for each in described]
        configs = await _configs(guest, inner, name)
    partitions = [
        admin_pb2.PartitionDescription(
            partition=each.partition_index,
            leader=each.leader_id,
            replicas=each.replica_nodes,
            in_sync=each.isr_nodes,
            start_offset=start,
            end_offset=end,
        )
        for each, (start, end) in zip(described, ends, strict=True)
    ]
    partitions.sort(key=lambda each: each.partition)
    await call.send(admin_pb2.TopicDescription(name=name, partitions=partitions, configs=configs))


async def _ends(guest: Guest, reading: RecordReading, topic: str, partition: Any) -> tuple[int, int]:
    if partition.leader_id < 0:
        return -1, -1
    number = partition.partition_index
    start = await reading.offsets(guest, topic, {number: EARLIEST}, committed=False)
    end = await reading.offsets(guest, topic, {number: LATEST}, committed=False)
    return start[number], end[number]


async def _configs(guest: Guest, inner: InnerClient, topic: str) -> dict[str, str]:
    wanted = DescribeConfigsResource(TOPIC_RESOURCE, topic, None)
    found = await inner.ask(guest, DescribeConfigsRequest([wanted]))
    described = only(found.results)
    check(described, topic)
    return {each.name: each.value or "" for each in described.configs if each.config_source == TOPIC_SOURCE}


async def alter_topic(call: GrpcCall[admin_pb2.AlterTopicRequest], inner: InnerClient) -> None:
    """More partitions, other settings; the settings first, for they can be refused."""
    request = await call.only()
    if not request.topic:
        raise InvalidRequest("the request names no topic")
    changes = [AlterableConfig(name, SET, value) for name, value in request.set_configs.items()]
    changes += [AlterableConfig(name, DELETE) for name in request.delete_configs]
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        if changes:
            resource = AlterConfigsResource(TOPIC_RESOURCE, request.topic, changes)
            altered = await inner.ask(guest, IncrementalAlterConfigsRequest([resource]))
            check(only(altered.responses), request.topic)
        if request.partitions:
            wanted = CreatePartitionsTopic(request.topic, request.partitions, None)
            grown = await inner.ask(guest, CreatePartitionsRequest([wanted], TIMEOUT_MS))
            check(only(grown.results), request.topic)
    await call.send(admin_pb2.AlterTopicResponse())


async def delete_topic(call: GrpcCall[admin_pb2.DeleteTopicRequest], inner: InnerClient) -> None:
    """With all that is in it."""
    name = (await call.only()).topic
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        found = await inner.ask(guest, DeleteTopicsRequest([DeleteTopicState(name)], TIMEOUT_MS))
    check(only(found.responses), name)
    await call.send(admin_pb2.DeleteTopicResponse())


METHODS = (
    GrpcMethod("/tidegate.v1.Admin/DescribeCluster", admin_pb2.DescribeClusterRequest, describe_cluster),
    GrpcMethod("/tidegate.v1.Admin/CreateTopic", admin_pb2.CreateTopicRequest, create_topic),
    GrpcMethod("/tidegate.v1.Admin/ListTopics", admin_pb2.ListTopicsRequest, list_topics),
    GrpcMethod("/tidegate.v1.Admin/DescribeTopic", admin_pb2.DescribeTopicRequest, describe_topic),
    GrpcMethod("/tidegate.v1.Admin/AlterTopic", admin_pb2.AlterTopicRequest, alter_topic),
    GrpcMethod("/tidegate.v1.Admin/DeleteTopic", admin_pb2.DeleteTopicRequest, delete_topic),
)
