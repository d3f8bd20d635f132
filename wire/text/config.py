"""The broker keys of the text door, and the bounds that it keeps."""

import re

from attrs import frozen

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, distinct_from, one_of
from wire.http.config import OPERATOR, parse_principal

TEXT_KEYS = (
    ConfigKey(
        "text.port",
        ConfigType.INT,
        0,
        "Tidegate's own key. The port of the text door (docs/text.md), by custom 9094. 0 leaves it closed, -1 takes a "
        "free one, which the ready line tells.",
        between(-1, 65_535),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "text.host",
        ConfigType.STRING,
        "127.0.0.1",
        "Tidegate's own key. The address of the text door. Any other than loopback needs `text.token`, "
        "`text.enabled.mechanisms`, or TLS with certificates of clients.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "text.token",
        ConfigType.PASSWORD,
        None,
        "Tidegate's own key. What clients of the text door must say first, as `AUTH` and the token. Leave it out to "
        "ask for none: an empty one is refused.",
        Rule(lambda text: text is None or (len(text) > 0 and not re.search(r"\s", text)), "a word, not empty"),
        dynamic=False,
        sensitive=True,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "text.token.principal",
        ConfigType.STRING,
        str(OPERATOR),
        "Tidegate's own key. Who whoever says `text.token` is, for rules, quotas and the audit log.",
        Rule(lambda text: parse_principal(text) is not None, "like User:operator"),
        dynamic=False,
    ),
    ConfigKey(
        "text.security.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Tidegate's own key. `SSL` has the text door speak TLS, by the keys `ssl.*`, or by its own: "
        "`listener.name.text.ssl.keystore.location` and so on. With `ssl.client.auth` clients may show certificates.",
        one_of("PLAINTEXT", "SSL"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "text.enabled.mechanisms",
        ConfigType.LIST,
        (),
        "Tidegate's own key. How clients of the text door may show who they are, besides `text.token`: "
        "`BASIC` is a user's name and password (`AUTH alice secret`), `OAUTHBEARER` a token (`AUTH ey...`), both the "
        "same as for Kafka's clients; beyond loopback they need TLS.",
        distinct_from("BASIC", "OAUTHBEARER"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "text.max.connections",
        ConfigType.INT,
        256,
        "Tidegate's own key. The most connections to the text door at one time. A further one takes the place of the "
        "oldest that has not said whose it is; where there is none it is closed.",
        between(1, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        "text.max.line.bytes",
        ConfigType.INT,
        16 * 1024,
        "Tidegate's own key. The most bytes that one line of the text door may have, keys, headers and tokens "
        "included; a payload is not part of a line.",
        between(256, 1024 * 1024),
        dynamic=False,
    ),
    ConfigKey(
        "text.max.payload.bytes",
        ConfigType.INT,
        1024 * 1024,
        "Tidegate's own key. The largest payload that the text door takes. What a topic takes says its "
        "`max.message.bytes`.",
        between(1, 256 * 1024 * 1024),
        dynamic=False,
    ),
    ConfigKey(
        "text.fetch.max.bytes",
        ConfigType.INT,
        1024 * 1024,
        "Tidegate's own key. About how many bytes of records one FETCH is answered at most; a record that is larger "
        "is given alone.",
        between(1, 256 * 1024 * 1024),
        dynamic=False,
    ),
    ConfigKey(
        "text.fetch.max.wait.ms",
        ConfigType.INT,
        30_000,
        "Tidegate's own key. The longest `wait=` that a FETCH of the text door may ask for, in milliseconds.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "text.request.timeout.ms",
        ConfigType.INT,
        30_000,
        "Tidegate's own key. How long a command of the text door may take to arrive from its first byte on, its record "
        "to be written, and each 64 KiB of answers to be taken, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "text.max.idle.ms",
        ConfigType.INT,
        600_000,
        "Tidegate's own key. How long a connection to the text door may be silent, in milliseconds. Who has to show "
        "who it is must do so within `sasl.authentication.timeout.ms`.",
        at_least(1),
        dynamic=False,
    ),
)


@frozen
class TextLimits:
    """Bounds of the door, from the broker's configuration."""

    max_connections: int = 256
    max_line_bytes: int = 16 * 1024
    max_payload_bytes: int = 1024 * 1024
    max_fetch_bytes: int = 1024 * 1024
    max_wait_ms: int = 30_000
    request_timeout_s: float = 30.0
    max_idle_s: float = 600.0
    login_timeout_s: float = 10.0
