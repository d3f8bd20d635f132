"""The broker keys of the transaction coordinator and of the topic in which it keeps its state."""

from engine.config.keys import ConfigKey, ConfigType, Effect, Importance, at_least, between

TRANSACTION_KEYS = (
    ConfigKey(
        "transaction.max.timeout.ms",
        ConfigType.INT,
        900_000,
        "The longest transaction timeout that a producer may ask for, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "transactional.id.expiration.ms",
        ConfigType.INT,
        7 * 24 * 3_600_000,
        "How long a transactional id that nobody uses is remembered, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "max.transactional.ids",
        ConfigType.INT,
        100_000,
        "Tidegate's own key. The most transactional ids that are remembered. Past it those that nobody has used for "
        "longest are forgotten, none that has a transaction open or was used within transaction.max.timeout.ms; if all "
        "are, a new one is refused.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        ConfigType.INT,
        3_600_000,
        "How often transactional ids that nobody uses are looked for, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.LOW,
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether a transactional batch is taken only for a partition that its producer has added to the transaction "
        "(KIP-890).",
        dynamic=False,
        importance=Importance.LOW,
    ),
    ConfigKey(
        "transaction.state.log.num.partitions",
        ConfigType.INT,
        50,
        "How many partitions the topic of transactions gets when it is made.",
        between(1, 10_000),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "transaction.state.log.segment.bytes",
        ConfigType.INT,
        8 * 1024 * 1024,
        "The size of a segment file of that topic, in bytes; small ones are compacted sooner and load faster.",
        at_least(1024 * 1024),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="every transaction writes some hundred bytes, of which only the last hundred matter at a start.",
    ),
    ConfigKey(
        "transaction.state.log.replication.factor",
        ConfigType.SHORT,
        1,
        "How many replicas that topic gets. In a cluster the default is 3, or as many as there are nodes that can take "
        "some.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="one node has one replica.",
    ),
    ConfigKey(
        "transaction.state.log.min.isr",
        ConfigType.INT,
        1,
        "How many replicas of that topic must have a record before it counts. In a cluster the default is 2.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
        effect=Effect.NONE_ON_ONE_NODE,
        default_reason="one node has one replica.",
    ),
)
