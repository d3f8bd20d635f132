"""The broker keys of the Kafka door (where it listens, what connections and fetches may take), and its bounds."""

from collections.abc import Sequence

from attrs import Factory, frozen

from coordinators.access.quotas.entities import address_of
from engine.config.keys import INT_MAX, ConfigKey, ConfigType, Importance, Rule, at_least, between, one_of
from engine.config.topic import MEBIBYTE, MINUTE_MS
from wire.acceptor import ConnectionLimits
from wire.kafka.connection_limits import EntryLimits
from wire.kafka.listeners import PROTOCOLS, are_listeners, is_protocol_map
from wire.kafka.request_bounds import BOUNDS, RequestBounds


def _listeners(*, may_be_empty: bool) -> Rule:
    sentence = "a list of NAME://host:port, no address twice"
    return Rule(lambda items: are_listeners(items) and (may_be_empty or len(items) > 0), sentence)


def are_address_limits(items: Sequence[str]) -> bool:
    """Whether each is an address and a number."""
    parts = [item.rpartition(":") for item in items]
    return all(address_of(address.strip("[]")) and number.isdecimal() for address, _, number in parts)


LISTENER_KEYS = (
    ConfigKey(
        "listeners",
        ConfigType.LIST,
        ("PLAINTEXT://127.0.0.1:9092",),
        "The addresses on which Kafka clients are served, each with a name: that of a protocol (`PLAINTEXT`, `SSL`, "
        "`SASL_PLAINTEXT`, `SASL_SSL`), or one that `listener.security.protocol.map` gives a protocol. Port 0 takes a "
        "free one.",
        _listeners(may_be_empty=False),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="loopback alone, so that nobody else reaches an unprotected broker unless told to.",
    ),
    ConfigKey(
        "advertised.listeners",
        ConfigType.LIST,
        (),
        "The addresses that clients are told to connect to, if they are not those of `listeners`; each has the name "
        "of one of those.",
        _listeners(may_be_empty=True),
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "listener.security.protocol.map",
        ConfigType.LIST,
        tuple(f"{name}:{name}" for name in PROTOCOLS),
        "How listeners are secured, as `NAME:PROTOCOL`. The names of protocols stand for themselves.",
        Rule(is_protocol_map, f"a list of NAME:PROTOCOL, PROTOCOL one of {', '.join(PROTOCOLS)}"),
        dynamic=False,
    ),
    ConfigKey(
        "inter.broker.listener.name",
        ConfigType.STRING,
        None,
        "The name of the listener by which nodes of a cluster reach each other. Where neither this nor "
        "`security.inter.broker.protocol` is set they try all in their order.",
        dynamic=False,
    ),
    ConfigKey(
        "security.inter.broker.protocol",
        ConfigType.STRING,
        None,
        "The protocol of the listeners by which nodes of a cluster reach each other, if they are not named. With TLS a "
        "node trusts the authorities of `ssl.truststore.location`, checks the other's name, and shows the certificate "
        "of its own listener. On top of any protocol nodes show each other that they know the cluster's secret.",
        one_of(*PROTOCOLS),
        dynamic=False,
        default_reason="Kafka's is PLAINTEXT; here nodes take what they find.",
    ),
)

ANONYMOUS_KEYS = (
    ConfigKey(
        "listener.allow.anonymous",
        ConfigType.BOOLEAN,
        False,
        "Tidegate's own key. Whether a listener beyond loopback may let clients in that do not show who they are, as "
        "`PLAINTEXT` does, and `SSL` unless `ssl.client.auth=required`. Without it such a listener refuses to start. "
        "`--allow-anonymous` sets it.",
        dynamic=False,
        importance=Importance.HIGH,
        per_listener=True,
    ),
)

CONNECTION_KEYS = (
    ConfigKey(
        "socket.request.max.bytes",
        ConfigType.INT,
        100 * MEBIBYTE,
        "The largest request taken, in bytes; a larger one closes its connection.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "socket.control.request.max.bytes",
        ConfigType.INT,
        8 * MEBIBYTE,
        "Tidegate's own key. The largest request other than Produce, in bytes; a larger one closes its connection. "
        "Such a request takes up to twenty times its size when it is decoded (socket.request.max.expansion).",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "socket.request.max.elements",
        ConfigType.INT,
        50_000,
        "Tidegate's own key. The most elements of arrays that a request may hold, all counted (topics, partitions, "
        "names, numbers); one with more closes its connection. Produce is held to what its bytes can carry, too.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "socket.request.max.expansion",
        ConfigType.INT,
        20,
        "Tidegate's own key. How many times its size a request may take in memory once it is decoded, besides 512 KiB "
        "that any may; one that would take more closes its connection. Honest ones take up to ten times theirs.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "socket.response.max.bytes",
        ConfigType.INT,
        32 * MEBIBYTE,
        "Tidegate's own key. The largest answer other than Fetch's records, in bytes. DescribeConfigs tells an error "
        "for what would go beyond; any other request whose answer would closes its connection.",
        at_least(1024),
        dynamic=False,
    ),
    ConfigKey(
        "socket.request.progress.timeout.ms",
        ConfigType.INT,
        30_000,
        "Tidegate's own key. A request that has begun to arrive and of which fewer than 16 KiB come in so long, in "
        "milliseconds, closes its connection: what is held of it is room for others.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "max.connections",
        ConfigType.INT,
        20_000,
        "The most connections at one time; a further one is closed at once. Where the system's limit of open files is "
        "low it is less: the start tells.",
        at_least(0),
        dynamic=False,
        default_reason="Kafka's is no limit; a finite one keeps a flood of connections from using up memory.",
        per_listener=True,
    ),
    ConfigKey(
        "max.connections.per.ip",
        ConfigType.INT,
        10_000,
        "The most connections at one time from one address; a further one is closed at once.",
        at_least(0),
        dynamic=False,
        default_reason="Kafka's is no limit; a finite one leaves room for others.",
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        ConfigType.LIST,
        (),
        "Addresses that may have another number of connections than `max.connections.per.ip`, as `address:number`.",
        Rule(are_address_limits, "a list of address:number"),
        dynamic=False,
    ),
    ConfigKey(
        "max.connection.creation.rate",
        ConfigType.INT,
        INT_MAX,
        "The most connections that are accepted in a second; further ones wait. Over `quota.window.num` samples, as "
        "quotas.",
        at_least(1),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "max.connections.per.principal",
        ConfigType.INT,
        INT_MAX,
        "Tidegate's own key. The most connections at one time of one principal; a further one is closed when it has "
        "shown who it is. Those whom nobody asks (`User:ANONYMOUS`) are not counted.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "max.connections.unauthenticated",
        ConfigType.INT,
        2_000,
        "Tidegate's own key. The most connections at one time that have not shown yet who they are, on listeners that "
        "ask; a further one is closed at once.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "connections.max.idle.ms",
        ConfigType.LONG,
        10 * MINUTE_MS,
        "A connection on which nothing happens for so long is closed, in milliseconds; -1 is never.",
        at_least(-1),
        dynamic=False,
    ),
    ConfigKey(
        "queued.max.request.bytes",
        ConfigType.LONG,
        256 * MEBIBYTE,
        "The most bytes of large requests (above 64 KiB) that have begun to arrive and are not whole, over all "
        "connections; past it the broker stops reading from the connections concerned and goes on serving. A single "
        "request is always let in.",
        at_least(1),
        dynamic=False,
        default_reason="Kafka's is no limit; memory is finite.",
    ),
    ConfigKey(
        "queued.max.decompressed.bytes",
        ConfigType.LONG,
        256 * MEBIBYTE,
        "Tidegate's own key. The most bytes of content of compressed batches that are open at a time, over all "
        "connections, where a batch counts with the most that it may have. Past it a batch waits for its turn, first "
        "come, first served; none is refused for it. A connection opens one batch at a time.",
        at_least(MEBIBYTE),
        dynamic=False,
    ),
    ConfigKey(
        "request.max.decompressed.bytes",
        ConfigType.LONG,
        256 * MEBIBYTE,
        "Tidegate's own key. The most bytes of content that the compressed batches of one Produce request may have "
        "together; what exceeds it is refused (MESSAGE_TOO_LARGE), batch by batch.",
        at_least(MEBIBYTE),
        dynamic=False,
    ),
    ConfigKey(
        "decompression.max.ratio",
        ConfigType.INT,
        1_000,
        "Tidegate's own key. How many times as large as it came a compressed batch may become, counted from 8 MiB of "
        "content on; one that expands further is refused (MESSAGE_TOO_LARGE). gzip hardly ever does, and what zstd "
        "shrinks so far comes in smaller batches.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "connection.max.inflight.bytes",
        ConfigType.LONG,
        32 * MEBIBYTE,
        "Tidegate's own key. The most bytes of unanswered requests and unsent answers that one connection may "
        "hold; past it the "
        "broker stops reading from that connection. A large request other than Produce counts ten times, for what it "
        "takes once it is decoded. A single request is always let in.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "connection.max.inflight.requests",
        ConfigType.INT,
        256,
        "Tidegate's own key. The most requests of one connection that are read and not yet answered; "
        "past it the "
        "broker stops reading from that connection.",
        between(1, INT_MAX),
        dynamic=False,
    ),
)

FETCH_KEYS = (
    ConfigKey(
        "fetch.max.bytes",
        ConfigType.INT,
        55 * MEBIBYTE,
        "The most bytes that one fetch answers with, whatever the client asks for.",
        at_least(1024),
        dynamic=False,
    ),
    ConfigKey(
        "fetch.max.waiting.requests",
        ConfigType.INT,
        50_000,
        "Tidegate's own key. The most fetches that wait for records at one time, over all connections; past it the one "
        "that has waited longest is answered with what there is. A consumer has one per broker.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "max.incremental.fetch.session.cache.slots",
        ConfigType.INT,
        1000,
        "How many fetch sessions are remembered; a client without one sends whole requests.",
        at_least(0),
        dynamic=False,
    ),
)


@frozen
class Limits:
    """Bounds of the door, from the broker's configuration."""

    max_frame_bytes: int = 100 * 1024 * 1024
    max_control_frame_bytes: int = 8 * 1024 * 1024
    max_large_request_bytes: int = 256 * 1024 * 1024
    max_connections: int = 10_000
    max_connections_per_address: int = 10_000
    max_idle_ms: int = 600_000
    max_requests_in_flight: int = 100
    max_bytes_in_flight: int = 32 * 1024 * 1024
    request: RequestBounds = BOUNDS
    max_response_bytes: int = 32 * 1024 * 1024
    request_progress_timeout_ms: int = 30_000
    max_fetch_bytes: int = 55 * 1024 * 1024
    entry: EntryLimits = Factory(EntryLimits)

    @property
    def connections(self) -> ConnectionLimits:
        """How many there may be."""
        return ConnectionLimits(
            self.max_connections,
            "max.connections",
            self.max_connections_per_address,
            "max.connections.per.ip",
            self.entry.address_overrides,
        )
