"""The broker keys of the gRPC door, and the bounds that it keeps."""

from attrs import frozen

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, distinct_from, one_of
from wire.http.config import OPERATOR, parse_principal

MIB = 1024 * 1024

GRPC_KEYS = (
    ConfigKey(
        "grpc.port",
        ConfigType.INT,
        0,
        "Tidegate's own key. The port of the gRPC door (docs/grpc.md), by custom 9095. 0 switches it off, -1 takes a "
        "free one, which the ready line tells.",
        between(-1, 65_535),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "grpc.host",
        ConfigType.STRING,
        "127.0.0.1",
        "Tidegate's own key. The address of the gRPC door. Any other than loopback needs `grpc.token`, "
        "`grpc.enabled.mechanisms`, or TLS with certificates of callers.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "grpc.token",
        ConfigType.PASSWORD,
        None,
        "Tidegate's own key. What callers of the gRPC door must send in the metadata `authorization: Bearer ...`; "
        "health checks are open. Leave it out to ask for none: an empty one is refused.",
        Rule(lambda text: text is None or len(text) > 0, "not empty"),
        dynamic=False,
        sensitive=True,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "grpc.token.principal",
        ConfigType.STRING,
        str(OPERATOR),
        "Tidegate's own key. Who whoever sends `grpc.token` is, for rules, quotas and the audit log.",
        Rule(lambda text: parse_principal(text) is not None, "like User:operator"),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.security.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        "Tidegate's own key. `SSL` has the gRPC door speak TLS, by the keys `ssl.*`, or by its own: "
        "`listener.name.grpc.ssl.keystore.location` and so on. With `ssl.client.auth` callers may show certificates.",
        one_of("PLAINTEXT", "SSL"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "grpc.enabled.mechanisms",
        ConfigType.LIST,
        (),
        "Tidegate's own key. How callers of the gRPC door may show who they are in the metadata `authorization`, "
        "besides `grpc.token`: `BASIC` is a user's name and password, the same as for Kafka's clients, `OAUTHBEARER` a "
        "token as those send it (see `sasl.oauthbearer.*`); beyond loopback they need TLS.",
        distinct_from("BASIC", "OAUTHBEARER"),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "grpc.max.connections",
        ConfigType.INT,
        256,
        "Tidegate's own key. The most connections to the gRPC door at one time. A further one takes the place of the "
        "oldest by which nobody has called yet; where there is none it is closed.",
        between(1, 100_000),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.concurrent.streams",
        ConfigType.INT,
        100,
        "Tidegate's own key. The most calls that one connection to the gRPC door may have under way; further ones are "
        "refused, to be tried again.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.message.bytes",
        ConfigType.INT,
        4 * MIB,
        "Tidegate's own key. The largest message that the gRPC door takes, in bytes, unpacked if it was compressed.",
        between(1024, 1024 * MIB),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.message.records",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. The most records in one message to the gRPC door.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.buffered.bytes",
        ConfigType.LONG,
        64 * MIB,
        "Tidegate's own key. How much the gRPC door holds of messages that have arrived in part, or that nobody has "
        "taken yet, in bytes, of all calls together; calls that send more are refused, to be tried again.",
        at_least(MIB),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.header.bytes",
        ConfigType.INT,
        16 * 1024,
        "Tidegate's own key. The most bytes that the metadata of a call to the gRPC door may take, as HTTP/2 counts "
        "them; a connection that sends more is ended.",
        between(1024, MIB),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.resets.per.second",
        ConfigType.INT,
        100,
        "Tidegate's own key. How many calls per second a connection to the gRPC door may give up, for long; twice as "
        "many at once. One that gives up more is ended (ENHANCE_YOUR_CALM).",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.control.frames.per.second",
        ConfigType.INT,
        1_000,
        "Tidegate's own key. How many frames of HTTP/2 that carry nothing (pings, settings, priorities, empty data) a "
        "connection to the gRPC door may send per second, for long; twice as many at once. One that sends more is "
        "ended (ENHANCE_YOUR_CALM).",
        at_least(10),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.handshake.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a new connection to the gRPC door may take until it has begun to speak HTTP/2, "
        "in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.keepalive.time.ms",
        ConfigType.INT,
        60_000,
        "Tidegate's own key. A connection to the gRPC door that has been silent for so long, in milliseconds, is sent "
        "a ping.",
        at_least(10),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.keepalive.timeout.ms",
        ConfigType.INT,
        20_000,
        "Tidegate's own key. How long an answer to that ping may take, in milliseconds; then the connection is closed.",
        at_least(10),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.max.idle.ms",
        ConfigType.INT,
        600_000,
        "Tidegate's own key. How long a connection to the gRPC door may be without calls, in milliseconds; then it is "
        "told to go (GOAWAY).",
        at_least(10),
        dynamic=False,
    ),
    ConfigKey(
        "grpc.shutdown.grace.ms",
        ConfigType.INT,
        3_000,
        "Tidegate's own key. When the broker stops, how long calls to the gRPC door may take to finish, in "
        "milliseconds; streams of consumers are ended at once.",
        at_least(0),
        dynamic=False,
    ),
)


@frozen
class GrpcLimits:
    """Bounds of the door, from the broker's configuration."""

    max_connections: int = 256
    max_streams: int = 100
    max_message_bytes: int = 4 * MIB
    max_message_records: int = 10_000
    max_buffered_bytes: int = 64 * MIB
    max_header_bytes: int = 16 * 1024
    resets_per_s: int = 100
    control_frames_per_s: int = 1_000


@frozen
class GrpcTimes:
    """How long callers may take, in seconds, from the broker's configuration."""

    handshake_s: float = 10.0
    keepalive_s: float = 60.0
    keepalive_timeout_s: float = 20.0
    idle_s: float = 600.0
    grace_s: float = 3.0
