"""The broker keys of topics: how they are made, and whether they may go."""

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between

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
        "How many replicas a topic gets if whoever creates it does not say.",
        Rule(lambda value: bool(value == 1), "1 on a single node"),
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
