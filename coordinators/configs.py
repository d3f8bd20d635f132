"""Altering configs while the broker runs: of topics, of a node, of all nodes, of groups. Kafka's rules and errors.

What a node has in force only that node tells; what it is to have may be altered on any node of the cluster.

A topic's setting that cannot be is `InvalidConfig`; a broker's is `InvalidRequest`, as Kafka answers it
(KAFKA-13609).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum

from attrs import evolve, frozen

from coordinators.group_configs import GROUP_CONFIGS, GroupConfigs
from coordinators.letter_rules import NAMED_BY_GROUP, LetterRules, check_defaults, check_group_target
from coordinators.topic_names import check_topic_name
from coordinators.topic_view import Plan, PlanBuilder, Topic, TopicView
from engine.catalogue.catalogue import Commit, Compare, Put
from engine.catalogue.records import broker_configs_key, encode
from engine.config.keys import ConfigKey, ConfigType
from engine.config.resolve import (
    BrokerSettings,
    ConfigEntry,
    describe_broker,
    describe_broker_default,
    describe_topic,
)
from engine.config.topic import topic_key
from engine.errors import BrokerError, InvalidConfig, InvalidRequest, UnknownTopicOrPartition


class ResourceType(IntEnum):
    """Kafka's numbers of what can have configs here."""

    TOPIC = 2
    BROKER = 4
    GROUP = 32


@frozen
class ConfigResource:
    """A topic or a group by name, a node by its id as text, or all nodes ("")."""

    type: int
    name: str


class AlterOperation(IntEnum):
    """What an incremental alteration does (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@frozen
class ConfigAlteration:
    """One key of an incremental alteration."""

    name: str
    operation: int
    value: str | None = None


@frozen
class ConfigPlanner:
    """What alterations are planned against. `dynamic` holds broker configs as text, by node (None: all)."""

    view: TopicView
    settings: BrokerSettings
    node_id: int
    dynamic: Mapping[int | None, Mapping[str, str]]
    dynamic_revisions: Mapping[int | None, int]
    groups: GroupConfigs
    nodes: Collection[int] = ()
    """The other nodes that are registered."""

    def plan_alter(self, wanted: Sequence[tuple[ConfigResource, Sequence[ConfigAlteration]]]) -> Plan[ConfigResource]:
        """IncrementalAlterConfigs: single keys are set, removed, or their lists changed."""
        builder = PlanBuilder[ConfigResource]()
        letters = LetterRules(self.view)
        counts = Counter(resource for resource, _alterations in wanted)
        for resource, alterations in wanted:
            try:
                _check_once(counts[resource])
                builder.add(resource, self._altered(resource, alterations, letters))
            except BrokerError as error:
                builder.refuse(error)
        return builder.finish()

    def plan_replace(self, wanted: Sequence[tuple[ConfigResource, Mapping[str, str | None]]]) -> Plan[ConfigResource]:
        """AlterConfigs: what is given replaces all settings of the resource."""
        builder = PlanBuilder[ConfigResource]()
        letters = LetterRules(self.view)
        counts = Counter(resource for resource, _configs in wanted)
        for resource, configs in wanted:
            try:
                _check_once(counts[resource])
                builder.add(resource, self._replaced(resource, configs, letters))
            except BrokerError as error:
                builder.refuse(error)
        return builder.finish()

    def describe(self, resource: ConfigResource, names: Collection[str] | None = None) -> list[ConfigEntry]:
        """DescribeConfigs: the keys named, or all."""
        entries = self._described(resource)
        return [entry for entry in entries if entry.key.name in names] if names else entries

    def _described(self, resource: ConfigResource) -> list[ConfigEntry]:
        if resource.type == ResourceType.TOPIC:
            check_topic_name(resource.name)
            return describe_topic(self._topic(resource.name).config, self.settings)
        if resource.type == ResourceType.GROUP:
            return self.groups.describe(resource.name)
        node_id = self._node(resource, is_this_one=True)
        return describe_broker_default(self.settings) if node_id is None else describe_broker(self.settings)

    def _altered(
        self, resource: ConfigResource, alterations: Sequence[ConfigAlteration], letters: LetterRules
    ) -> Commit:
        _check_alterations(alterations)
        if resource.type == ResourceType.TOPIC:
            topic = self._topic(resource.name)
            configs = {**topic.config.overrides}
            for alteration in alterations:
                if alteration.operation == AlterOperation.DELETE:
                    # Kafka takes the removal of a key that it does not know.
                    configs.pop(alteration.name, None)
                    continue
                _alter(configs, alteration, topic_key(alteration.name), self._inherited_list(alteration.name))
            return self._topic_change(topic, configs, letters)
        if resource.type == ResourceType.GROUP:
            return self._group_change(resource.name, self._altered_group(resource.name, alterations))
        node_id = self._node(resource)
        configs = {**self.dynamic.get(node_id, {})}
        for alteration in alterations:
            key = _dynamic_broker_key(self.settings, alteration.name)
            _alter(configs, alteration, key, _items(key.format(self.settings[key.name]) or ""))
        return self._broker_change(node_id, configs)

    def _replaced(self, resource: ConfigResource, configs: Mapping[str, str | None], letters: LetterRules) -> Commit:
        given = {name: value for name, value in configs.items() if value is not None}
        if len(given) != len(configs):
            unset = ",".join(name for name, value in configs.items() if value is None)
            raise InvalidRequest(f"Null value not supported for : {unset}")
        if resource.type == ResourceType.TOPIC:
            return self._topic_change(self._topic(resource.name), given, letters)
        if resource.type == ResourceType.GROUP:
            return self._group_change(resource.name, given)
        node_id = self._node(resource)
        for name in given:
            _dynamic_broker_key(self.settings, name)
        return self._broker_change(node_id, given)

    def _group_change(self, group_id: str, configs: Mapping[str, str]) -> Commit:
        change = self.groups.plan(group_id, configs)
        target = configs.get(NAMED_BY_GROUP)
        if target and target != self.groups.own(group_id).get(NAMED_BY_GROUP):
            check_group_target(target, self.view.by_name.get(target), self.settings)
        return change

    def _altered_group(self, group_id: str, alterations: Sequence[ConfigAlteration]) -> dict[str, str]:
        configs = {**self.groups.own(group_id)}
        for alteration in alterations:
            group_key = GROUP_CONFIGS.get(alteration.name)
            if group_key is not None:
                inherited = _items(group_key.key.format(group_key.default(self.settings)) or "")
                _alter(configs, alteration, group_key.key, inherited)
            elif alteration.operation != AlterOperation.DELETE:
                raise InvalidConfig(f"Unknown group config name: {alteration.name}")
        return configs

    def _topic(self, name: str) -> Topic:
        if not name:
            raise InvalidRequest("Default topic resources are not allowed.")
        topic = self.view.by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
        return topic

    def _node(self, resource: ConfigResource, *, is_this_one: bool = False) -> int | None:
        if resource.type != ResourceType.BROKER:
            raise InvalidRequest(f"Configs of resource type {resource.type} are not served.")
        if not resource.name:
            return None
        try:
            node_id = int(resource.name)
        except ValueError:
            raise InvalidRequest(f"Node id must be an integer, but it is: {resource.name}") from None
        if node_id != self.node_id and (is_this_one or node_id not in self.nodes):
            raise InvalidRequest(
                f"Unexpected broker id, expected {self.node_id} or empty string, but received {resource.name}"
            )
        return node_id

    def _inherited_list(self, name: str) -> list[str]:
        """What APPEND and SUBTRACT start from if the topic has no list of its own."""
        key = topic_key(name)
        return _items(key.format(self.settings.topic_defaults[name]) or "")

    def _topic_change(self, topic: Topic, configs: Mapping[str, str], letters: LetterRules) -> Commit:
        if configs == topic.config.overrides:
            return Commit()
        after = Topic(topic.name, topic.topic_id, topic.partitions, self.settings.topic_config(configs), topic.revision)
        letters.check(after, topic)
        letters.plan(after)
        record = after.record
        return Commit((Compare(record.key, topic.revision),), (Put(record.key, record.encode()),))

    def _broker_change(self, node_id: int | None, configs: Mapping[str, str]) -> Commit:
        if configs == self.dynamic.get(node_id, {}):
            return Commit()
        self._check_broker(node_id, configs)
        key = broker_configs_key(node_id)
        compare = Compare(key, self.dynamic_revisions.get(node_id, 0))
        return Commit((compare,), (Put(key, encode(dict(configs))),))

    def _check_broker(self, node_id: int | None, configs: Mapping[str, str]) -> None:
        try:
            values = {name: self.settings.keys[name].parse(text) for name, text in configs.items()}
            if node_id is None:
                settings = evolve(self.settings, dynamic_default=values)
            else:
                # Of another node what its own configuration says is not known here, and does not matter for a check.
                settings = evolve(self.settings, dynamic=values)
            settings.check()
            check_defaults(self.view, self.settings, settings)
        except InvalidConfig as error:
            raise InvalidRequest(str(error)) from None


def _check_once(times: int) -> None:
    if times > 1:
        raise InvalidRequest("Each resource must appear at most once.")


def _check_alterations(alterations: Sequence[ConfigAlteration]) -> None:
    if len({alteration.name for alteration in alterations}) < len(alterations):
        raise InvalidRequest("Error due to duplicate config keys")
    unset = [each.name for each in alterations if each.value is None and each.operation != AlterOperation.DELETE]
    if unset:
        raise InvalidRequest(f"Null value not supported for : {','.join(unset)}")
    for alteration in alterations:
        if alteration.operation not in AlterOperation._value2member_map_:
            raise InvalidRequest(f"Unknown config operation {alteration.operation} for {alteration.name}")


def _dynamic_broker_key(settings: BrokerSettings, name: str) -> ConfigKey:
    key = settings.keys.get(name)
    if key is None:
        raise InvalidRequest(f"Unknown broker config name: {name}")
    if key.read_only:
        raise InvalidRequest(f"Cannot update these configs dynamically: {name}")
    return key


def _alter(configs: dict[str, str], alteration: ConfigAlteration, key: ConfigKey, inherited: list[str]) -> None:
    """Applies one alteration to the settings of a resource; whether the value can be is seen later."""
    name, value = alteration.name, alteration.value or ""
    if alteration.operation == AlterOperation.SET:
        configs[name] = value
    elif alteration.operation == AlterOperation.DELETE:
        configs.pop(name, None)
    else:
        if key.type is not ConfigType.LIST:
            operation = AlterOperation(alteration.operation).name.lower()
            raise InvalidConfig(f"Config value {operation} is not allowed for config key: {name}")
        present = _items(configs[name]) if name in configs else inherited
        configs[name] = ",".join(_combined(present, _items(value), alteration.operation))


def _combined(present: list[str], given: list[str], operation: int) -> list[str]:
    if operation == AlterOperation.APPEND:
        return present + [item for item in dict.fromkeys(given) if item not in present]
    return [item for item in present if item not in given]


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
