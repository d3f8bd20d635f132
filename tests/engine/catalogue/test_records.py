"""What the catalogue holds comes back as it was written."""

import os

from engine.catalogue.catalogue import Entry
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import (
    NodeRecord,
    PartitionRecord,
    TopicRecord,
    broker_configs_key,
    cluster_id,
    decode_configs,
    encode,
    partition_of,
)

TOPIC = TopicRecord("orders", bytes(range(16)), 3, {"retention.ms": "5"})


def test_a_topic_comes_back() -> None:
    assert TopicRecord.decode(TOPIC.encode()) == TOPIC


def test_a_partition_comes_back() -> None:
    record = PartitionRecord((1, 2), (1,), 1, 7)
    assert PartitionRecord.decode(record.encode()) == record


def test_a_node_comes_back() -> None:
    record = NodeRecord(1, ("PLAINTEXT://127.0.0.1:9092",))
    assert NodeRecord.decode(record.encode()) == record


def test_an_active_topic_is_kept_by_name_and_one_being_deleted_by_id() -> None:
    assert TOPIC.key == "topics/orders"
    assert TOPIC.deleting_key == "deleting/000102030405060708090a0b0c0d0e0f"


def test_a_partition_is_kept_under_its_topic_id() -> None:
    assert partition_of(TOPIC.partition_key(2)) == (TOPIC.id, 2)


def test_members_unknown_to_this_version_are_ignored() -> None:
    assert TopicRecord.decode(TOPIC.encode().replace(b"{", b'{"later":1,', 1)) == TOPIC


def test_broker_configs_are_kept_per_node_and_for_all() -> None:
    assert broker_configs_key(1) == "configs/brokers/1"
    assert broker_configs_key(None) == "configs/brokers/default"
    assert decode_configs(None) == {}
    assert decode_configs(Entry("", encode({"a": "b"}), 1)) == {"a": "b"}


def test_the_id_is_made_once_and_kept() -> None:
    catalogue = MemoryCatalogue()
    made = cluster_id(catalogue, os.urandom)
    assert len(made) == 22
    assert cluster_id(catalogue, os.urandom) == made


def test_two_clusters_have_two_ids() -> None:
    assert cluster_id(MemoryCatalogue(), os.urandom) != cluster_id(MemoryCatalogue(), os.urandom)
