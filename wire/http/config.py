"""The broker keys of the operations door, the bounds that it keeps, and who may call it."""

from attrs import field, frozen

from coordinators.access.callers import USER, Principal
from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, distinct_from, one_of
from wire.inner.config import NOT_COUNTED

OPERATOR = Principal("operator")
REST_CONSUMERS_MAX = "http.rest.max.consumers"


def parse_principal(text: str) -> Principal | None:
    """`User:alice`; None if it is nobody."""
    kind, _, name = text.partition(":")
    return Principal(name) if kind == USER and name else None


def _is_origin(text: str) -> bool:
    scheme, _, rest = text.partition("://")
    return text == "*" or (scheme in ("http", "https") and rest != "" and "/" not in rest)


HTTP_KEYS = (
    ConfigKey(
        "http.port",
        ConfigType.INT,
        8080,
        "Tidegate's own key. The port of the operations door (health, metrics, topics, groups; HTTP). 0 switches it "
        "off, -1 takes a free one, which the ready line tells.",
        between(-1, 65_535),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "http.host",
        ConfigType.STRING,
        "127.0.0.1",
        "Tidegate's own key. The address of the operations door. Any other than loopback needs `http.token`, "
        "`http.enabled.mechanisms`, or TLS with certificates of callers.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "http.advertised.url",
        ConfigType.STRING,
        None,
        "Tidegate's own key. Where the operations door is reached from outside, like `https://broker.example.org`. "
        "Whoever asks the broker for its settings is told it: so the command line finds the door. By default it is "
        "the address that the door is bound to.",
        Rule(lambda url: url is None or url.startswith(("http://", "https://")), "like http://127.0.0.1:8080"),
        dynamic=False,
    ),
    ConfigKey(
        "http.token",
        ConfigType.PASSWORD,
        None,
        "Tidegate's own key. What callers of the operations door must send as `Authorization: Bearer ...`; "
        "`/health/live` and `/health/ready` are open. Leave it out to ask for none: an empty one is refused.",
        Rule(lambda text: text is None or len(text) > 0, "not empty"),
        dynamic=False,
        sensitive=True,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "http.token.principal",
        ConfigType.STRING,
        str(OPERATOR),
        "Tidegate's own key. Who whoever sends `http.token` is, for rules, quotas and the audit log. With "
        "`authorizer.enable` it may do what rules permit it, or everything if `super.users` names it.",
        Rule(lambda text: parse_principal(text) is not None, "like User:operator"),
        dynamic=False,
    ),
    ConfigKey(
        "http.security.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Tidegate's own key. `SSL` has the operations door speak TLS (https), by the keys `ssl.*`, or by its own: "
        "`listener.name.http.ssl.keystore.location` and so on. With `ssl.client.auth` callers may show certificates.",
        one_of("PLAINTEXT", "SSL"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "http.enabled.mechanisms",
        ConfigType.LIST,
        (),
        "Tidegate's own key. How callers of the operations door may show who they are, besides `http.token`: `BASIC` "
        "is a user's name and password, the same as for Kafka's clients, `OAUTHBEARER` a token as those send it (see "
        "`sasl.oauthbearer.*`); beyond loopback they need TLS. Where anything of that is asked for, only "
        "`/health/live` and `/health/ready` are open.",
        distinct_from("BASIC", "OAUTHBEARER"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "http.read.only",
        ConfigType.BOOLEAN,
        False,
        "Tidegate's own key. Whether the operations door, and so the console, only shows: whatever would change "
        "something there, writing records and registering schemas too, is refused with 403. The other doors go on.",
        dynamic=False,
    ),
    ConfigKey(
        "http.max.connections",
        ConfigType.INT,
        64,
        "Tidegate's own key. The most connections to the operations door at one time; a further one takes the place of "
        "the one that has been silent for longest, and is closed if all are being answered.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "http.max.streams",
        ConfigType.INT,
        1_000,
        "Tidegate's own key. The most callers of the operations door that are sent streams of records at one time "
        "(server-sent events, lines); they do not count among `http.max.connections`. A further one is told to come "
        "again (503).",
        between(1, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        "http.max.unsent.bytes",
        ConfigType.INT,
        64 * 1024 * 1024,
        "Tidegate's own key. The most bytes that may wait for all those callers to take them. The more there are, the "
        "less each is sent at a time; beyond it, whoever has taken nothing for longest is cut off, and may go on "
        "where it was.",
        between(1024 * 1024, 2**40),
        dynamic=False,
    ),
    ConfigKey(
        "http.max.request.bytes",
        ConfigType.INT,
        1024 * 1024,
        "Tidegate's own key. The largest body that the operations door takes, in bytes.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "http.max.header.bytes",
        ConfigType.INT,
        16 * 1024,
        "Tidegate's own key. The most bytes that the request line and headers of one request may take.",
        between(1024, 1024 * 1024),
        dynamic=False,
    ),
    ConfigKey(
        "http.request.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a request to the operations door may take to arrive, and its answer to be "
        "taken, in milliseconds; and how long a new connection may wait with its first one.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "http.max.idle.ms",
        ConfigType.INT,
        60_000,
        "Tidegate's own key. How long a connection to the operations door may wait for its next request, in "
        "milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "http.rest.consumer.timeout.ms",
        ConfigType.INT,
        300_000,
        "Tidegate's own key. How long a consumer of REST v2 (docs/rest.md) may be asked for nothing, in milliseconds; "
        "then it ends.",
        between(1_000, 86_400_000),
        dynamic=False,
    ),
    ConfigKey(
        REST_CONSUMERS_MAX,
        ConfigType.INT,
        1_000,
        "Tidegate's own key. The most consumers of REST v2 on this node at one time; who asks for a further one is "
        "refused. Those with subscriptions are among `doors.max.members`, too.",
        between(0, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        f"{REST_CONSUMERS_MAX}.per.principal",
        ConfigType.INT,
        250,
        f"Tidegate's own key. The most consumers of REST v2 of one principal among `{REST_CONSUMERS_MAX}`. "
        f"{NOT_COUNTED}",
        between(0, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        "http.stream.max.idle.ms",
        ConfigType.INT,
        60_000,
        "Tidegate's own key. How long whoever sends a stream of records over HTTP may bring nothing, and whoever is "
        "sent one may take nothing, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "http.stream.heartbeat.ms",
        ConfigType.INT,
        15_000,
        "Tidegate's own key. How often whoever follows a topic over HTTP is sent a sign of life while there are no "
        "records, in milliseconds.",
        at_least(10),
        dynamic=False,
    ),
    ConfigKey(
        "http.poll.max.wait.ms",
        ConfigType.INT,
        30_000,
        "Tidegate's own key. How long a request over HTTP may wait for records, however long it asks for, in "
        "milliseconds.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "http.cors.allowed.origins",
        ConfigType.LIST,
        (),
        "Tidegate's own key. The origins of web pages that may call the HTTP door from a browser, like "
        "`https://console.example.org`; `*` for all. Pages of the door's own origin may anyhow.",
        Rule(lambda origins: all(_is_origin(each) for each in origins), "like https://console.example.org, or *"),
        dynamic=False,
    ),
)


@frozen
class HttpLimits:
    """Bounds of the door, from the broker's configuration."""

    max_connections: int = 64
    max_request_bytes: int = 1024 * 1024
    max_header_bytes: int = 16 * 1024
    request_timeout_s: float = 10.0
    max_idle_s: float = 60.0
    stream_idle_s: float = 60.0
    max_streams: int = 1_000
    max_unsent_bytes: int = 64 * 1024 * 1024


@frozen
class Access:
    """Who may call. `token` is None where none is asked for; `hosts` are the names a caller may call us by, or None
    for any."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = None
    token_principal: Principal = OPERATOR
    """Who whoever sends the token is."""
    origins: frozenset[str] = frozenset()
    """Of web pages that may call; `*` stands for all."""
    read_only: bool = False
    """Whether nothing may be changed here, whoever calls."""


@frozen
class StreamTimes:
    """How long callers wait for records, and how often they hear something meanwhile."""

    heartbeat_s: float = 15.0
    max_wait_s: float = 30.0
