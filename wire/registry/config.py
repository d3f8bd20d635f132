"""The broker keys of the registry's door."""

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, distinct_from, one_of
from wire.http.config import OPERATOR, parse_principal

REGISTRY_KEYS = (
    ConfigKey(
        "registry.port",
        ConfigType.INT,
        0,
        "Tidegate's own key. The port of the schema registry, which speaks Confluent's API; 8081 is where its clients "
        "expect it. 0 switches it off, -1 takes a free one, which the ready line tells. With the operations door the "
        "registry is under `/schemas` there as well.",
        between(-1, 65_535),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "registry.host",
        ConfigType.STRING,
        "127.0.0.1",
        "Tidegate's own key. The address of the schema registry. Any other than loopback needs "
        "`registry.token`, `registry.enabled.mechanisms`, or TLS with certificates of callers.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "registry.token",
        ConfigType.PASSWORD,
        None,
        "Tidegate's own key. What callers of the schema registry must send as `Authorization: Bearer ...`. Leave it "
        "out to ask for none: an empty one is refused.",
        Rule(lambda text: text is None or len(text) > 0, "not empty"),
        dynamic=False,
        sensitive=True,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "registry.token.principal",
        ConfigType.STRING,
        str(OPERATOR),
        "Tidegate's own key. Who whoever sends `registry.token` is, for rules, quotas and the audit log.",
        Rule(lambda text: parse_principal(text) is not None, "like User:operator"),
        dynamic=False,
    ),
    ConfigKey(
        "registry.security.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Tidegate's own key. `SSL` has the schema registry speak TLS (https), by the keys `ssl.*`, or by its own: "
        "`listener.name.registry.ssl.keystore.location` and so on. With `ssl.client.auth` callers may show "
        "certificates.",
        one_of("PLAINTEXT", "SSL"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "registry.enabled.mechanisms",
        ConfigType.LIST,
        (),
        "Tidegate's own key. How callers of the schema registry may show who they are, besides `registry.token`: "
        "`BASIC` is a user's name and password, the same as for Kafka's clients, `OAUTHBEARER` a "
        "token as those send it (see `sasl.oauthbearer.*`); beyond loopback they need TLS. Where anything of that "
        "is asked for, nobody is answered without it.",
        distinct_from("BASIC", "OAUTHBEARER"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "registry.max.connections",
        ConfigType.INT,
        256,
        "Tidegate's own key. The most connections to the schema registry at one time; a further one takes the place of "
        "the one that has been silent for longest, and is closed if all are being answered.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "registry.max.request.bytes",
        ConfigType.INT,
        3 * 1024 * 1024,
        "Tidegate's own key. The largest body that the schema registry takes, in bytes; the schema in it is bounded by "
        "`schema.max.bytes`.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "schema.max.bytes",
        ConfigType.INT,
        1024 * 1024,
        "Tidegate's own key. The longest text of a schema that is taken, in bytes.",
        between(1, 1024 * 1024),
        dynamic=False,
    ),
)
