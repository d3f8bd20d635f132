"""Share groups over several nodes: their configs, their members when the coordinator is killed, where they are."""

import time
import uuid
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer

from compat_tests.conftest import unique_name
from compat_tests.share.asking import GROUP_RESOURCE, ask, set_group
from compat_tests.waiting import eventually
from compat_tests.wire.connection import Wire
from tools.chaos.cluster import ChaosCluster
from wire.kafka.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MakeTopic = Callable[..., str]
PARTITIONS = 3
PATIENCE_S = 60.0
DYNAMIC_GROUP_CONFIG = 8


def nodes_of(cluster: ChaosCluster) -> list[str]:
    return [node.bootstrap for node in cluster.nodes.values() if node.is_running]


def coordinator_of(cluster: ChaosCluster, group: str) -> tuple[int, str]:
    """The node that looks after a group, and where it is."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for address in nodes_of(cluster):
            try:
                with Wire(address) as wire:
                    (found,) = ask(wire, FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators
            except OSError:
                continue
            if found.error_code == 0:
                return found.node_id, f"{found.host}:{found.port}"
        assert time.monotonic() < deadline, "the group has no coordinator"
        time.sleep(0.1)


def asked(cluster: ChaosCluster, group: str, request: Any) -> Any:
    """What the group's coordinator answers, whoever that is."""
    with Wire(coordinator_of(cluster, group)[1]) as wire:
        return ask(wire, request)


def test_configs_of_a_group_are_known_to_every_node(cluster: ChaosCluster) -> None:
    group, (first, *_others) = unique_name("configured"), nodes_of(cluster)
    assert set_group(first, group, {"share.record.lock.duration.ms": 17_000}) == 0
    asking = DescribeConfigsRequest([DescribeConfigsResource(GROUP_RESOURCE, group, ["share.record.lock.duration.ms"])])

    def told() -> set[tuple[str, int]]:
        found = set()
        for address in nodes_of(cluster):
            with Wire(address) as wire:
                (entry,) = ask(wire, asking, 4).results[0].configs
                found.add((entry.value, entry.config_source))
        return found

    eventually(told, {("17000", DYNAMIC_GROUP_CONFIG)}, PATIENCE_S)


def test_members_stay_when_the_coordinator_is_killed(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic, group, member_id = make_topic(PARTITIONS), unique_name("members"), str(uuid.uuid4())
    join = ShareGroupHeartbeatRequest(group, member_id, 0, subscribed_topic_names=[topic])

    def joined() -> Any:
        answer = asked(cluster, group, join)
        return answer.error_code, answer.member_epoch, answer.assignment and len(answer.assignment.topic_partitions)

    eventually(joined, (0, 1, 1), PATIENCE_S)
    killed, _address = coordinator_of(cluster, group)
    cluster.nodes[killed].kill()

    def beaten() -> tuple[int, int]:
        try:
            answer = asked(cluster, group, ShareGroupHeartbeatRequest(group, member_id, 1))
        except (OSError, EOFError):
            return -1, -1
        return answer.error_code, answer.member_epoch

    eventually(beaten, (0, 1), PATIENCE_S)
    assert coordinator_of(cluster, group)[0] != killed


def test_where_a_group_is_is_told_whoever_leads_the_partitions(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic, group = make_topic(PARTITIONS), unique_name("behind")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for index in range(PARTITIONS):
        for _ in range(5 + index):
            producer.produce(topic, b"x", partition=index)
    assert producer.flush(PATIENCE_S) == 0
    offsets = [AlterShareGroupOffsetsRequestPartition(index, index) for index in range(PARTITIONS)]
    alter = AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, offsets)])

    def altered() -> tuple[int, set[int]]:
        answer = asked(cluster, group, alter)
        return answer.error_code, {each.error_code for named in answer.responses for each in named.partitions}

    eventually(altered, (0, {0}), PATIENCE_S)
    leaders = {node for node in cluster.nodes if cluster.standing().led_by(node, topic)}
    assert len(leaders) > 1, "partitions of several leaders"

    def positions() -> list[tuple[int, int, int]]:
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
        (found,) = asked(cluster, group, request).groups
        return [
            (each.partition_index, each.start_offset, each.lag) for named in found.topics for each in named.partitions
        ]

    eventually(positions, [(index, index, 5) for index in range(PARTITIONS)], PATIENCE_S)
