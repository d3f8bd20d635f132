"""The topics of the cluster as this node knows them, and what changes of them are planned against.

    plan = topics.plan_create([TopicSpec("orders", 6)])     # thread: checks, writes nothing
    catalogue.commit(plan.commit)                           # thread: durable when it returns
    for update in topics.updates(news):                     # loop: what a watch of the catalogue tells of it
        topics.view.apply(update)

Whoever planned a change learns of it like everybody else: from the catalogue. Should somebody have changed the same
rows meanwhile, the commit raises `CatalogueConflict` and nothing has happened. Nothing is applied while a plan is made.
A request that only validates stops after the plan.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import define, evolve, field

from coordinators.cluster.news import News, read_whole
from coordinators.configs import ConfigAlteration, ConfigPlanner, ConfigResource
from coordinators.group_configs import GroupConfigs
from coordinators.tenants.tenants import Tenants
from coordinators.topic_creation import PartitionsSpec, TopicPlanner, TopicSpec
from coordinators.topic_deletion import plan_delete, plan_finish
from coordinators.topic_view import Plan, Topic, TopicUpdate, TopicView
from engine.catalogue.catalogue import Catalogue, Commit
from engine.catalogue.records import NodeRecord, PartitionRecord, TopicRecord, broker_configs_key
from engine.config.resolve import BrokerSettings, ConfigEntry
from engine.errors import PolicyViolation
from engine.ids import RandomBytes, TopicId

__all__ = ["PartitionsSpec", "Plan", "Topic", "TopicDeletionDisabled", "TopicSpec", "Topics"]

MOST_EARLY = 1000
"""Of so many topics rows are held back that came before the topics' own."""


class TopicDeletionDisabled(PolicyViolation):
    """`delete.topic.enable` is false."""


@define(eq=False)
class Topics:
    """The view of all topics and the config in force. Made by `load`."""

    node_id: int
    random_bytes: RandomBytes
    settings: BrokerSettings
    view: TopicView = field(factory=TopicView)
    revision: int = 0
    """That of the catalogue as it was loaded."""
    # Deleted topics whose files are still to be removed: after a crash, those of before too.
    deleting: dict[TopicId, TopicRecord] = field(factory=dict)
    # Dynamic broker configs as text, with their revisions; None is the default of all nodes.
    _dynamic: dict[int | None, dict[str, str]] = field(factory=dict)
    _dynamic_revisions: dict[int | None, int] = field(factory=dict)
    # Rows that have come before those of their topics.
    _early: dict[TopicId, dict[int, PartitionRecord]] = field(factory=dict)
    groups: GroupConfigs = field(init=False)
    """What groups are configured to."""

    def __attrs_post_init__(self) -> None:
        self.groups = GroupConfigs(self.settings, self.tenants)

    @property
    def tenants(self) -> Tenants:
        """Whose namespaces there are."""
        return self.view.tenants

    @classmethod
    def load(cls, catalogue: Catalogue, settings: BrokerSettings, node_id: int, random_bytes: RandomBytes) -> "Topics":
        """Reads the catalogue as of one revision; blocks. `settings` are the node's own."""
        topics = cls(node_id, random_bytes, settings)
        whole = read_whole(*catalogue.entries(""))
        topics.revision = whole.revision
        for update in topics.updates(whole):
            topics.view.apply(update)
        return topics

    @property
    def by_name(self) -> dict[str, Topic]:
        return self.view.by_name

    @property
    def by_id(self) -> dict[TopicId, Topic]:
        return self.view.by_id

    # -- planning: on the loop, nothing changes

    def plan_create(self, specs: Sequence[TopicSpec], nodes: Mapping[int, NodeRecord] | None = None) -> Plan[Topic]:
        """`nodes` are those that are registered; without any there is this one."""
        return self._planner(nodes).plan_create(specs)

    def plan_partitions(
        self, specs: Sequence[PartitionsSpec], nodes: Mapping[int, NodeRecord] | None = None
    ) -> Plan[Topic]:
        return self._planner(nodes).plan_partitions(specs)

    def plan_delete(self, wanted: Sequence[str | TopicId]) -> Plan[Topic]:
        """Names are text, ids are bytes. The files go afterwards, then `plan_finish_delete`."""
        if not self.settings.flag("delete.topic.enable"):
            refusal = TopicDeletionDisabled("Topic deletion is disabled: delete.topic.enable is false.")
            return Plan(Commit(), (refusal,) * len(wanted))
        return plan_delete(self.view, wanted)

    def plan_finish_delete(self, topic_ids: Sequence[TopicId]) -> Commit:
        """The files of these deleted topics are gone."""
        return plan_finish(self.deleting, topic_ids)

    def plan_alter_configs(
        self, wanted: Sequence[tuple[ConfigResource, Sequence[ConfigAlteration]]], nodes: Collection[int] = ()
    ) -> Plan[ConfigResource]:
        """Single keys, as IncrementalAlterConfigs. `nodes` are those that are registered."""
        return self._config_planner(nodes).plan_alter(wanted)

    def plan_replace_configs(
        self, wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]], nodes: Collection[int] = ()
    ) -> Plan[ConfigResource]:
        """All settings of a resource, as AlterConfigs."""
        return self._config_planner(nodes).plan_replace(wanted)

    def describe_configs(self, resource: ConfigResource, names: Collection[str] | None = None) -> list[ConfigEntry]:
        return self._config_planner().describe(resource, names)

    # -- following the catalogue: on the loop

    def updates(self, news: News) -> Iterator[TopicUpdate]:
        """What a revision changes, topic after topic: the caller puts each in force before it asks for the next one.
        Who follows slowly changes nothing else meanwhile.

        A change of broker config alters every topic that inherits from it.
        """
        for topic_id, record in news.deleting.items():
            if record is None:
                self.deleting.pop(topic_id, None)
            else:
                self.deleting[topic_id] = record
        is_reconfigured = self._take_broker_configs(news)
        self.groups.take(news.group_configs)
        self.tenants.take(news.tenants)
        for name, (record, revision) in news.topics.items():
            before = self.view.by_name.get(name)
            if before is not None and (record is None or record.id != before.topic_id):
                yield TopicUpdate(before, None)
                before = None
            if record is not None:
                rows = self._early.pop(record.id, {}) | news.partitions.get(record.id, {})
                yield TopicUpdate(before, self._topic(record, revision, before, rows))
        for topic_id, rows in news.partitions.items():
            before = self.view.by_id.get(topic_id)
            count = 0 if before is None else len(before.partitions)
            if before is None or before.name not in news.topics:
                self._hold_back(topic_id, {index: row for index, row in rows.items() if index >= count})
                known = {index: row for index, row in rows.items() if index < count}
                if before is not None and known:
                    yield TopicUpdate(before, evolve(before, partitions=_with_rows(before.partitions, known)))
        if is_reconfigured:
            yield from self._reconfigured()

    def _hold_back(self, topic_id: TopicId, rows: Mapping[int, PartitionRecord]) -> None:
        """Rows of partitions that their topic does not have yet: where a commit is done in parts they come first, and
        count when the topic's own row has come."""
        if rows and topic_id not in self.deleting:
            self._early.setdefault(topic_id, {}).update(rows)
            while len(self._early) > MOST_EARLY:
                # Whoever put them has ended in between; the topic will not come.
                del self._early[next(iter(self._early))]

    def keys(self) -> Iterator[str]:
        """The rows of the catalogue that are known."""
        for topic in self.view:
            yield topic.record.key
        for record in self.deleting.values():
            yield record.deleting_key
        for node_id in self._dynamic:
            yield broker_configs_key(node_id)
        yield from self.groups.keys()
        yield from self.tenants.keys()

    # -- internals

    def _planner(self, nodes: Mapping[int, NodeRecord] | None) -> TopicPlanner:
        known = nodes or {self.node_id: NodeRecord(self.node_id, ())}
        return TopicPlanner(self.view, self.settings, known, self.random_bytes)

    def _config_planner(self, nodes: Collection[int] = ()) -> ConfigPlanner:
        return ConfigPlanner(
            self.view, self.settings, self.node_id, self._dynamic, self._dynamic_revisions, self.groups, nodes
        )

    def _reconfigured(self) -> Iterator[TopicUpdate]:
        for topic in list(self.view):
            config = self.settings.stored_topic_config(topic.config.overrides)
            if config.values != topic.config.values:
                yield TopicUpdate(topic, evolve(topic, config=config))

    def _take_broker_configs(self, news: News) -> bool:
        """Whether the settings of this node have changed."""
        for node_id, (configs, revision) in news.broker_configs.items():
            self._dynamic[node_id] = configs
            self._dynamic_revisions[node_id] = revision
        is_mine = not news.broker_configs.keys().isdisjoint((None, self.node_id))
        if is_mine:
            self._resolve_settings()
        return is_mine

    def _topic(
        self, record: TopicRecord, revision: int, before: Topic | None, rows: Mapping[int, PartitionRecord]
    ) -> Topic:
        rows = {index: row for index, row in rows.items() if index < record.partition_count}
        partitions = _with_rows(() if before is None else before.partitions, rows)
        assert len(partitions) == record.partition_count, "a topic's row and those of its partitions change together"
        config = self.settings.stored_topic_config(record.configs)
        return Topic(record.name, record.id, partitions, config, revision)

    def _resolve_settings(self) -> None:
        self.settings = evolve(
            self.settings,
            dynamic=self.settings.stored_values(self._dynamic.get(self.node_id, {})),
            dynamic_default=self.settings.stored_values(self._dynamic.get(None, {})),
        )


def _with_rows(before: tuple[PartitionRecord, ...], rows: Mapping[int, PartitionRecord]) -> tuple[PartitionRecord, ...]:
    """A topic's partitions after some of their rows have changed, or come."""
    if not rows:
        return before
    held = {**dict(enumerate(before)), **rows}
    return tuple(held[index] for index in range(len(held)))
