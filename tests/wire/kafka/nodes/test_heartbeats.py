"""What a node that does not hear etcd is told of its life by another."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from trio.testing import trio_test

from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.replication.ports import LinkBroken
from engine.catalogue.records import NodeRecord
from tests.wire.kafka.nodes.pair import CLIENT, SERVER, Pair, pair
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.broker_heartbeat import BrokerHeartbeatRequest
from wire.kafka.nodes.heartbeats import Heartbeats

EPOCH = 7


def heartbeats(made: Pair, revision: int = 0) -> Heartbeats:
    """Of the node that asks."""
    replicas: Any = SimpleNamespace(topics=SimpleNamespace(node_id=CLIENT), revision=revision)
    return Heartbeats(made.shared, replicas)


def at_server(made: Pair) -> ReplicaManager:
    """What the other knows, of itself to begin with; its catalogue has got beyond the epoch of the one that asks."""
    replicas: ReplicaManager = made.door.broker.node.controller.replicas
    replicas._revision = EPOCH + 3
    return replicas


@trio_test
async def test_a_life_that_is_known_has_not_ended(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        at_server(made).nodes.by_id[CLIENT] = NodeRecord(CLIENT, (), epoch=EPOCH)
        assert not await heartbeats(made).ask(SERVER, EPOCH)


@trio_test
async def test_a_life_that_is_known_no_more_has_ended(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        replicas = at_server(made)
        assert await heartbeats(made).ask(SERVER, EPOCH)
        replicas.nodes.by_id[CLIENT] = NodeRecord(CLIENT, (), epoch=EPOCH + 2)
        assert await heartbeats(made).ask(SERVER, EPOCH)
        del replicas.nodes.by_id[CLIENT]
        replicas._revision = EPOCH - 1
        assert not await heartbeats(made).ask(SERVER, EPOCH), "it had not begun yet as far as that node knows"


@trio_test
async def test_who_cannot_be_reached_says_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path) as made:
        made.refuses = True
        with pytest.raises(LinkBroken):
            await heartbeats(made).ask(SERVER, EPOCH)


@pytest.mark.parametrize("version", [0, 1])
@trio_test
async def test_a_node_is_told_of_itself_alone_and_clients_of_nobody(tmp_path: Path, version: int) -> None:
    async with pair(tmp_path) as made:
        node = NodeRecord(CLIENT, (), epoch=EPOCH, fenced=True)
        replicas = at_server(made)
        replicas.nodes.by_id.update({CLIENT: node, CLIENT + 1: evolve(node, node_id=CLIENT + 1)})
        answer = await made.client().ask(BrokerHeartbeatRequest(CLIENT, EPOCH), version)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        asked = made.shared.ask
        for behind in (0, 1):
            request = BrokerHeartbeatRequest(CLIENT, EPOCH, replicas.revision - behind)
            answer = await asked(SERVER, request, (version, version))
            assert (answer.error_code, answer.is_fenced, answer.is_caught_up) == (0, True, not behind)
        answer = await asked(SERVER, BrokerHeartbeatRequest(CLIENT + 1, EPOCH), (version, version))
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
