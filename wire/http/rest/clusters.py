"""What v3 of Confluent's REST proxy tells of the cluster and its topics."""

from typing import Annotated

import msgspec

from wire.kafka.messages.metadata import MetadataResponseTopic

V3 = "application/json"


class LinkV3(msgspec.Struct):
    """Where more is told."""

    related: str


class MetadataV3(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where this is told."""

    self: str
    next: str | None = None
    resource_name: str = ""


class ClusterV3(msgspec.Struct):
    """A cluster."""

    kind: str
    metadata: MetadataV3
    cluster_id: str
    topics: LinkV3


class ClustersV3(msgspec.Struct):
    """All clusters: one."""

    kind: str
    metadata: MetadataV3
    data: list[ClusterV3]


class TopicV3(msgspec.Struct):
    """A topic."""

    kind: str
    metadata: MetadataV3
    cluster_id: str
    topic_name: str
    is_internal: bool
    replication_factor: int
    partitions_count: int
    partitions: LinkV3


class TopicsV3(msgspec.Struct):
    """Topics by name."""

    kind: str
    metadata: MetadataV3
    data: list[TopicV3]


class PartitionV3(msgspec.Struct):
    """A partition; `leader_id` and `replica_ids` are beyond the proxy's."""

    kind: str
    metadata: MetadataV3
    cluster_id: str
    topic_name: str
    partition_id: int
    leader_id: int
    replica_ids: list[int]


class PartitionsV3(msgspec.Struct):
    """The partitions of a topic."""

    kind: str
    metadata: MetadataV3
    data: list[PartitionV3]


class ConfigV3(msgspec.Struct):
    """A setting."""

    name: str
    value: str | None = None


class NewTopicV3(msgspec.Struct):
    """A topic to make; what is left out is as the broker's settings say."""

    topic_name: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9._-]+$", min_length=1, max_length=249)]
    partitions_count: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=1, le=2**15 - 1)] | None = None
    configs: list[ConfigV3] = []


class Describing:
    """Writes answers with addresses that begin as the caller's did."""

    def __init__(self, base: str, cluster_id: str) -> None:
        self._base = f"{base}/v3/clusters"
        self._cluster_id = cluster_id
        self._own = f"{self._base}/{cluster_id}"
        self._name = f"crn:///kafka={cluster_id}"

    def clusters(self) -> ClustersV3:
        """All clusters."""
        return ClustersV3("KafkaClusterList", MetadataV3(self=self._base), [self.cluster()])

    def cluster(self) -> ClusterV3:
        """This one."""
        metadata = MetadataV3(self=self._own, resource_name=self._name)
        return ClusterV3("KafkaCluster", metadata, self._cluster_id, LinkV3(f"{self._own}/topics"))

    def topics(self, found: list[MetadataResponseTopic]) -> TopicsV3:
        """Some topics."""
        metadata = MetadataV3(self=f"{self._own}/topics")
        return TopicsV3("KafkaTopicList", metadata, [self.topic(each) for each in found])

    def topic(self, topic: MetadataResponseTopic) -> TopicV3:
        """One topic."""
        own = f"{self._own}/topics/{topic.name}"
        return TopicV3(
            "KafkaTopic",
            MetadataV3(self=own, resource_name=f"{self._name}/topic={topic.name}"),
            self._cluster_id,
            topic.name or "",
            topic.is_internal,
            len(topic.partitions[0].replica_nodes) if topic.partitions else 0,
            len(topic.partitions),
            LinkV3(f"{own}/partitions"),
        )

    def partitions(self, topic: MetadataResponseTopic) -> PartitionsV3:
        """The partitions of a topic."""
        own = f"{self._own}/topics/{topic.name}/partitions"
        data = [
            PartitionV3(
                "KafkaPartition",
                MetadataV3(
                    self=f"{own}/{each.partition_index}",
                    resource_name=f"{self._name}/topic={topic.name}/partition={each.partition_index}",
                ),
                self._cluster_id,
                topic.name or "",
                each.partition_index,
                each.leader_id,
                each.replica_nodes,
            )
            for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        ]
        return PartitionsV3("KafkaPartitionList", MetadataV3(self=own), data)
