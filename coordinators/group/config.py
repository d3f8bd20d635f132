"""The configuration of the group coordinator: its broker keys, and what they come to as plain numbers.

The keys of groups that use the new consumer protocol (KIP-848) stand below the others.
"""

from attrs import frozen

from coordinators.group_keys import GroupKey, behind
from engine.config.keys import INT_MAX, ConfigKey, ConfigType, Importance, Rule, at_least, between, one_of
from engine.config.resolve import BrokerSettings

GROUP_KEYS = (
    ConfigKey(
        "max.configured.groups",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. The most groups that may have configs of their own, whether or not they have members. "
        "They are kept by every node, and are the groups' until they are taken back.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.min.session.timeout.ms",
        ConfigType.INT,
        6_000,
        "The shortest session timeout that a group member may ask for, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.max.session.timeout.ms",
        ConfigType.INT,
        1_800_000,
        "The longest session timeout that a group member may ask for, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.initial.rebalance.delay.ms",
        ConfigType.INT,
        3_000,
        "How long a new group waits for more members before its first rebalance, in milliseconds. Tests set 0.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.max.size",
        ConfigType.INT,
        INT_MAX,
        "The most members that one group may have.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "offset.metadata.max.bytes",
        ConfigType.INT,
        4_096,
        "The longest text that may be committed with an offset, in bytes.",
        at_least(0),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "offsets.retention.minutes",
        ConfigType.INT,
        7 * 24 * 60,
        "How long committed offsets are kept after their group has become empty, or, for a group without members, "
        "after the commit, in minutes.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "offsets.retention.check.interval.ms",
        ConfigType.LONG,
        600_000,
        "How often the broker looks for committed offsets that are no longer kept, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "offsets.topic.num.partitions",
        ConfigType.INT,
        50,
        "How many partitions the topic of committed offsets and groups gets when it is made.",
        between(1, 10_000),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "offsets.topic.segment.bytes",
        ConfigType.INT,
        100 * 1024 * 1024,
        "The size of a segment file of that topic, in bytes; small ones are compacted sooner and load faster.",
        at_least(1024 * 1024),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "offsets.topic.replication.factor",
        ConfigType.SHORT,
        1,
        "How many replicas that topic gets. In a cluster the default is 3, or as many as there are nodes that can take "
        "some.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="one node has one replica.",
    ),
)

ASSIGNORS = ("uniform", "range")


def _some_assignors(values: tuple[str, ...]) -> bool:
    return bool(values) and set(values) <= set(ASSIGNORS) and len(set(values)) == len(values)


CONSUMER_GROUP_KEYS = (
    ConfigKey(
        "group.consumer.session.timeout.ms",
        ConfigType.INT,
        45_000,
        "How long a member of a group of the new consumer protocol may be silent before it is taken out, in "
        "milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.min.session.timeout.ms",
        ConfigType.INT,
        45_000,
        "The least that a group may choose as consumer.session.timeout.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.max.session.timeout.ms",
        ConfigType.INT,
        60_000,
        "The most that a group may choose as consumer.session.timeout.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.heartbeat.interval.ms",
        ConfigType.INT,
        5_000,
        "The longest time between two heartbeats of a member of such a group, in milliseconds. Members learn of a new "
        "assignment by their next one, so a rebalance takes about as long; where there are few members they are told "
        "to come back sooner (group.consumer.heartbeats.per.second).",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.min.heartbeat.interval.ms",
        ConfigType.INT,
        5_000,
        "The least that a group may choose as consumer.heartbeat.interval.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.max.heartbeat.interval.ms",
        ConfigType.INT,
        15_000,
        "The most that a group may choose as consumer.heartbeat.interval.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.heartbeats.per.second",
        ConfigType.INT,
        100,
        "As long as all members of such groups on this node together send fewer heartbeats than this, they are told to "
        "send them more often than group.consumer.heartbeat.interval.ms, down to every 200 ms. 0 leaves it at the "
        "interval.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.max.size",
        ConfigType.INT,
        INT_MAX,
        "The most members that one such group may have.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.assignment.interval.ms",
        ConfigType.INT,
        1_000,
        "The longest time from one assignment of such a group to the next, in milliseconds. There is none for a group "
        "with fewer than 200 members and partitions, and it grows with them: where many members come at once, one "
        "assignment is for all of them.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.min.assignment.interval.ms",
        ConfigType.INT,
        0,
        "The least that a group may choose as consumer.assignment.interval.ms.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.max.assignment.interval.ms",
        ConfigType.INT,
        15_000,
        "The most that a group may choose as consumer.assignment.interval.ms.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.assignors",
        ConfigType.LIST,
        ASSIGNORS,
        "The assignors that members of such groups may ask for; the first is for those that do not ask.",
        Rule(_some_assignors, "a list of uniform, range, each at most once, and not empty"),
        dynamic=False,
    ),
    ConfigKey(
        "group.consumer.migration.policy",
        ConfigType.STRING,
        "bidirectional",
        "Whether a group that has members may pass from the classic protocol to the new one (upgrade), back "
        "(downgrade), both (bidirectional) or neither (disabled). A group without members passes in any case.",
        one_of("disabled", "downgrade", "upgrade", "bidirectional"),
        dynamic=False,
    ),
)

CONSUMER_CONFIGS = (
    GroupKey(
        ConfigKey(
            "consumer.session.timeout.ms",
            ConfigType.INT,
            45_000,
            "How long a member of the group may be silent before it is taken out, in milliseconds; of groups of the "
            "new consumer protocol.",
            at_least(1),
            synonyms=behind("group.consumer.session.timeout.ms"),
        ),
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    GroupKey(
        ConfigKey(
            "consumer.heartbeat.interval.ms",
            ConfigType.INT,
            5_000,
            "The longest time between two heartbeats of a member, in milliseconds; of groups of the new consumer "
            "protocol.",
            at_least(1),
            synonyms=behind("group.consumer.heartbeat.interval.ms"),
        ),
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    GroupKey(
        ConfigKey(
            "consumer.assignment.interval.ms",
            ConfigType.INT,
            1_000,
            "The longest time from one assignment of the group to the next, in milliseconds; of groups of the new "
            "consumer protocol.",
            at_least(0),
            synonyms=behind("group.consumer.assignment.interval.ms"),
        ),
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
)


@frozen
class GroupSettings:
    """Kafka's keys `group.*` and `offset*`; the defaults are Kafka's."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_heartbeats_per_second: int = 100
    consumer_max_size: int = 2**31 - 1
    consumer_assignment_interval_ms: int = 1_000
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    share_max_size: int = 200
    streams_max_size: int = 2**31 - 1

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupSettings":
        """What the broker's configuration says."""
        return cls(
            min_session_timeout_ms=settings.integer("group.min.session.timeout.ms"),
            max_session_timeout_ms=settings.integer("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
            max_size=settings.integer("group.max.size"),
            offset_metadata_max_bytes=settings.integer("offset.metadata.max.bytes"),
            offsets_retention_ms=settings.integer("offsets.retention.minutes") * 60_000,
            offsets_retention_check_interval_ms=settings.integer("offsets.retention.check.interval.ms"),
            consumer_session_timeout_ms=settings.integer("group.consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms=settings.integer("group.consumer.heartbeat.interval.ms"),
            consumer_heartbeats_per_second=settings.integer("group.consumer.heartbeats.per.second"),
            consumer_max_size=settings.integer("group.consumer.max.size"),
            consumer_assignment_interval_ms=settings.integer("group.consumer.assignment.interval.ms"),
            consumer_assignors=settings.items("group.consumer.assignors"),
            consumer_migration_policy=settings.text("group.consumer.migration.policy"),
            share_max_size=settings.integer("group.share.max.size"),
            streams_max_size=settings.integer("group.streams.max.size"),
        )
