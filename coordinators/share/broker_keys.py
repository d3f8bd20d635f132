"""What the broker's configuration says of share groups: their members, what is handed out to them (`SHARE_GROUP_KEYS`),
where their dead letters may go (`SHARE_LETTER_KEYS`), and the topic in which their state is kept
(`SHARE_STATE_KEYS`)."""

from coordinators.topic_names import is_legal_topic_name
from engine.config.keys import ConfigKey, ConfigType, Effect, Importance, Rule, at_least, between

ASSIGNOR = "simple"

SHARE_GROUP_KEYS = (
    ConfigKey(
        "group.share.session.timeout.ms",
        ConfigType.INT,
        45_000,
        "How long a member of a share group may be silent before it is taken out, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.session.timeout.ms",
        ConfigType.INT,
        45_000,
        "The least that a share group may choose as share.session.timeout.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.session.timeout.ms",
        ConfigType.INT,
        60_000,
        "The most that a share group may choose as share.session.timeout.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.heartbeat.interval.ms",
        ConfigType.INT,
        5_000,
        "How often a member of a share group is told to send a heartbeat, in milliseconds. Members learn of a new "
        "assignment by their next one.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.heartbeat.interval.ms",
        ConfigType.INT,
        5_000,
        "The least that a share group may choose as share.heartbeat.interval.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.heartbeat.interval.ms",
        ConfigType.INT,
        15_000,
        "The most that a share group may choose as share.heartbeat.interval.ms.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.size",
        ConfigType.INT,
        200,
        "The most members that one share group may have.",
        between(1, 1_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.assignors",
        ConfigType.LIST,
        (ASSIGNOR,),
        "The assignor of share groups. There is one.",
        Rule(lambda names: names == (ASSIGNOR,), ASSIGNOR),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.assignment.interval.ms",
        ConfigType.INT,
        1_000,
        "The longest time from one assignment of a share group to the next, in milliseconds. There is none for a group "
        "with fewer than 200 members and partitions, and it grows with them: where many members come at once, one "
        "assignment is for all of them.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.assignment.interval.ms",
        ConfigType.INT,
        0,
        "The least that a share group may choose as share.assignment.interval.ms.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.assignment.interval.ms",
        ConfigType.INT,
        15_000,
        "The most that a share group may choose as share.assignment.interval.ms.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.record.lock.duration.ms",
        ConfigType.INT,
        30_000,
        "How long a record that a member of a share group was given is its own before others may have it, in "
        "milliseconds.",
        between(1_000, 3_600_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.record.lock.duration.ms",
        ConfigType.INT,
        15_000,
        "The least that a share group may choose as share.record.lock.duration.ms.",
        between(1_000, 30_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.record.lock.duration.ms",
        ConfigType.INT,
        60_000,
        "The most that a share group may choose as share.record.lock.duration.ms.",
        between(30_000, 3_600_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.delivery.count.limit",
        ConfigType.INT,
        5,
        "How often a record is delivered to a share group before it is given up.",
        between(2, 10),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.delivery.count.limit",
        ConfigType.INT,
        2,
        "The least that a share group may choose as share.delivery.count.limit.",
        between(2, 5),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.delivery.count.limit",
        ConfigType.INT,
        10,
        "The most that a share group may choose as share.delivery.count.limit.",
        between(5, 25),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.partition.max.record.locks",
        ConfigType.INT,
        2_000,
        "How many offsets of a partition a share group may have in flight, from the first that is not finished to the "
        "last that was handed out.",
        between(100, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.min.partition.max.record.locks",
        ConfigType.INT,
        100,
        "The least that a share group may choose as share.partition.max.record.locks.",
        between(100, 2_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.partition.max.record.locks",
        ConfigType.INT,
        4_000,
        "The most that a share group may choose as share.partition.max.record.locks.",
        between(2_000, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "group.share.max.share.sessions",
        ConfigType.INT,
        2_000,
        "The most sessions of members that fetch from share groups on this node.",
        at_least(1),
        dynamic=False,
    ),
)

SHARE_LETTER_KEYS = (
    ConfigKey(
        "errors.deadletterqueue.topic.name.prefix",
        ConfigType.STRING,
        "",
        "With what the names of dead-letter topics begin that share groups name themselves "
        "(errors.deadletterqueue.topic.name, KIP-1191). Topics' own dead-letter topics are called as they are.",
        Rule(lambda name: not name or is_legal_topic_name(name), "empty, or how a topic's name may begin"),
        default_reason="`<topic>.dlq` is where letters go by default.",
    ),
    ConfigKey(
        "errors.deadletterqueue.auto.create.topics.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether dead-letter topics of share groups are made when they are first needed (KIP-1191). Without it letters "
        "wait until somebody makes the topic.",
        default_reason="dead letters are on by default, and have to go somewhere.",
    ),
)

SHARE_STATE_KEYS = (
    ConfigKey(
        "max.share.partitions",
        ConfigType.INT,
        100_000,
        "Tidegate's own key. The most share partitions, which are partitions as one share group sees them, whose state "
        "is kept on this node. Past it no group can begin to read another partition.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "share.coordinator.state.topic.num.partitions",
        ConfigType.INT,
        50,
        "How many partitions the topic of the state of share groups gets when it is made.",
        between(1, 10_000),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "share.coordinator.state.topic.replication.factor",
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
        "share.coordinator.state.topic.min.isr",
        ConfigType.SHORT,
        1,
        "How many replicas of that topic must have a record before it counts. In a cluster the default is 2.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
        effect=Effect.NONE_ON_ONE_NODE,
        default_reason="one node has one replica.",
    ),
    ConfigKey(
        "share.coordinator.state.topic.segment.bytes",
        ConfigType.INT,
        8 * 1024 * 1024,
        "The size of a segment file of that topic, in bytes; small ones are pruned sooner and load faster.",
        at_least(1024 * 1024),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="every acknowledgement writes some hundred bytes, of which only the last matter at a start.",
    ),
    ConfigKey(
        "share.coordinator.snapshot.update.records.per.snapshot",
        ConfigType.INT,
        500,
        "After how many changes of a share partition's state the whole of it is written.",
        between(0, 500),
        dynamic=False,
    ),
    ConfigKey(
        "share.coordinator.write.timeout.ms",
        ConfigType.INT,
        5_000,
        "How long a write of that topic may take in a cluster, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "share.coordinator.state.topic.prune.interval.ms",
        ConfigType.INT,
        300_000,
        "How often what is no longer needed of that topic is removed, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.LOW,
    ),
    ConfigKey(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        ConfigType.INT,
        300_000,
        "How often the state of share partitions that nobody changes is written anew, so that what lies before it can "
        "be removed, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.LOW,
    ),
)
