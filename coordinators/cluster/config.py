"""The broker keys of a cluster: who may lead, and how a node comes and goes."""

from engine.config.keys import ConfigKey, ConfigType, Importance, at_least, one_of

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

CLUSTER_KEYS = (
    ConfigKey(
        "auto.leader.rebalance.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether the first replica of a partition leads it again by itself, once it is in sync.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        ConfigType.LONG,
        300,
        "How often the controller looks for partitions that their first replica could lead. It also looks some "
        "seconds after one has come back.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "initial.broker.registration.timeout.ms",
        ConfigType.INT,
        30_000,
        "How long a node that starts waits, in milliseconds, while another of its number is alive in the cluster. Then "
        "it gives up.",
        at_least(0),
        dynamic=False,
        default_reason="a session ends within seconds here; who is alive after that is another node.",
    ),
    ConfigKey(
        "controlled.shutdown.max.wait.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a node that stops waits, in milliseconds, until others lead what they can of its "
        "partitions.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "replica.lag.time.max.ms",
        ConfigType.LONG,
        3_000,
        "A follower that has not had all of a partition for so long, in milliseconds, or has not fetched, is taken out "
        "of the in-sync replicas.",
        at_least(100),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="for so long a follower that hangs holds up producers that wait for all.",
    ),
    ConfigKey(
        "replica.fetch.wait.max.ms",
        ConfigType.INT,
        500,
        "How long a leader keeps a follower's fetch waiting, in milliseconds, if there is nothing new for it.",
        at_least(1),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "replica.fetch.max.bytes",
        ConfigType.INT,
        1024 * 1024,
        "How much a follower asks for of one partition at a time, in bytes.",
        at_least(1024),
        dynamic=False,
    ),
    ConfigKey(
        "replica.fetch.response.max.bytes",
        ConfigType.INT,
        4 * 1024 * 1024,
        "How much a follower asks for at a time of all partitions of one leader, in bytes.",
        at_least(1024),
        dynamic=False,
        default_reason="what is appended in one go keeps the loop of the node for a moment.",
    ),
    ConfigKey(
        "replica.selector.class",
        ConfigType.STRING,
        RACK_AWARE,
        "Which replica a consumer reads from that says in which rack it is: the one there, or with an empty value "
        "always the leader (KIP-392).",
        one_of("", RACK_AWARE),
        dynamic=False,
        default_reason="a consumer that names its rack wants this.",
    ),
)
