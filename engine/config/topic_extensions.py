"""The topic keys of delay, priority, expiry and tracing. Kafka has none of them.

The broker keys behind them begin with `log.`, as most of Kafka's do. `priority.enable` and `dead.letter.topic` have
none: they are decisions about one topic, and a default of the first would contradict every compacted topic.
"""

import re

from engine.config.keys import (
    BrokerSynonym,
    ConfigKey,
    ConfigType,
    Importance,
    Rule,
    Value,
    at_least,
    between,
    one_of,
)

MEBIBYTE = 2**20
DAY_MS = 24 * 60 * 60 * 1000
YEAR_MS = 365 * DAY_MS
LANE_COUNT = 5
WEIGHT_MAX = 10_000
PER_SECOND_MAX = 1_000_000
PRIORITY_ENABLE = ("auto", "true", "false")
PRIORITY_POLICIES = ("weighted", "strict")
EXPIRY_POLICIES = ("drop", "dlq")

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def _weights() -> Rule:
    def one(item: str) -> bool:
        return item.isascii() and item.isdecimal() and len(item) <= 5 and 1 <= int(item) <= WEIGHT_MAX

    def accepts(items: tuple[str, ...]) -> bool:
        return len(items) == LANE_COUNT and all(one(item) for item in items)

    return Rule(accepts, f"a list of {LANE_COUNT} whole numbers, each between 1 and {WEIGHT_MAX}")


def _topic_or_empty() -> Rule:
    def accepts(name: str) -> bool:
        return not name or (name not in (".", "..") and _TOPIC_NAME.fullmatch(name) is not None)

    return Rule(accepts, "empty or the name of a topic")


def _none_or_positive() -> Rule:
    return Rule(lambda value: value == -1 or value >= 1, "at least 1, or -1 for none")


def _key(
    name: str,
    type_: ConfigType,
    default: Value,
    documentation: str,
    rule: Rule,
    *,
    has_broker_key: bool = True,
    importance: Importance = Importance.MEDIUM,
) -> ConfigKey:
    return ConfigKey(
        name,
        type_,
        default,
        f"Tidegate's own key. {documentation}",
        rule,
        importance=importance,
        synonyms=(BrokerSynonym(f"log.{name}"),) if has_broker_key else (),
    )


STAGE = (
    _key(
        "extensions.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether the headers whose names begin with `tide-` (delay, priority, expiry) are obeyed. `false` makes them "
        "plain data, right or wrong, and no batch is looked through for them.",
        Rule(lambda _value: True, ""),
        importance=Importance.HIGH,
    ),
    _key(
        "extensions.max.decompressed.bytes",
        ConfigType.INT,
        64 * MEBIBYTE,
        "How many bytes a compressed batch may have once it is decompressed, to look for `tide-` headers and to read "
        "over its records. A larger one is refused, never let through unread. With `extensions.enable=false` and "
        "`message.validation=header` none is decompressed.",
        at_least(1024),
    ),
    _key(
        "extensions.max.records",
        ConfigType.INT,
        10_000,
        "How many records a batch may hold that has a `tide-` header on any of them: each is opened, and staged at "
        "once if one is. A batch of more is refused; producers that can split it do. The default is librdkafka's own "
        "(`batch.num.messages`), other clients batch fewer.",
        at_least(1),
    ),
    _key(
        "stage.max.bytes",
        ConfigType.LONG,
        1024 * MEBIBYTE,
        "How many bytes of records a topic may have pending (delayed, or unread in a prioritised partition); further "
        "records to hold are refused. Retention leaves pending records alone, and each takes memory besides, so this "
        "is what bounds them. -1 is no limit.",
        at_least(-1),
    ),
)

DELAY = (
    _key(
        "delay.max.ms",
        ConfigType.LONG,
        YEAR_MS,
        "The longest delay that `tide-delay` and `tide-deliver-at` may ask for, in milliseconds.",
        between(0, 100 * YEAR_MS),
    ),
    _key(
        "delay.fate.retention.ms",
        ConfigType.LONG,
        DAY_MS,
        "How long one can ask what became of a record with a `tide-schedule-id` after it was delivered, cancelled or "
        "expired, in milliseconds.",
        at_least(0),
    ),
)

PRIORITY = (
    _key(
        "priority.enable",
        ConfigType.STRING,
        "auto",
        "Whether a partition's records wait in lanes by `tide-priority`. `auto`: from the first record with that "
        "header on; `true`: always; `false`: the header is plain data. Not `true` in a compacted topic.",
        one_of(*PRIORITY_ENABLE),
        has_broker_key=False,
        importance=Importance.HIGH,
    ),
    _key(
        "priority.weights",
        ConfigType.LIST,
        ("50", "25", "15", "7", "3"),
        "The shares of records that the lanes critical, high, normal, low and background get while all of them have "
        "records waiting.",
        _weights(),
    ),
    _key(
        "priority.policy",
        ConfigType.STRING,
        "weighted",
        "`weighted`: the lanes share by `priority.weights`. `strict`: a lane is served only while all higher ones are "
        "empty, and may wait for ever.",
        one_of(*PRIORITY_POLICIES),
    ),
    _key(
        "priority.starvation.ms",
        ConfigType.LONG,
        30_000,
        "A lane with records that was not served for so long while its partition was being read gets the next turn, "
        "in milliseconds. Without effect under `priority.policy=strict`.",
        at_least(1),
    ),
    _key(
        "priority.fetch.max.records",
        ConfigType.INT,
        500,
        "The most records whose order one Fetch decides. Fewer let an urgent record overtake more, at more cost per "
        "record.",
        at_least(1),
    ),
)

EXPIRY = (
    _key(
        "message.ttl.ms",
        ConfigType.LONG,
        -1,
        "How long a staged record without `tide-ttl` and `tide-expires-at` may wait from when it could first be read "
        "until it expires, in milliseconds; -1 is for ever.",
        _none_or_positive(),
    ),
    _key(
        "expiry.policy",
        ConfigType.STRING,
        "drop",
        "What happens to an expired record: `drop` forgets it, `dlq` sends it to the dead-letter topic.",
        one_of(*EXPIRY_POLICIES),
    ),
    _key(
        "dead.letter.topic",
        ConfigType.STRING,
        "",
        "The topic that dead letters go to; empty is this topic's name with `.dlq` behind it. Not the topic itself, "
        "none of the broker's own, none that is compacted, for letters may have no key.",
        _topic_or_empty(),
        has_broker_key=False,
    ),
)

LETTERS = (
    ConfigKey(
        "errors.deadletterqueue.group.enable",
        ConfigType.BOOLEAN,
        False,
        "Whether share groups may have their dead letters written to this topic (KIP-1191). A group that names a topic "
        "needs it to be `true`; for the topic's own dead-letter topic it is enough that it is not set to `false`. "
        "Topics that are made for dead letters have it.",
    ),
)

EXTENSIONS = (*STAGE, *DELAY, *PRIORITY, *EXPIRY)


TRACING = (
    ConfigKey(
        "trace.enable",
        ConfigType.BOOLEAN,
        True,
        "Tidegate's own key. Whether records are traced: those whose header `traceparent` is sampled, and those that "
        "the two keys below choose. `false` costs nothing and looks at no record.",
        synonyms=(BrokerSynonym("log.trace.enable"),),
    ),
    ConfigKey(
        "trace.sample.per.second",
        ConfigType.INT,
        10,
        "Tidegate's own key. How many records without the header `traceparent` are traced per second all the same, at "
        "most one per batch; 0 traces none.",
        between(0, PER_SECOND_MAX),
        synonyms=(BrokerSynonym("log.trace.sample.per.second"),),
    ),
    ConfigKey(
        "trace.sample.ratio",
        ConfigType.DOUBLE,
        0.0,
        "Tidegate's own key. Which share of the records without the header `traceparent` is traced besides; 0.01 is "
        "every hundredth.",
        between(0, 1),
        synonyms=(BrokerSynonym("log.trace.sample.ratio"),),
    ),
)
