"""All broker keys: those of the engine, the coordinators and the doors, and of the program itself.

Each part declares the keys that it obeys; here they are put together, and handed down with the settings
(`BrokerSettings.keys`). docs/configuration.md is written from them, in this order.
"""

import re

from coordinators.access.config import ACCESS_KEYS
from coordinators.access.quotas.config import QUOTA_KEYS
from coordinators.cluster.config import CLUSTER_KEYS
from coordinators.config import THROTTLE_KEYS, TOPIC_CREATION_KEYS
from coordinators.group.config import CONSUMER_GROUP_KEYS, GROUP_KEYS
from coordinators.group.streams.config import STREAMS_GROUP_KEYS
from coordinators.schemas.validation.config import VALIDATION_KEYS
from coordinators.share.broker_keys import SHARE_GROUP_KEYS, SHARE_LETTER_KEYS, SHARE_STATE_KEYS
from coordinators.tracing.config import TRACING_KEYS
from coordinators.transaction.config import TRANSACTION_KEYS
from engine.config.broker import ENGINE_KEYS
from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, by_name, one_of
from wire.grpc.config import GRPC_KEYS
from wire.http.config import HTTP_KEYS
from wire.inner.config import DOORS_KEYS
from wire.kafka.config import ANONYMOUS_KEYS, CONNECTION_KEYS, FETCH_KEYS, LISTENER_KEYS
from wire.kafka.security_config import OAUTH_KEYS, SASL_KEYS, TLS_KEYS
from wire.kafka.tenancy.config import TENANT_KEYS
from wire.registry.config import REGISTRY_KEYS
from wire.text.config import TEXT_KEYS

_ENDPOINT = re.compile(r"(https?://)?(\[[0-9a-fA-F:]+\]|[\w.-]+)(:\d+)?/?")
_PREFIX = re.compile(r"(/[\w.-]+)+")

NODE_KEYS = (
    ConfigKey(
        "node.id",
        ConfigType.INT,
        1,
        "The number of this node, as clients see it in metadata.",
        at_least(0),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="Kafka has none and asks for it; one node needs no choice.",
    ),
    ConfigKey(
        "broker.id",
        ConfigType.INT,
        1,
        "The older name of `node.id`; set one of them, or both alike.",
        at_least(0),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "broker.rack",
        ConfigType.STRING,
        None,
        "Where this node stands, as clients see it in metadata.",
        dynamic=False,
    ),
)

ETCD_KEYS = (
    ConfigKey(
        "etcd.endpoints",
        ConfigType.LIST,
        (),
        "Tidegate's own key. Where the etcd of the cluster is, as URLs of the form `http://host:2379` or "
        "`https://host:2379`; name all of its members. Without any the node is alone and keeps its catalogue in its "
        "data directory.",
        Rule(
            lambda urls: all(map(_ENDPOINT.fullmatch, urls)), "URLs of the form http://host:port or https://host:port"
        ),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "etcd.prefix",
        ConfigType.STRING,
        "/tidegate",
        "Tidegate's own key. What the names of the cluster's keys in etcd begin with: clusters that share an etcd have "
        "different ones.",
        Rule(lambda prefix: _PREFIX.fullmatch(prefix) is not None, "a path such as /tidegate"),
        dynamic=False,
    ),
    ConfigKey(
        "etcd.ssl.ca.location",
        ConfigType.STRING,
        None,
        "Tidegate's own key. A file with the certificates (PEM) of the authorities that vouch for etcd, where its "
        "endpoints begin with https; without it those of the system do.",
        dynamic=False,
    ),
    ConfigKey(
        "etcd.ssl.certificate.location",
        ConfigType.STRING,
        None,
        "Tidegate's own key. A file with the certificate (PEM) that this node shows to etcd, and what vouches for it. "
        "If etcd asks for users too, it must not have a common name.",
        dynamic=False,
    ),
    ConfigKey(
        "etcd.ssl.key.location",
        ConfigType.STRING,
        None,
        "Tidegate's own key. A file with the key (PEM, not encrypted) of that certificate; without it the file of the "
        "certificate has both.",
        dynamic=False,
    ),
    ConfigKey(
        "etcd.user",
        ConfigType.STRING,
        None,
        "Tidegate's own key. The user under which this node talks to an etcd that asks for one. It needs a role that "
        "may read and write everything under `etcd.prefix`.",
        dynamic=False,
    ),
    ConfigKey(
        "etcd.password",
        ConfigType.PASSWORD,
        None,
        "Tidegate's own key. The password of that user.",
        sensitive=True,
        dynamic=False,
    ),
    ConfigKey(
        "broker.session.timeout.ms",
        ConfigType.INT,
        2_000,
        "How long a node of a cluster may be silent before others take over what it leads. etcd rounds it up to whole "
        "seconds, and to one and a half times its own election timeout.",
        at_least(1_000),
        dynamic=False,
        default_reason="clients are to go on within four seconds; a process that has ended is noticed sooner.",
    ),
)

METRICS_KEYS = (
    ConfigKey(
        "metrics.topic.limit",
        ConfigType.INT,
        200,
        "Tidegate's own key. How many topics have metrics under their own name; those of all others are summed as "
        '`topic="other"`.',
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "metrics.partition.limit",
        ConfigType.INT,
        2_000,
        "Tidegate's own key. How many partitions have metrics of their own; how many have none is a metric too.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "metrics.tenant.limit",
        ConfigType.INT,
        200,
        "Tidegate's own key. How many tenants have metrics of their own; how many have none is a metric too.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "metrics.group.limit",
        ConfigType.INT,
        200,
        "Tidegate's own key. How many groups have metrics under their own name; how many have none is a metric too.",
        at_least(0),
        dynamic=False,
    ),
)

LOGGING_KEYS = (
    ConfigKey(
        "logging.format",
        ConfigType.STRING,
        "auto",
        "Tidegate's own key. How the program's own log is written to standard error: `text` for people, `json` with "
        "one object per line; `auto` is text on a terminal and JSON elsewhere.",
        one_of("auto", "text", "json"),
        dynamic=False,
    ),
    ConfigKey(
        "logging.level",
        ConfigType.STRING,
        "info",
        "Tidegate's own key. The least level that is written to the program's own log.",
        one_of("debug", "info", "warning", "error"),
        dynamic=False,
    ),
    ConfigKey(
        "logging.rate.limit",
        ConfigType.INT,
        10,
        "Tidegate's own key. How many lines of one kind the program's own log takes per second; the rest are counted, "
        "and the next line of that kind tells how many. 0 is no limit.",
        at_least(0),
        dynamic=False,
    ),
)

BROKER_KEYS: dict[str, ConfigKey] = by_name(
    (
        *NODE_KEYS,
        *ETCD_KEYS,
        *LISTENER_KEYS,
        *TENANT_KEYS,
        *ACCESS_KEYS,
        *ANONYMOUS_KEYS,
        *TLS_KEYS,
        *SASL_KEYS,
        *OAUTH_KEYS,
        *CLUSTER_KEYS,
        *TOPIC_CREATION_KEYS,
        *THROTTLE_KEYS,
        *ENGINE_KEYS.values(),
        *CONNECTION_KEYS,
        *FETCH_KEYS,
        *QUOTA_KEYS,
        *GROUP_KEYS,
        *CONSUMER_GROUP_KEYS,
        *SHARE_GROUP_KEYS,
        *SHARE_LETTER_KEYS,
        *SHARE_STATE_KEYS,
        *STREAMS_GROUP_KEYS,
        *TRANSACTION_KEYS,
        *TRACING_KEYS,
        *HTTP_KEYS,
        *GRPC_KEYS,
        *TEXT_KEYS,
        *DOORS_KEYS,
        *REGISTRY_KEYS,
        *VALIDATION_KEYS,
        *METRICS_KEYS,
        *LOGGING_KEYS,
    )
)
