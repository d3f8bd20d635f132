"""The topics of the broker: planned and committed in a thread, applied on the loop.

    plan = topics.plan_create([TopicSpec("orders", 6)])     # thread: checks, writes nothing
    revision = topics.commit(plan.change)                   # thread: durable when it returns
    for update in topics.apply(plan.change, revision):      # loop: now it is so; open or close logs

The three steps of one plan are not mixed with those of another: the caller holds a lock. Should somebody else
have changed the catalogue meanwhile, `commit` raises `CatalogueConflict` and nothing has happened.
A request that only validates stops after the plan.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import define, evolve, field

from coordinators.configs import ConfigAlteration, ConfigPlanner, ConfigResource
from coordinators.topic_creation import PartitionsSpec, TopicPlanner, TopicSpec
from coordinators.topic_deletion import plan_delete, plan_finish
from coordinators.topic_view import Change, Plan, Topic, TopicUpdate, TopicView
from engine.catalogue.catalogue import Catalogue, Entry
from engine.catalogue.records import (
    DELETING,
    PARTITIONS,
    TOPICS,
    PartitionRecord,
    TopicRecord,
    broker_configs_key,
    decode_configs,
    partition_of,
)
from engine.config.resolve import BrokerSettings, ConfigEntry
from engine.errors import PolicyViolation
from engine.ids import RandomBytes, TopicId

__all__ = ["Change", "PartitionsSpec", "Plan", "Topic", "TopicDeletionDisabled", "TopicSpec", "Topics"]


class TopicDeletionDisabled(PolicyViolation):
    """`delete.topic.enable` is false."""


@define(eq=False)
class Topics:
    """The view of all topics and the config in force. Made by `load`."""

    node_id: int
    catalogue: Catalogue
    random_bytes: RandomBytes
    settings: BrokerSettings
    view: TopicView = field(factory=TopicView)
    # Deleted topics whose files are still to be removed: after a crash, those of before too.
    deleting: dict[TopicId, TopicRecord] = field(factory=dict)
    # Dynamic broker configs as text, with their revisions; None is the default of all nodes.
    _dynamic: dict[int | None, dict[str, str]] = field(factory=dict)
    _dynamic_revisions: dict[int | None, int] = field(factory=dict)

    @classmethod
    def load(cls, catalogue: Catalogue, settings: BrokerSettings, node_id: int, random_bytes: RandomBytes) -> "Topics":
        """Reads the catalogue as of one revision; blocks. `settings` are the node's own."""
        _revision, entries = catalogue.entries("")
        topics = cls(node_id, catalogue, random_bytes, settings)
        topics._load_broker_configs({entry.key: entry for entry in entries})
        topics._load_topics(entries)
        return topics

    @property
    def by_name(self) -> dict[str, Topic]:
        return self.view.by_name

    @property
    def by_id(self) -> dict[TopicId, Topic]:
        return self.view.by_id

    # -- planning: on the loop, nothing changes

    def plan_create(self, specs: Sequence[TopicSpec]) -> Plan[Topic]:
        return self._planner().plan_create(specs)

    def plan_partitions(self, specs: Sequence[PartitionsSpec]) -> Plan[Topic]:
        return self._planner().plan_partitions(specs)

    def plan_delete(self, wanted: Sequence[str | TopicId]) -> Plan[Topic]:
        """Names are text, ids are bytes. The files go afterwards, then `plan_finish_delete`."""
        if not self.settings.flag("delete.topic.enable"):
            refusal = TopicDeletionDisabled("Topic deletion is disabled: delete.topic.enable is false.")
            return Plan(Change(), (refusal,) * len(wanted))
        return plan_delete(self.view, wanted)

    def plan_finish_delete(self, topic_ids: Sequence[TopicId]) -> Change:
        """The files of these deleted topics are gone."""
        return plan_finish(self.deleting, topic_ids)

    def plan_alter_configs(
        self, wanted: Sequence[tuple[ConfigResource, Sequence[ConfigAlteration]]]
    ) -> Plan[ConfigResource]:
        """Single keys, as IncrementalAlterConfigs."""
        return self._config_planner().plan_alter(wanted)

    def plan_replace_configs(
        self, wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]]
    ) -> Plan[ConfigResource]:
        """All settings of a resource, as AlterConfigs."""
        return self._config_planner().plan_replace(wanted)

    def describe_configs(self, resource: ConfigResource, names: Collection[str] | None = None) -> list[ConfigEntry]:
        return self._config_planner().describe(resource, names)

    # -- committing and applying

    def commit(self, change: Change) -> int:
        """Makes it durable; blocks, so it runs in a thread. Touches nothing but the catalogue."""
        return self.catalogue.commit(change.commit)

    def apply(self, change: Change, revision: int) -> Iterator[TopicUpdate]:
        """Makes it so in memory, on the loop, one topic after the other: each is in force once it is told. Who follows
        slowly changes nothing else meanwhile.

        A change of broker config alters every topic that inherits from it.
        """
        for topic_id in change.finished_deletions:
            self.deleting.pop(topic_id, None)
        for broker in change.brokers:
            self._dynamic[broker.node_id] = dict(broker.configs)
            self._dynamic_revisions[broker.node_id] = revision
        for update in change.topics:
            before = update.before
            if before is not None and update.after is None:
                self.deleting[before.topic_id] = before.record
            yield self.view.apply(update, revision)
        if change.brokers:
            yield from self._reconfigured()

    def run(self, change: Change) -> list[TopicUpdate]:
        """Commit and apply in one go, where blocking is no harm: at start, in tests."""
        return list(self.apply(change, self.commit(change)))

    # -- internals

    def _planner(self) -> TopicPlanner:
        return TopicPlanner(self.view, self.settings, self.node_id, self.random_bytes)

    def _config_planner(self) -> ConfigPlanner:
        return ConfigPlanner(self.view, self.settings, self.node_id, self._dynamic, self._dynamic_revisions)

    def _reconfigured(self) -> Iterator[TopicUpdate]:
        self._resolve_settings()
        for topic in list(self.view):
            config = self.settings.stored_topic_config(topic.config.overrides)
            if config.values != topic.config.values:
                after = Topic(topic.name, topic.topic_id, topic.partitions, config)
                yield self.view.apply(TopicUpdate(topic, after), topic.revision)

    def _resolve_settings(self) -> None:
        self.settings = evolve(
            self.settings,
            dynamic=self.settings.stored_values(self._dynamic.get(self.node_id, {})),
            dynamic_default=self.settings.stored_values(self._dynamic.get(None, {})),
        )

    def _load_broker_configs(self, entries: Mapping[str, Entry]) -> None:
        for node_id in (None, self.node_id):
            entry = entries.get(broker_configs_key(node_id))
            if entry is not None:
                self._dynamic[node_id] = decode_configs(entry)
                self._dynamic_revisions[node_id] = entry.revision
        self._resolve_settings()

    def _load_topics(self, entries: Sequence[Entry]) -> None:
        partitions = {
            partition_of(entry.key): PartitionRecord.decode(entry.value)
            for entry in entries
            if entry.key.startswith(PARTITIONS)
        }
        for entry in entries:
            if entry.key.startswith(TOPICS):
                self.view.add(self._loaded(TopicRecord.decode(entry.value), entry.revision, partitions))
            elif entry.key.startswith(DELETING):
                record = TopicRecord.decode(entry.value)
                self.deleting[record.id] = record

    def _loaded(
        self, record: TopicRecord, revision: int, partitions: Mapping[tuple[TopicId, int], PartitionRecord]
    ) -> Topic:
        held = tuple(partitions[record.id, index] for index in range(record.partition_count))
        return Topic(record.name, record.id, held, self.settings.stored_topic_config(record.configs), revision)
