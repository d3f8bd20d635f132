"""The topics in which coordinators keep their state: made when first needed. A shard is loaded when this node becomes
the leader of its partition, in whichever epoch, and unloaded when it resigns.

A key (a group id, a transactional id) belongs to one partition of its topic, by the hash that Kafka uses; the
coordinator of a key is the leader of that partition.
"""

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import define, field, frozen

from coordinators.cluster.controller import ClusterController
from coordinators.runtime import Runtime
from coordinators.topic_creation import DEFAULT_FACTOR, TopicSpec
from coordinators.topic_view import Topic, TopicView
from engine.errors import BrokerError, CoordinatorNotAvailable, NotCoordinator
from engine.partition.partition import Partition

logger = logging.getLogger("tidegate.coordinator")

PAUSE_S = 1.0
TELL_S = 60.0


@lru_cache(maxsize=100_000)
def java_hash(text: str) -> int:
    """Java's String.hashCode, made positive as Kafka does it: by dropping the sign."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


@frozen
class InternalTopic:
    """A topic of the broker's own: how it is made, who is loaded from it."""

    name: str
    partition_count: int
    configs: Mapping[str, str]
    runtime: Runtime[Any]
    factor_key: str = DEFAULT_FACTOR
    """The broker key that says how many replicas it gets."""


@define(eq=False)
class InternalTopics:
    """Keeps runtimes in step with the topics that hold their state."""

    controller: ClusterController
    _kept: dict[str, InternalTopic] = field(factory=dict)
    _failed: dict[str, tuple[float, str]] = field(factory=dict)
    """Topics that could not be made: until when that is not tried again, and why."""
    _told_at: dict[str, float] = field(factory=dict)
    _topics: TopicView = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._topics = self.controller.topics.view
        self.controller.replicas.on_leading.append(self._leads)
        self.controller.replicas.on_resigned.append(self._resigned)

    def add(self, kept: InternalTopic) -> None:
        """Look after a topic from now on."""
        self._kept[kept.name] = kept
        kept.runtime.doubts.append(self._doubts)

    def _doubts(self) -> bool:
        return self.controller.partitions.is_doubtful

    def shard_of(self, name: str, key: str) -> int:
        """Which shard a key belongs to; `NotCoordinator` while the topic does not exist."""
        topic = self._topics.by_name.get(name)
        if topic is None:
            raise NotCoordinator(f"{name} does not exist yet; a client that asks for the coordinator has it made")
        return java_hash(key) % len(topic.partitions)

    def coordinator_of(self, name: str, key: str) -> int:
        """The node that leads the partition which a key belongs to; below 0, none does."""
        shard = self.shard_of(name, key)
        return self.controller.topics.by_name[name].partitions[shard].leader

    def is_there(self, name: str) -> bool:
        """Whether the topic exists."""
        return name in self._topics.by_name

    def is_missing(self, name: str) -> bool:
        """Whether a topic that is looked after does not exist yet."""
        return name in self._kept and name not in self._topics.by_name

    def spec(self, name: str) -> TopicSpec | None:
        """How a topic that is looked after is made, whoever has it made; None for any other."""
        kept = self._kept.get(name)
        if kept is None:
            return None
        return TopicSpec(name, kept.partition_count, configs=dict(kept.configs), factor_key=kept.factor_key)

    def default_factors(self) -> dict[str, int]:
        """How many replicas topics should have where nobody has said it, by name."""
        settings = self.controller.topics.settings
        return {
            kept.name: settings.integer(kept.factor_key)
            for kept in self._kept.values()
            if not settings.is_set(kept.factor_key)
        }

    async def ensure(self, name: str) -> None:
        """Make the topic unless it is there; `CoordinatorNotAvailable` if that is not possible now."""
        spec = self.spec(name) if self.is_missing(name) else None
        if spec is None:
            return
        until, reason = self._failed.get(name, (0.0, ""))
        if self.controller.partitions.clock.monotonic() < until:
            raise CoordinatorNotAvailable(reason)
        try:
            await self.controller.ensure_topic(spec)
        except BrokerError as error:
            raise self._not_made(name, error) from None

    def _not_made(self, name: str, error: BrokerError) -> CoordinatorNotAvailable:
        """Clients ask again ten times a second: for a while they are told the same, without another attempt."""
        now = self.controller.partitions.clock.monotonic()
        reason = f"{name} cannot be made: {error}"
        if now - self._told_at.get(name, -TELL_S) >= TELL_S:
            self._told_at[name] = now
            logger.error("%s", reason)
        self._failed[name] = now + PAUSE_S, reason
        return CoordinatorNotAvailable(reason)

    def _leads(self, topic: Topic, partition: Partition) -> None:
        kept = self._kept.get(topic.name)
        if kept is not None:
            kept.runtime.load(partition.index, partition, partition.leader_epoch)

    def _resigned(self, topic: Topic, index: int, epoch: int | None) -> None:
        kept = self._kept.get(topic.name)
        if kept is not None:
            kept.runtime.unload(index, epoch)
