"""The broker keys, with Kafka's names where Kafka has the key.

A key that Kafka has not says "Tidegate's own key". Keys that only give topics their defaults stand in
`broker_topic_defaults.py`; both together are `BROKER_KEYS`.
"""

from engine.config.broker_consumer_groups import CONSUMER_GROUP_KEYS
from engine.config.broker_groups import GROUP_KEYS
from engine.config.broker_operations import OPERATIONS_KEYS
from engine.config.broker_topic_defaults import TOPIC_DEFAULT_KEYS
from engine.config.broker_tracing import TRACING_KEYS
from engine.config.broker_transactions import TRANSACTION_KEYS
from engine.config.keys import (
    INT_MAX,
    ConfigKey,
    ConfigType,
    Importance,
    Rule,
    at_least,
    between,
    by_name,
)
from engine.config.listeners import PROTOCOLS, are_listeners
from engine.config.topic import DAY_MS, MEBIBYTE, MINUTE_MS, TOPIC_KEYS


def _listeners(*, may_be_empty: bool) -> Rule:
    sentence = f"a list of PROTOCOL://host:port, PROTOCOL one of {', '.join(PROTOCOLS)}, no address twice"
    return Rule(lambda items: are_listeners(items) and (may_be_empty or len(items) > 0), sentence)


def _one_directory() -> Rule:
    return Rule(lambda items: len(items) == 1, "exactly one directory")


NODE = (
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
        "listeners",
        ConfigType.LIST,
        ("PLAINTEXT://127.0.0.1:9092",),
        "The addresses on which Kafka clients are served. Port 0 takes a free one.",
        _listeners(may_be_empty=False),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="loopback alone, so that nobody else reaches an unprotected broker unless told to.",
    ),
    ConfigKey(
        "advertised.listeners",
        ConfigType.LIST,
        (),
        "The addresses that clients are told to connect to, if they are not those of `listeners`.",
        _listeners(may_be_empty=True),
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
    ConfigKey(
        "log.dirs",
        ConfigType.LIST,
        ("data",),
        "The data directory: logs, catalogue, lock file. One directory.",
        _one_directory(),
        dynamic=False,
        importance=Importance.HIGH,
        default_reason="a directory where the broker is started, not one in /tmp that a restart may empty.",
    ),
)

TOPICS = (
    ConfigKey(
        "num.partitions",
        ConfigType.INT,
        1,
        "How many partitions a topic gets if whoever creates it does not say.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "default.replication.factor",
        ConfigType.INT,
        1,
        "How many replicas a topic gets if whoever creates it does not say.",
        Rule(lambda value: bool(value == 1), "1 on a single node"),
        dynamic=False,
    ),
    ConfigKey(
        "auto.create.topics.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether a topic that a client names and that does not exist is made, if the client allows it.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "delete.topic.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether topics may be deleted by clients.",
        dynamic=False,
        importance=Importance.HIGH,
    ),
    ConfigKey(
        "max.partitions.per.topic",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. The most partitions that one topic may have; each costs memory and files. "
        "One request creates at most 10,000 partitions in all, as in Kafka.",
        between(1, 10_000),
        dynamic=False,
    ),
)

LOG = (
    ConfigKey(
        "log.retention.check.interval.ms",
        ConfigType.LONG,
        5 * MINUTE_MS,
        "How often the broker looks for segments that retention lets go, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "log.initial.task.delay.ms",
        ConfigType.LONG,
        30_000,
        "How long after its start the broker waits before the first background work on logs, in milliseconds.",
        at_least(0),
        dynamic=False,
        importance=Importance.LOW,
    ),
    ConfigKey(
        "log.cleaner.enable",
        ConfigType.BOOLEAN,
        True,
        "Whether topics with the policy `compact` are compacted.",
        dynamic=False,
    ),
    ConfigKey(
        "log.cleaner.threads",
        ConfigType.INT,
        1,
        "How many partitions may be compacted at one time.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "log.cleaner.backoff.ms",
        ConfigType.LONG,
        15_000,
        "How long compaction waits after it found nothing to do, in milliseconds.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "log.deletion.reserve.bytes",
        ConfigType.LONG,
        2 * MEBIBYTE,
        "Tidegate's own key. Room that is kept free on the disk so that topics and records can be deleted, by clients "
        "and by retention, when it is full; while the reserve is in use nothing is taken from producers. 0 keeps none.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "log.scrub.enable",
        ConfigType.BOOLEAN,
        True,
        "Tidegate's own key. Whether everything on disk is read again from time to time, to find damage before anybody "
        "needs what is damaged: logs, stages, the journal, the catalogue. `tidegate scrub --start` does it once in any "
        "case.",
        dynamic=False,
    ),
    ConfigKey(
        "log.scrub.interval.ms",
        ConfigType.LONG,
        86_400_000,
        "Tidegate's own key. How long after everything was read it is read again, in milliseconds.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "log.scrub.io.max.bytes.per.second",
        ConfigType.LONG,
        MEBIBYTE,
        "Tidegate's own key. How much of it is read in a second at most.",
        at_least(1024),
        dynamic=False,
    ),
    ConfigKey(
        "stage.reserve.bytes",
        ConfigType.LONG,
        16 * 1024 * 1024,
        "Tidegate's own key. Room that is kept free on the disk, once anything was staged, so that delayed records are "
        "still released when it is full; while the reserve is in use nothing is taken from producers. 0 keeps none.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "stage.min.cleanable.bytes",
        ConfigType.LONG,
        32 * 1024 * 1024,
        "Tidegate's own key. What the stage of a partition (its delayed and prioritised records) may take on the disk "
        "besides three times what is pending in it; beyond that it is made smaller.",
        at_least(1024),
        dynamic=False,
    ),
    ConfigKey(
        "stage.max.entries",
        ConfigType.LONG,
        10_000_000,
        "Tidegate's own key. The most entries that the stages of all topics may hold, 72 bytes of memory each: a "
        "record with a time, a lane or headers of its own takes one, records of a batch that share them one together. "
        "Past it records that would have to wait are refused.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "log.max.open.files",
        ConfigType.INT,
        0,
        "Tidegate's own key. The most files of logs that are open at one time; past it those that were not used for "
        "longest are closed, and while none can be, writing to further partitions is refused with a storage error that "
        "clients try again after. 0 is what the system's limit of open files leaves when connections have their part.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "log.sync.threads",
        ConfigType.INT,
        16,
        "Tidegate's own key. How many files may be synced to disk at one time.",
        between(1, 256),
        dynamic=False,
    ),
    ConfigKey(
        "log.journal.enable",
        ConfigType.BOOLEAN,
        True,
        "Tidegate's own key. Whether records are made durable by one write to a journal for all partitions, and the "
        "partitions' files are synced later; else they are synced before records are acknowledged. Used where the "
        "system can write past its cache and the data lies on ext4, XFS, btrfs or tmpfs; the log tells which way is "
        "taken.",
        dynamic=False,
    ),
    ConfigKey(
        "log.journal.segment.bytes",
        ConfigType.INT,
        4 * MEBIBYTE,
        "Tidegate's own key. The size of a file of the journal; it is laid out in full when it is first needed. When "
        "it is full, so much is synced at once, while others wait for the disk.",
        between(MEBIBYTE, 1024 * MEBIBYTE),
        dynamic=False,
    ),
    ConfigKey(
        "log.journal.segments",
        ConfigType.INT,
        8,
        "Tidegate's own key. How many files of the journal there may be: while one is written, the partitions in the "
        "others are synced. They are made one by one, as they are needed.",
        between(2, 64),
        dynamic=False,
    ),
    ConfigKey(
        "producer.id.expiration.ms",
        ConfigType.INT,
        DAY_MS,
        "How long a partition remembers an idempotent producer after its last batch, in milliseconds.",
        at_least(1),
        dynamic=False,
        importance=Importance.LOW,
    ),
    ConfigKey(
        "max.producer.ids",
        ConfigType.INT,
        200_000,
        "Tidegate's own key. The most idempotent producers that partitions remember; one that writes to several counts "
        "in each. Past it those that were silent for longest are forgotten before producer.id.expiration.ms, none that "
        "has a transaction open; if all have, a new one is refused.",
        at_least(1),
        dynamic=False,
        importance=Importance.LOW,
    ),
)

CONNECTIONS = (
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
        "Such a request takes up to forty times its size when it is decoded.",
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

FETCHING = (
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

BROKER_KEYS: dict[str, ConfigKey] = by_name(
    (
        *NODE,
        *TOPICS,
        *LOG,
        *TOPIC_DEFAULT_KEYS,
        *CONNECTIONS,
        *FETCHING,
        *GROUP_KEYS,
        *CONSUMER_GROUP_KEYS,
        *TRANSACTION_KEYS,
        *TRACING_KEYS,
        *OPERATIONS_KEYS,
    )
)

# The spellings of one setting, strongest first: a broker key is described with those that back it up.
BROKER_SYNONYMS: dict[str, tuple[str, ...]] = {
    synonym.name: tuple(each.name for each in key.synonyms) for key in TOPIC_KEYS.values() for synonym in key.synonyms
}
