"""The broker keys of groups that use the new consumer protocol (KIP-848)."""

from engine.config.keys import INT_MAX, ConfigKey, ConfigType, Rule, at_least, one_of

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
