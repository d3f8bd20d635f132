"""The broker keys of topics: how they are made, whether they may go, how fast their partitions move."""

from engine.config.keys import LONG_MAX, ConfigKey, ConfigType, Effect, Importance, at_least, between

TOPIC_CREATION_KEYS = (
    ConfigKey(
        "num.partitions",
        ConfigType.INT,
        1,
        "How many partitions a topic gets if whoever creates it does not say.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "default.replication.factor",
        ConfigType.INT,
        1,
        "How many replicas a topic gets if whoever creates it does not say. In a cluster the default is 3, or as many "
        "as there are nodes that can take some; a number that is set here is kept to, and with fewer nodes topics are "
        "refused.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "auto.create.topics.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether a topic that a client names and that does not exist is made, if the client allows it.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "delete.topic.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether topics may be deleted by clients.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "max.partitions.per.topic",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. The most partitions that one topic may have; each costs memory and files. "
        "One request creates at most 10,000 partitions in all, as in Kafka.",
        between(1, 10_000),
        dynamic=False,
    ),
)

THROTTLE_KEYS = (
    ConfigKey(
        "leader.replication.throttled.rate",
        ConfigType.LONG,
        LONG_MAX,
        "How many bytes a second this node gives, as a leader, to replicas that are catching up, of those that "
        "`leader.replication.throttled.replicas` of their topics names. What is in sync is never throttled.",
        at_least(0),
        effect=Effect.NONE_ON_ONE_NODE,
    ),
    ConfigKey(
        "follower.replication.throttled.rate",
        ConfigType.LONG,
        LONG_MAX,
        "How many bytes a second this node asks for, as a follower, for its replicas that are catching up, of those "
        "that `follower.replication.throttled.replicas` of their topics names.",
        at_least(0),
        effect=Effect.NONE_ON_ONE_NODE,
    ),
    ConfigKey(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        ConfigType.LONG,
        LONG_MAX,
        "How fast replicas move between the directories of a node; here it has one.",
        at_least(0),
        effect=Effect.NONE,
    ),
)
