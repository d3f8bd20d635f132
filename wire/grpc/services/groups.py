"""`tidegate.v1.Admin`: groups and what they have committed."""

from collections.abc import Iterable
from typing import Any

from wire.grpc.asking import DOOR, check, only, refused
from wire.grpc.calls import GrpcCall
from wire.grpc.messages import admin_pb2
from wire.grpc.messages.records_pb2 import PartitionOffset
from wire.grpc.methods import GrpcMethod
from wire.inner.asking import GROUP, InnerClient
from wire.kafka.calls import Guest
from wire.kafka.messages.delete_groups import DeleteGroupsRequest
from wire.kafka.messages.describe_cluster import DescribeClusterRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup


async def list_groups(call: GrpcCall[admin_pb2.ListGroupsRequest], inner: InnerClient) -> None:
    """Those of every node that the caller may know of; each coordinates some."""
    await call.only()
    found: dict[str, Any] = {}
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        for node in (await inner.ask(guest, DescribeClusterRequest())).brokers:
            answer = await inner.ask(guest, ListGroupsRequest(), node_id=node.broker_id)
            check(answer, f"the groups of node {node.broker_id}")
            found |= {each.group_id: each for each in answer.groups}
    groups = [
        admin_pb2.GroupSummary(group=name, type=each.group_type.lower(), state=each.group_state)
        for name, each in sorted(found.items())
    ]
    await call.send(admin_pb2.ListGroupsResponse(groups=groups))


async def get_group_offsets(call: GrpcCall[admin_pb2.GetGroupOffsetsRequest], inner: InnerClient) -> None:
    """Where the group reads on."""
    group = (await call.only()).group
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        offsets = await _committed(guest, inner, group)
    await call.send(admin_pb2.GroupOffsetsResponse(offsets=offsets))


async def _committed(guest: Guest, inner: InnerClient, group: str) -> list[PartitionOffset]:
    request = OffsetFetchRequest([OffsetFetchRequestGroup(group, topics=None)])
    groups = (await inner.ask_coordinator(guest, GROUP, group, request)).groups
    found = only(groups)
    check(found, group)
    return [
        PartitionOffset(topic=topic.name, partition=each.partition_index, offset=each.committed_offset)
        for topic in found.topics
        for each in topic.partitions
        if each.committed_offset >= 0
    ]


async def set_group_offsets(call: GrpcCall[admin_pb2.SetGroupOffsetsRequest], inner: InnerClient) -> None:
    """Where the group reads on from now; refused while it has members."""
    request = await call.only()
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        commit = OffsetCommitRequest(request.group, topics=_by_topic(request.offsets))
        answer = await inner.ask_coordinator(guest, GROUP, request.group, commit)
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code:
                    raise refused(each.error_code, None, f"{request.group}: {topic.name}-{each.partition_index}")
        offsets = await _committed(guest, inner, request.group)
    await call.send(admin_pb2.GroupOffsetsResponse(offsets=offsets))


def _by_topic(offsets: Iterable[PartitionOffset]) -> list[OffsetCommitRequestTopic]:
    found: dict[str, OffsetCommitRequestTopic] = {}
    for each in offsets:
        topic = found.setdefault(each.topic, OffsetCommitRequestTopic(name=each.topic, partitions=[]))
        topic.partitions.append(OffsetCommitRequestPartition(each.partition, each.offset))
    return list(found.values())


async def delete_group(call: GrpcCall[admin_pb2.DeleteGroupRequest], inner: InnerClient) -> None:
    """Forget it and all that it has committed."""
    group = (await call.only()).group
    with inner.guest(call.caller, DOOR, call.client_id) as guest:
        answer = await inner.ask_coordinator(guest, GROUP, group, DeleteGroupsRequest([group]))
    check(only(answer.results), group)
    await call.send(admin_pb2.DeleteGroupResponse())


METHODS = (
    GrpcMethod("/tidegate.v1.Admin/ListGroups", admin_pb2.ListGroupsRequest, list_groups),
    GrpcMethod("/tidegate.v1.Admin/GetGroupOffsets", admin_pb2.GetGroupOffsetsRequest, get_group_offsets),
    GrpcMethod("/tidegate.v1.Admin/SetGroupOffsets", admin_pb2.SetGroupOffsetsRequest, set_group_offsets),
    GrpcMethod("/tidegate.v1.Admin/DeleteGroup", admin_pb2.DeleteGroupRequest, delete_group),
)
