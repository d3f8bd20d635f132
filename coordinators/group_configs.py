"""What groups are configured to: keys of their own, which go before the broker's (KIP-848, KIP-932).

A group may be configured before it has a member, and stays so when it is deleted, as in Kafka. What was altered while
the broker runs is in force at once, for groups that have members too: whoever obeys a key asks for it when it matters.
"""

from collections.abc import Collection, Iterable, Mapping

from attrs import define, field

from coordinators.group.config import CONSUMER_CONFIGS
from coordinators.group.streams.config import STREAMS_CONFIGS, StreamsGroupSettings
from coordinators.group_keys import GroupKey
from coordinators.share.config import SHARE_CONFIGS, ShareGroupSettings
from coordinators.tenants.tenants import Tenants
from engine.catalogue.catalogue import Commit, Compare, Delete, Put
from engine.catalogue.records import encode, group_configs_key
from engine.config.keys import Value
from engine.config.resolve import BrokerSettings, ConfigEntry, ConfigSource, SourcedValue
from engine.errors import InvalidConfig, InvalidRequest, PolicyViolation

GROUP_CONFIGS: dict[str, GroupKey] = {each.name: each for each in (*CONSUMER_CONFIGS, *SHARE_CONFIGS, *STREAMS_CONFIGS)}
"""All that a group can be configured with, by name."""

LETTER_TOPIC = "errors.deadletterqueue.topic.name"
MOST_GROUPS = "max.configured.groups"

SESSIONS = (
    ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"),
    ("share.session.timeout.ms", "share.heartbeat.interval.ms"),
    ("streams.session.timeout.ms", "streams.heartbeat.interval.ms"),
)
"""Who is to be noticed as silent must have been asked to speak before: the first is more than the second."""


@define(eq=False)
class GroupConfigs:
    """See the module. `settings` are the node's own: the broker keys behind the groups' cannot be altered."""

    settings: BrokerSettings
    tenants: Tenants = field(factory=Tenants)
    _own: dict[str, Mapping[str, str]] = field(factory=dict, init=False)
    _revisions: dict[str, int] = field(factory=dict, init=False)
    _defaults: Mapping[str, Value] = field(init=False)
    _shares: dict[str, ShareGroupSettings] = field(factory=dict, init=False)
    """Of those that have chosen something."""
    _share_default: ShareGroupSettings = field(init=False)
    _streams: dict[str, StreamsGroupSettings] = field(factory=dict, init=False)
    _streams_default: StreamsGroupSettings = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._defaults = {name: each.default(self.settings) for name, each in GROUP_CONFIGS.items()}
        self._share_default = ShareGroupSettings.of(self._defaults)
        self._streams_default = StreamsGroupSettings.of(self._defaults)

    # -- what is in force

    def values(self, group_id: str) -> Mapping[str, Value]:
        """Every key of a group."""
        own = self._own.get(group_id)
        return self._defaults if own is None else {**self._defaults, **self._stored(own)}

    def share_settings(self, group_id: str) -> ShareGroupSettings:
        """What a share group obeys."""
        if group_id not in self._own:
            return self._share_default
        settings = self._shares.get(group_id)
        if settings is None:
            settings = self._shares[group_id] = ShareGroupSettings.of(self.values(group_id))
        return settings

    def streams_settings(self, group_id: str) -> StreamsGroupSettings:
        """What a streams group obeys."""
        if group_id not in self._own:
            return self._streams_default
        settings = self._streams.get(group_id)
        if settings is None:
            settings = self._streams[group_id] = StreamsGroupSettings.of(self.values(group_id))
        return settings

    def chosen(self, group_id: str, name: str) -> int | None:
        """The number that a group has chosen itself; None if it has not."""
        own = self._own.get(group_id)
        value = None if own is None else self._stored(own).get(name)
        return value if isinstance(value, int) else None

    def group_ids(self) -> Collection[str]:
        """The groups that have chosen something."""
        return self._own.keys()

    def own(self, group_id: str) -> Mapping[str, str]:
        """What a group has chosen, as text."""
        return self._own.get(group_id, {})

    def describe(self, group_id: str) -> list[ConfigEntry]:
        """DescribeConfigs: every key, whether or not there is such a group."""
        if not group_id:
            raise InvalidRequest("Group name must not be empty")
        values = self.values(group_id)
        return [self._entry(each, values[each.name], self.own(group_id)) for each in GROUP_CONFIGS.values()]

    # -- changes

    def plan(self, group_id: str, configs: Mapping[str, str]) -> Commit:
        """What makes these a group's configs; `InvalidConfig` if they cannot be."""
        if not group_id:
            raise InvalidRequest("Default group resources are not allowed.")
        self._check(configs)
        self._check_letters(group_id, configs.get(LETTER_TOPIC))
        if configs == self.own(group_id):
            return Commit()
        if configs and group_id not in self._own:
            self._make_room()
        key = group_configs_key(group_id)
        change = Put(key, encode(dict(configs))) if configs else Delete(key)
        return Commit((Compare(key, self._revisions.get(group_id, 0)),), (change,))

    def take(self, news: Mapping[str, tuple[Mapping[str, str], int]]) -> None:
        """What the catalogue says now of some groups, with the revisions of their rows; without configs they are
        gone."""
        for group_id, (configs, revision) in news.items():
            self._shares.pop(group_id, None)
            self._streams.pop(group_id, None)
            if revision:
                self._own[group_id], self._revisions[group_id] = configs, revision
            else:
                self._own.pop(group_id, None)
                self._revisions.pop(group_id, None)

    def keys(self) -> Iterable[str]:
        """The rows of the catalogue that are known."""
        return map(group_configs_key, self._own)

    # -- internals

    def _make_room(self) -> None:
        most = self.settings.integer(MOST_GROUPS) if MOST_GROUPS in self.settings.keys else None
        if most is not None and len(self._own) >= most:
            raise PolicyViolation(
                f"{most} groups have configs of their own, and {MOST_GROUPS} allows no more: take those back that are "
                "not needed, or raise it"
            )

    def _check(self, configs: Mapping[str, str]) -> None:
        unknown = next((name for name in configs if name not in GROUP_CONFIGS), None)
        if unknown is not None:
            raise InvalidConfig(f"Unknown group config name: {unknown}")
        values = {**self._defaults}
        values.update((name, GROUP_CONFIGS[name].parse(text, self.settings)) for name, text in configs.items())
        for session, heartbeat in SESSIONS:
            if session in configs or heartbeat in configs:
                timeout_ms, interval_ms = values[session], values[heartbeat]
                assert isinstance(timeout_ms, int)
                assert isinstance(interval_ms, int)
                if timeout_ms <= interval_ms:
                    raise InvalidConfig(f"{session} must be greater than {heartbeat}")

    def _check_letters(self, group_id: str, topic: str | None) -> None:
        """Letters of a tenant's group stay with it, and nobody else's come to it."""
        if topic and self.tenants.owner(group_id) is not self.tenants.owner(topic):
            raise InvalidConfig(f"{LETTER_TOPIC}: {topic!r} is not within the namespace of the group {group_id!r}")

    def _stored(self, configs: Mapping[str, str]) -> dict[str, Value]:
        """Without what can no longer be: another version of the program must not make a group unusable."""
        values: dict[str, Value] = {}
        for name, text in configs.items():
            try:
                values[name] = GROUP_CONFIGS[name].stored(text, self.settings)
            except (KeyError, InvalidConfig):
                continue
        return values

    def _entry(self, group_key: GroupKey, value: Value, own: Mapping[str, str]) -> ConfigEntry:
        key, settings = group_key.key, self.settings
        text, synonyms = key.format(value), []
        if key.name in own:
            synonyms.append(SourcedValue(key.name, text, ConfigSource.DYNAMIC_GROUP_CONFIG))
        # Behind a key that no broker key gives a default stands its own.
        named = [synonym.name for synonym in key.synonyms if synonym.name in settings.keys]
        behind = settings.keys[named[0]] if named else key
        for source, values in (*settings.layers(), (ConfigSource.DEFAULT_CONFIG, {behind.name: behind.default})):
            if behind.name in values:
                synonyms.append(SourcedValue(behind.name, behind.format(values[behind.name]), source))
        return ConfigEntry(key, text, synonyms[0].source, tuple(synonyms), read_only=False)
