"""What v3 tells of the cluster: documents with addresses that can be followed."""

from wire.http.rest.clusters import Describing
from wire.kafka.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

DESCRIBING = Describing("https://broker.example", "abc")
TOPIC = MetadataResponseTopic(
    name="t",
    partitions=[
        MetadataResponsePartition(partition_index=1, leader_id=2, replica_nodes=[2, 3]),
        MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1, 2]),
    ],
)


def test_addresses_begin_as_the_door_is_reached() -> None:
    clusters = DESCRIBING.clusters()
    assert clusters.metadata.self == "https://broker.example/v3/clusters"
    assert clusters.data[0].topics.related == "https://broker.example/v3/clusters/abc/topics"


def test_a_topic_is_told_with_its_counts() -> None:
    (topic,) = DESCRIBING.topics([TOPIC]).data
    assert (topic.topic_name, topic.partitions_count, topic.replication_factor) == ("t", 2, 2)
    assert topic.metadata.resource_name == "crn:///kafka=abc/topic=t"


def test_partitions_are_told_in_their_order() -> None:
    found = DESCRIBING.partitions(TOPIC).data
    assert [(each.partition_id, each.leader_id, each.replica_ids) for each in found] == [(0, 1, [1, 2]), (1, 2, [2, 3])]


def test_a_topic_without_partitions_breaks_nothing() -> None:
    assert DESCRIBING.topic(MetadataResponseTopic(name="new")).replication_factor == 0
