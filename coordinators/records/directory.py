"""From the names that requests use to the partitions that they mean: the one place where that is found out.

A topic is named by its name, which is text, or by its id, which is bytes. Whoever asks for what is not there is told
which of the two was wrong, as Kafka tells it.
"""

from coordinators.topics import Topic, Topics
from engine.errors import UnknownTopicId, UnknownTopicOrPartition
from engine.ids import TopicId
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions


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
        """A partition of a topic that exists."""
        partition = self.partitions.get(topic.topic_id, index)
        if partition is None:
            raise UnknownTopicOrPartition(f"topic {topic.name!r} has no partition {index}")
        return partition

    def find(self, named: str | TopicId, index: int) -> Partition:
        """The same in one step."""
        topic = self._view.by_name.get(named) if isinstance(named, str) else self._view.by_id.get(named)
        partition = None if topic is None else self.partitions.get(topic.topic_id, index)
        # What is not there is looked for again, by those who say why not.
        return partition or self.partition(self.topic(named), index)
