"""Figures of topics and partitions: offsets, sizes, and what goes in and out."""

from collections.abc import Iterator

from attrs import define, field

from coordinators.metrics.labels import OTHER, BoundedLabels
from coordinators.topics import Topic, Topics
from engine.ids import TopicId
from engine.metrics import Family, Labels
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.traffic import Traffic

_TRAFFIC = {
    "received_batches": "Record batches that producers brought.",
    "received_records": "Records that producers brought.",
    "received_bytes": "Bytes of record batches that producers brought.",
    "sent_records": "Records sent to consumers, counted by offsets; in the midst of a log to the next index entry.",
    "sent_bytes": "Bytes of record batches sent to consumers.",
}


@define(eq=False)
class TopicMetrics:
    """A collector over all topics. At most `topic_limit` have a name, at most `partition_limit` partitions a series."""

    topics: Topics
    partitions: Partitions
    topic_limit: int
    partition_limit: int
    _labels: BoundedLabels[TopicId] = field(init=False)
    _others: dict[TopicId, Traffic] = field(factory=dict, init=False)
    _gone: Traffic = field(factory=Traffic, init=False)

    def __attrs_post_init__(self) -> None:
        self._labels = BoundedLabels(self.topic_limit)

    def collect(self) -> Iterator[Family | None]:
        """Everything about topics."""
        topics = [topic for topic in self.topics.view if not topic.internal]
        topics += [topic for topic in self.topics.view if topic.internal]
        for topic_id in self._labels.update(topic.topic_id for topic in topics):
            self._gone.add(self._others.pop(topic_id, Traffic()))
        named = [topic for topic in topics if self._labels.is_named(topic.topic_id)]
        others = [topic for topic in topics if not self._labels.is_named(topic.topic_id)]
        yield from self._totals(topics)
        yield from self._traffic(named, others)
        yield from self._per_partition(named, sum(topic.partition_count for topic in topics))

    def _totals(self, topics: list[Topic]) -> Iterator[Family | None]:
        count = offline = size = 0
        for topic in topics:
            for partition in self.partitions.of_topic(topic.topic_id):
                count += 1
                offline += partition.offline is not None
                size += partition.log.size_bytes
            yield None
        yield Family.gauge("tidegate_topics", "Topics.", [({}, len(topics))])
        yield Family.gauge("tidegate_partitions", "Partitions of all topics.", [({}, count)])
        yield Family.gauge("tidegate_partitions_offline", "Partitions that cannot be written.", [({}, offline)])
        yield Family.gauge("tidegate_log_size_bytes", "Bytes of all logs on disk, without indexes.", [({}, size)])
        left_out = self._labels.left_out()
        meaning = 'Topics whose figures are summed as topic="other" (metrics.topic.limit).'
        yield Family.gauge("tidegate_metrics_topics_left_out", meaning, [({}, left_out)])

    def _traffic(self, named: list[Topic], others: list[Topic]) -> Iterator[Family | None]:
        rows: list[tuple[Labels, Traffic]] = []
        for topic in named:
            rows.append(({"topic": topic.name}, self._traffic_of(topic)))
            yield None
        if others or self._gone.received_batches or self._gone.sent_bytes:
            together = Traffic()
            together.add(self._gone)
            for topic in others:
                traffic = self._others[topic.topic_id] = self._traffic_of(topic)
                together.add(traffic)
                yield None
            rows.append(({"topic": OTHER}, together))
        for name, meaning in _TRAFFIC.items():
            values = [(labels, getattr(traffic, name)) for labels, traffic in rows]
            yield Family.counter(f"tidegate_topic_{name}_total", meaning, values)

    def _traffic_of(self, topic: Topic) -> Traffic:
        total = Traffic()
        for partition in self.partitions.of_topic(topic.topic_id):
            total.add(partition.traffic)
        return total

    def _per_partition(self, named: list[Topic], count: int) -> Iterator[Family]:
        rows: list[tuple[Labels, Partition]] = []
        for topic in named:
            room = self.partition_limit - len(rows)
            partitions = self.partitions.of_topic(topic.topic_id)[:room]
            rows += [({"topic": topic.name, "partition": str(each.index)}, each) for each in partitions]
        meaning = "Partitions without figures of their own (metrics.partition.limit, metrics.topic.limit)."
        yield Family.gauge("tidegate_metrics_partitions_left_out", meaning, [({}, count - len(rows))])
        yield Family.gauge(
            "tidegate_topic_partitions",
            "Partitions of a topic.",
            (({"topic": topic.name}, topic.partition_count) for topic in named),
        )
        yield Family.gauge(
            "tidegate_partition_start_offset",
            "The first offset that a partition holds.",
            ((labels, partition.log.start_offset) for labels, partition in rows),
        )
        yield Family.gauge(
            "tidegate_partition_end_offset",
            "The offset that comes next for readers of a partition.",
            ((labels, partition.reported_end) for labels, partition in rows),
        )
        yield Family.gauge(
            "tidegate_partition_size_bytes",
            "Bytes of a partition's log on disk, without indexes.",
            ((labels, partition.log.size_bytes) for labels, partition in rows),
        )
