"""A node by itself plans for itself, whatever rows there are of others."""

from trio.testing import trio_test

from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import NodeRecord
from engine.errors import InvalidReplicationFactor
from tests.coordinators.cluster.nodes import ClusterNode


@trio_test
async def test_the_number_that_a_broker_had_before_takes_no_partitions() -> None:
    catalogue = MemoryCatalogue()
    for number in (1, 2):
        record = NodeRecord(number, ("PLAINTEXT://h:1",))
        catalogue.commit(Commit((), (Put(record.key, record.encode()),)))
    node = ClusterNode(2, catalogue)
    node.replicas.nodes.by_id.update({number: NodeRecord(number, ()) for number in (1, 2)})
    topic, refused = await node.controller.create_topics([TopicSpec("t", 9), TopicSpec("u", 1, 2)])
    assert isinstance(topic, Topic)
    assert {row.replicas for row in topic.partitions} == {(2,)}
    assert isinstance(refused, InvalidReplicationFactor)
    assert "only 1 broker(s) are registered" in str(refused)
