"""DescribeCluster: this node as the whole cluster."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from wire.kafka.authorized_operations import CLUSTER_OPERATIONS
from wire.kafka.messages.describe_cluster import DescribeClusterRequest

MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE = 114, 115


@trio_test
async def test_the_node_is_the_controller_and_the_only_broker(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"broker.rack": "r1", "node.id": 4}) as door:
        answer = await (await door.connect()).ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
        (broker,) = answer.brokers
        assert f"{broker.host}:{broker.port}" == door.broker.kafka_address
        assert (answer.controller_id, broker.broker_id, broker.rack) == (4, 4, "r1")
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
        assert answer.cluster_id == door.broker.node.identity.cluster_id


@trio_test
async def test_the_cluster_keeps_its_id_over_a_restart(tmp_path: Path) -> None:
    found = set()
    for _ in range(2):
        async with open_door(tmp_path) as door:
            found.add((await (await door.connect()).ask(DescribeClusterRequest())).cluster_id)
    assert len(found) == 1


@pytest.mark.parametrize(("kind", "code"), [(2, MISMATCHED_ENDPOINT_TYPE), (3, UNSUPPORTED_ENDPOINT_TYPE)])
@trio_test
async def test_other_endpoints_are_not_served_here(tmp_path: Path, kind: int, code: int) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(DescribeClusterRequest(endpoint_type=kind))
        assert (answer.error_code, answer.brokers) == (code, [])
