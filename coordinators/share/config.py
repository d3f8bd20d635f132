"""The configuration of share groups: what the broker says of all of them, and what a group may choose for itself.

The broker's keys stand in `broker_keys.py`, the groups' here; `ShareGroupSettings` is what comes of both for one group.
"""

import re
from collections.abc import Mapping

from attrs import frozen

from coordinators.group_keys import GroupKey, behind
from coordinators.topic_names import is_legal_topic_name
from engine.config.keys import ConfigKey, ConfigType, Rule, Value, at_least, between, distinct_from, one_of
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig
from engine.stage.headers import PRIORITIES

BY_DURATION = "by_duration:"
MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, MS_PER_SECOND = 86_400_000, 3_600_000, 60_000, 1_000

_DURATION = re.compile(
    r"\+?P(?:\+?(\d{1,18})D)?(?:T(?=[+\d])(?:\+?(\d{1,18})H)?(?:\+?(\d{1,18})M)?(?:\+?(\d{1,18})(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
"""As Java reads an ISO 8601 duration, without negative ones."""


def duration_ms(text: str) -> int | None:
    """The milliseconds of a duration such as `P1DT2H30M`; None if it is not one."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(part is not None for part in match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    fraction_ms = int((match[5] or "").ljust(3, "0")[:3])
    return days * MS_PER_DAY + hours * MS_PER_HOUR + minutes * MS_PER_MINUTE + seconds * MS_PER_SECOND + fraction_ms


def _is_reset(text: str) -> bool:
    if text.startswith(BY_DURATION):
        age_ms = duration_ms(text.removeprefix(BY_DURATION))
        return age_ms is not None and age_ms < 2**63
    return text in ("earliest", "latest")


def _is_letter_topic(name: str) -> bool:
    return not name or (is_legal_topic_name(name) and not name.startswith("__"))


SHARE_CONFIGS = (
    GroupKey(
        ConfigKey(
            "share.session.timeout.ms",
            ConfigType.INT,
            45_000,
            "How long a member of the share group may be silent before it is taken out, in milliseconds.",
            at_least(1),
            synonyms=behind("group.share.session.timeout.ms"),
        ),
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    GroupKey(
        ConfigKey(
            "share.heartbeat.interval.ms",
            ConfigType.INT,
            5_000,
            "How often a member of the share group is told to send a heartbeat, in milliseconds.",
            at_least(1),
            synonyms=behind("group.share.heartbeat.interval.ms"),
        ),
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    GroupKey(
        ConfigKey(
            "share.assignment.interval.ms",
            ConfigType.INT,
            1_000,
            "The least time from one assignment of the share group to the next, in milliseconds, whatever its size; "
            "what is not chosen follows from the size.",
            at_least(0),
            synonyms=behind("group.share.assignment.interval.ms"),
        ),
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    GroupKey(
        ConfigKey(
            "share.record.lock.duration.ms",
            ConfigType.INT,
            30_000,
            "How long a record is the member's who was given it, in milliseconds.",
            at_least(1_000),
            synonyms=behind("group.share.record.lock.duration.ms"),
        ),
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    GroupKey(
        ConfigKey(
            "share.delivery.count.limit",
            ConfigType.INT,
            5,
            "How often a record is delivered before it is given up.",
            at_least(2),
            synonyms=behind("group.share.delivery.count.limit"),
        ),
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    GroupKey(
        ConfigKey(
            "share.partition.max.record.locks",
            ConfigType.INT,
            2_000,
            "How many offsets of a partition may be in flight, from the first that is not finished to the last that "
            "was handed out.",
            at_least(100),
            synonyms=behind("group.share.partition.max.record.locks"),
        ),
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    GroupKey(
        ConfigKey(
            "share.auto.offset.reset",
            ConfigType.STRING,
            "latest",
            "Where the share group begins in a partition that is new to it: `earliest`, `latest`, or "
            "`by_duration:PnDTnHnMnS`, with what is at most so old.",
            Rule(_is_reset, "earliest, latest or by_duration:PnDTnHnMn.nS"),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.isolation.level",
            ConfigType.STRING,
            "read_uncommitted",
            "Whether records of transactions are handed out only once those are committed (`read_committed`).",
            one_of("read_committed", "read_uncommitted"),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.renew.acknowledge.enable",
            ConfigType.BOOLEAN,
            True,
            "Whether a member may have the time prolonged for which a record is its own.",
        )
    ),
    GroupKey(
        ConfigKey(
            "share.retry.backoff.ms",
            ConfigType.INT,
            1_000,
            "Tidegate's own key. How long a record that was released, or whose time ran out, waits before it is "
            "delivered for the second time, in milliseconds. 0 is Kafka's way: it does not wait.",
            at_least(0),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.retry.backoff.multiplier",
            ConfigType.DOUBLE,
            2.0,
            "Tidegate's own key. How many times longer each further wait is than the one before.",
            between(1.0, 100.0),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.retry.backoff.max.ms",
            ConfigType.INT,
            60_000,
            "Tidegate's own key. The longest of these waits, in milliseconds.",
            at_least(0),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.release.backoff.max.ms",
            ConfigType.INT,
            900_000,
            "Tidegate's own key. The longest wait that a worker may ask for when it releases a record, in "
            "milliseconds: longer ones are cut to it. 0: what a worker asks for does not count, but the group's own "
            "waits.",
            at_least(0),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.consumer.max.in.flight",
            ConfigType.INT,
            1_000,
            "Tidegate's own key. How many records one member may hold at a time, of all partitions that a node leads.",
            at_least(1),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.order",
            ConfigType.STRING,
            "none",
            "Tidegate's own key. With `key` a record is not handed out before those of the same key that come before "
            "it are settled.",
            one_of("none", "key"),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.priority.lanes",
            ConfigType.LIST,
            (),
            "Tidegate's own key. The priorities that the group is given records of, where a topic has priorities; "
            "without any it is given all.",
            distinct_from(*PRIORITIES),
        )
    ),
    GroupKey(
        ConfigKey(
            "share.dead.letters.enable",
            ConfigType.BOOLEAN,
            True,
            "Tidegate's own key. Whether records that were rejected, or delivered too often, are kept in a dead-letter "
            "topic.",
        )
    ),
    GroupKey(
        ConfigKey(
            "errors.deadletterqueue.topic.name",
            ConfigType.STRING,
            "",
            "Which topic that is (KIP-1191); empty stands for the topic's own name with `.dlq` behind it.",
            Rule(_is_letter_topic, "a topic's name that does not begin with __, or empty"),
        )
    ),
    GroupKey(
        ConfigKey(
            "errors.deadletterqueue.copy.record.enable",
            ConfigType.BOOLEAN,
            True,
            "Whether a dead letter holds the record, or only says where it was (KIP-1191).",
            default_reason="a dead letter is there to be looked at and sent again, also when its record is gone.",
        )
    ),
)


def check_bounds(settings: BrokerSettings) -> None:
    """`InvalidConfig` where the broker's own keys of share groups contradict each other, as Kafka has it: what groups
    obey that choose nothing must be what they could choose."""
    for each in SHARE_CONFIGS:
        for synonym in each.key.synonyms if each.least else ():
            least, value, most = (settings.integer(name) for name in (each.least, synonym.name, each.greatest))
            if least > most:
                raise InvalidConfig(f"{each.least} ({least}) must be at most {each.greatest} ({most})")
            if not least <= value <= most:
                raise InvalidConfig(
                    f"{synonym.name} ({value}) must be from {each.least} ({least}) to {each.greatest} ({most})"
                )
    session, heartbeat = "group.share.session.timeout.ms", "group.share.heartbeat.interval.ms"
    if settings.integer(session) <= settings.integer(heartbeat):
        raise InvalidConfig(
            f"{session} ({settings.integer(session)}) must be greater than {heartbeat} ({settings.integer(heartbeat)})"
        )


@frozen
class ShareGroupSettings:
    """What one share group obeys; the defaults are those of a broker that is not told otherwise."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    max_record_locks: int = 2_000
    assignment_interval_ms: int = 1_000
    auto_offset_reset: str = "latest"
    committed: bool = False
    """Whether only committed records are handed out."""
    renew_enabled: bool = True
    retry_backoff_ms: int = 1_000
    retry_backoff_multiplier: float = 2.0
    retry_backoff_max_ms: int = 60_000
    release_backoff_max_ms: int = 900_000
    max_in_flight: int = 1_000
    order_by_key: bool = False
    priority_lanes: tuple[str, ...] = ()
    """By name; empty is all."""
    dead_letters_enabled: bool = True
    dead_letter_topic: str = ""
    """Empty is the topic's own name and `.dlq`."""
    copies_dead_letters: bool = True

    @property
    def reset_age_ms(self) -> int | None:
        """How old a record may be with which the group begins, where that is by its age."""
        if not self.auto_offset_reset.startswith(BY_DURATION):
            return None
        return duration_ms(self.auto_offset_reset.removeprefix(BY_DURATION))

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "ShareGroupSettings":
        """What the keys of a group say."""

        def number(name: str) -> int:
            value = values[name]
            assert isinstance(value, int), f"{name} is not a number"
            return value

        def text(name: str) -> str:
            value = values[name]
            assert isinstance(value, str), f"{name} is not text"
            return value

        multiplier, lanes = values["share.retry.backoff.multiplier"], values["share.priority.lanes"]
        assert isinstance(multiplier, float)
        assert isinstance(lanes, tuple)
        return cls(
            session_timeout_ms=number("share.session.timeout.ms"),
            heartbeat_interval_ms=number("share.heartbeat.interval.ms"),
            lock_duration_ms=number("share.record.lock.duration.ms"),
            delivery_count_limit=number("share.delivery.count.limit"),
            max_record_locks=number("share.partition.max.record.locks"),
            assignment_interval_ms=number("share.assignment.interval.ms"),
            auto_offset_reset=text("share.auto.offset.reset"),
            committed=text("share.isolation.level") == "read_committed",
            renew_enabled=bool(values["share.renew.acknowledge.enable"]),
            retry_backoff_ms=number("share.retry.backoff.ms"),
            retry_backoff_multiplier=multiplier,
            retry_backoff_max_ms=number("share.retry.backoff.max.ms"),
            release_backoff_max_ms=number("share.release.backoff.max.ms"),
            max_in_flight=number("share.consumer.max.in.flight"),
            order_by_key=text("share.order") == "key",
            priority_lanes=lanes,
            dead_letters_enabled=bool(values["share.dead.letters.enable"]),
            dead_letter_topic=text("errors.deadletterqueue.topic.name"),
            copies_dead_letters=bool(values["errors.deadletterqueue.copy.record.enable"]),
        )
