"""From the names that requests use to the partitions that they mean: the one place where that is found out.

Three questions have three answers. What exists is what the catalogue's rows say (`check_exists`); what lies on this
node are `Partitions`; what it leads can be written and read here (`partition`). Whoever asks for what is led elsewhere
is told who leads it.

A topic is named by its name, which is text, or by its id, which is bytes. Whoever asks for what is not there is told
which of the two was wrong, as Kafka tells it.
"""

from coordinators.topics import Topic, Topics
from engine.errors import NotLeader, UnknownTopicId, UnknownTopicOrPartition, fresh
from engine.ids import TopicId
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.replicas import not_led_here


class PartitionDirectory:
    """Topics and partitions by what clients call them."""

    def __init__(self, topics: Topics, partitions: Partitions) -> None:
        self.topics = topics
        self.partitions = partitions
        self._view = topics.view

    def topic(self, named: str | TopicId) -> Topic:
        """The topic of this name or id."""
        if isinstance(named, str):
            topic = self._view.by_name.get(named)
            if topic is None:
                raise UnknownTopicOrPartition(f"no topic is called {named!r}")
        else:
            topic = self._view.by_id.get(named)
            if topic is None:
                raise UnknownTopicId(f"no topic has the id {named.hex()}")
        return topic

    def partition(self, topic: Topic, index: int) -> Partition:
        """A partition that this node leads."""
        partition = self.partitions.get(topic.topic_id, index)
        if partition is None:
            self.check_exists(topic, index)
            row = topic.partitions[index]
            if row.leader == self.topics.node_id:
                raise NotLeader(f"partition {index} of {topic.name!r} is not open yet")
            raise not_led_here(row)
        if partition.replicas.not_leader is not None:
            raise fresh(partition.replicas.not_leader)
        return partition

    def readable(self, topic: Topic, index: int) -> Partition:
        """A partition that lies on this node, whoever leads it; raises who does if it does not, or cannot be read."""
        partition = self.partitions.get(topic.topic_id, index)
        if partition is None or partition.offline is not None:
            return self.partition(topic, index)
        return partition

    def check_exists(self, topic: Topic, index: int) -> None:
        """Refuse what does not exist, wherever it lies."""
        if not 0 <= index < len(topic.partitions):
            raise UnknownTopicOrPartition(f"topic {topic.name!r} has no partition {index}")

    def find(self, named: str | TopicId, index: int) -> Partition:
        """The same in one step."""
        topic = self._view.by_name.get(named) if isinstance(named, str) else self._view.by_id.get(named)
        partition = None if topic is None else self.partitions.get(topic.topic_id, index)
        if partition is not None and partition.replicas.not_leader is None:
            return partition
        # Once more, by those who say what is wrong with it.
        return self.partition(self.topic(named), index)
