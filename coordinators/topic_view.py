"""The topics as they are now, in memory, and what a change does to them."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from attrs import Factory, define, field, frozen

from coordinators.tenants.tenants import Tenants
from coordinators.topic_names import INTERNAL_TOPICS, PUBLIC_TOPICS, collision_key
from engine.catalogue.catalogue import Commit
from engine.catalogue.records import PartitionRecord, TopicRecord
from engine.config.resolve import TopicConfig
from engine.errors import BrokerError, kept
from engine.ids import TopicId

T = TypeVar("T")


@frozen
class Topic:
    """An active topic. Replaced, never altered; `revision` is that of its catalogue row."""

    name: str
    topic_id: TopicId
    partitions: tuple[PartitionRecord, ...]
    config: TopicConfig
    revision: int = 0
    internal: bool = field(init=False, eq=False)

    @internal.default
    def _is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def partition_count(self) -> int:
        return len(self.partitions)

    @property
    def hidden(self) -> bool:
        """Whether clients that ask for it by name are told that it is internal."""
        return self.internal and self.name not in PUBLIC_TOPICS

    @property
    def dead_letter_topic(self) -> str | None:
        """Where its expired records go; None where they are dropped."""
        if self.config["expiry.policy"] != "dlq" or self.internal:
            return None
        return self.config.text("dead.letter.topic") or f"{self.name}.dlq"

    @property
    def compacted(self) -> bool:
        """Whether its records need keys, and only the last of each key stays."""
        policy = self.config["cleanup.policy"]
        assert isinstance(policy, tuple)
        return "compact" in policy

    @property
    def record(self) -> TopicRecord:
        return TopicRecord(self.name, self.topic_id, len(self.partitions), self.config.overrides)


@frozen
class TopicUpdate:
    """A topic before and after a change: made (no `before`), deleted (no `after`) or altered."""

    before: Topic | None
    after: Topic | None


@frozen
class Plan(Generic[T]):
    """One commit for a whole request, and per item, in the request's order, its result or its refusal."""

    commit: Commit
    results: tuple[T | BrokerError, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.commit.changes


@define
class PlanBuilder(Generic[T]):
    """Collects a plan item by item: a refused item leaves the others alone."""

    _commits: list[Commit] = field(factory=list, init=False)
    _results: list[T | BrokerError] = field(factory=list, init=False)

    def add(self, result: T, commit: Commit) -> None:
        self._commits.append(commit)
        self._results.append(result)

    def refuse(self, error: BrokerError) -> None:
        self._results.append(kept(error))

    def finish(self) -> Plan[T]:
        return Plan(Commit.joined(self._commits), tuple(self._results))


@define
class TopicView:
    """The active topics by name and by id. Only the event loop touches it."""

    by_name: dict[str, Topic] = Factory(dict)
    by_id: dict[TopicId, Topic] = Factory(dict)
    tenants: Tenants = Factory(Tenants)
    """Whose namespaces there are."""
    _names_by_collision: dict[str, str] = field(factory=dict, init=False)
    _letters: dict[str, dict[str, str]] = field(factory=dict, init=False)
    """By the collision key of a dead-letter topic, which may not exist yet: who sends there, and its very name."""

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_name.values())

    def colliding(self, name: str) -> str | None:
        """The other topic whose name differs only in dots and underscores, if there is one."""
        other = self._names_by_collision.get(collision_key(name))
        return other if other != name else None

    def senders(self, name: str) -> Mapping[str, str]:
        """The topics whose dead letters go to a topic of this name or one that collides with it, and its name there."""
        return self._letters.get(collision_key(name), {})

    def apply(self, update: TopicUpdate) -> None:
        """The update is in force from now on."""
        if update.before is not None:
            self._remove(update.before)
        if update.after is not None:
            self.add(update.after)

    def add(self, topic: Topic) -> None:
        self.by_name[topic.name] = topic
        self.by_id[topic.topic_id] = topic
        self._names_by_collision[collision_key(topic.name)] = topic.name
        target = topic.dead_letter_topic
        if target is not None:
            self._letters.setdefault(collision_key(target), {})[topic.name] = target

    def _remove(self, topic: Topic) -> None:
        del self.by_name[topic.name]
        del self.by_id[topic.topic_id]
        del self._names_by_collision[collision_key(topic.name)]
        target = topic.dead_letter_topic
        if target is not None:
            senders = self._letters[collision_key(target)]
            del senders[topic.name]
            if not senders:
                del self._letters[collision_key(target)]
