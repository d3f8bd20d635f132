"""The broker keys of who may come in: SASL's, and what protects against those who try."""

from engine.config.keys import ConfigKey, ConfigType, Importance, at_least, between, distinct_from
from wire.kafka.listeners import MECHANISMS

SASL_KEYS = (
    ConfigKey(
        "sasl.enabled.mechanisms",
        ConfigType.LIST,
        ("SCRAM-SHA-512", "SCRAM-SHA-256"),
        "How clients may show who they are on listeners with SASL: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, "
        "`OAUTHBEARER`.",
        distinct_from(*MECHANISMS),
        dynamic=False,
        per_listener=True,
        default_reason="Kafka's is GSSAPI, which Tidegate does not have; with SCRAM no password goes over the wire.",
    ),
    ConfigKey(
        "sasl.plain.users.location",
        ConfigType.STRING,
        None,
        "Tidegate's own key. The file with the users of PLAIN, a name and a hash on each line, as `tidegate user add "
        "NAME --users-file FILE` writes it. Read again when it changes.",
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.server.max.receive.size",
        ConfigType.INT,
        512 * 1024,
        "The largest request before a login, in bytes; a larger one closes its connection.",
        between(1024, 16 * 1024 * 1024),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.authentication.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a connection may take to log in, in milliseconds; then it is closed.",
        at_least(100),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        100,
        "How long a login that has failed waits for its answer, in milliseconds: whoever tries passwords waits.",
        between(0, 10_000),
        dynamic=False,
        importance=Importance.LOW,
        per_listener=True,
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        0,
        "How long a login counts, in milliseconds. Clients are told, and log in again on the same connection in time "
        "(KIP-368); one that does not is closed. 0 is as long as the connection, or as its token.",
        at_least(0),
        dynamic=False,
        per_listener=True,
    ),
)
