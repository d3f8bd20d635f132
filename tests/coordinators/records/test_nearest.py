"""A consumer that says where it stands is sent to a replica there (KIP-392)."""

import pytest

from coordinators.cluster.nodes import Nodes
from coordinators.records.nearest import THE_LEADER, NearestReplicas
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.partition.partition import Partition
from engine.partition.replicas import Replicas
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import memory_files, open_log

ROW = PartitionRecord((1, 2, 3), (1, 2), 1)


@pytest.fixture
def partition() -> Partition:
    rounds = SyncRounds(InlineWorkers(), lambda: None)
    return Partition(b"t" * 16, 0, open_log(memory_files()), rounds, replicas=Replicas(1, ROW))


def nearest(*, is_enabled: bool = True) -> NearestReplicas:
    racks = {1: "a", 2: "b", 3: "c"}
    return NearestReplicas(Nodes({n: NodeRecord(n, (), rack) for n, rack in racks.items()}), is_enabled)


def test_it_is_the_one_in_its_rack_that_is_in_sync_and_has_what_is_asked_for(partition: Partition) -> None:
    partition.replica_durable(2, 5)
    assert nearest().of(partition, "b", 5) == 2
    assert nearest().of(partition, "b", 6) == THE_LEADER, "it would have to wait there"
    assert nearest().of(partition, "a", 5) == THE_LEADER
    assert nearest().of(partition, "elsewhere", 5) == THE_LEADER


def test_who_is_not_in_sync_is_not_read_from(partition: Partition) -> None:
    partition.replica_durable(3, 5)
    assert nearest().of(partition, "c", 5) == THE_LEADER


def test_it_can_be_turned_off(partition: Partition) -> None:
    partition.replica_durable(2, 5)
    assert nearest(is_enabled=False).of(partition, "b", 5) == THE_LEADER
