"""The configuration of streams groups (KIP-1071): its broker keys, what a group may choose for itself, and what comes
of both for one group.
"""

from collections.abc import Mapping

from attrs import fields, frozen

from coordinators.group_keys import GroupKey, behind
from engine.config.keys import INT_MAX, ConfigKey, ConfigType, Value, at_least


def _broker_key(name: str, default: int, description: str, least: int = 1) -> ConfigKey:
    return ConfigKey(f"group.streams.{name}", ConfigType.INT, default, description, at_least(least), dynamic=False)


STREAMS_GROUP_KEYS = (
    _broker_key(
        "session.timeout.ms",
        45_000,
        "How long a member of a streams group may be silent before it is taken out, in milliseconds.",
    ),
    _broker_key("min.session.timeout.ms", 45_000, "The least that a group may choose as streams.session.timeout.ms."),
    _broker_key("max.session.timeout.ms", 60_000, "The most that a group may choose as streams.session.timeout.ms."),
    _broker_key(
        "heartbeat.interval.ms",
        5_000,
        "The longest time between two heartbeats of a member of a streams group, in milliseconds. As with consumer "
        "groups few members are told to come back sooner (group.consumer.heartbeats.per.second).",
    ),
    _broker_key(
        "min.heartbeat.interval.ms", 5_000, "The least that a group may choose as streams.heartbeat.interval.ms."
    ),
    _broker_key(
        "max.heartbeat.interval.ms", 15_000, "The most that a group may choose as streams.heartbeat.interval.ms."
    ),
    _broker_key("max.size", INT_MAX, "The most members that one streams group may have."),
    _broker_key(
        "num.standby.replicas",
        0,
        "How many standby copies each task with state has, on other processes, if there are as many.",
        0,
    ),
    _broker_key("max.standby.replicas", 2, "The most that a group may choose as streams.num.standby.replicas.", 0),
    _broker_key(
        "initial.rebalance.delay.ms",
        3_000,
        "How long a new streams group waits for more members before its first assignment, in milliseconds. Tests set "
        "0.",
        0,
    ),
    _broker_key(
        "assignment.interval.ms",
        1_000,
        "The least time from one assignment of a streams group to the next, in milliseconds: where many members come "
        "at once, one assignment is for all of them.",
        0,
    ),
    _broker_key(
        "min.assignment.interval.ms", 0, "The least that a group may choose as streams.assignment.interval.ms.", 0
    ),
    _broker_key(
        "max.assignment.interval.ms", 15_000, "The most that a group may choose as streams.assignment.interval.ms.", 0
    ),
)


def _group_key(name: str, default: int, description: str, least: str = "", greatest: str = "") -> GroupKey:
    key = ConfigKey(
        f"streams.{name}",
        ConfigType.INT,
        default,
        description,
        at_least(0 if not least.endswith((".session.timeout.ms", ".heartbeat.interval.ms")) else 1),
        synonyms=behind(f"group.streams.{name}"),
    )
    return GroupKey(key, least, greatest)


STREAMS_CONFIGS = (
    _group_key(
        "session.timeout.ms",
        45_000,
        "How long a member of the streams group may be silent before it is taken out, in milliseconds.",
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    _group_key(
        "heartbeat.interval.ms",
        5_000,
        "The time between two heartbeats of a member of the streams group, in milliseconds.",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    _group_key(
        "num.standby.replicas",
        0,
        "How many standby copies each task with state has, on other processes, if there are as many. Changing it "
        "assigns anew.",
        "",
        "group.streams.max.standby.replicas",
    ),
    _group_key(
        "initial.rebalance.delay.ms",
        3_000,
        "How long the streams group waits, when it is new or was empty, for more members before its first assignment, "
        "in milliseconds.",
    ),
    _group_key(
        "assignment.interval.ms",
        1_000,
        "The least time from one assignment of the streams group to the next, in milliseconds.",
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
)


@frozen
class StreamsGroupSettings:
    """What a streams group obeys; the defaults are Kafka's."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    num_standby_replicas: int = 0
    initial_rebalance_delay_ms: int = 3_000
    assignment_interval_ms: int = 1_000

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "StreamsGroupSettings":
        """What all keys of a group come to."""
        names = [each.name for each in fields(cls)]
        return cls(*(_number(values[f"streams.{name.replace('_', '.')}"]) for name in names))


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
