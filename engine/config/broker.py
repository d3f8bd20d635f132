"""The broker keys that the engine obeys, with Kafka's names where Kafka has the key.

A key that Kafka has not says "Tidegate's own key". Keys that only give topics their defaults stand in
`broker_topic_defaults.py`. The keys of coordinators and doors stand with them; `tidegate/config_keys.py` puts all
together.
"""

from engine.config.broker_topic_defaults import TOPIC_DEFAULT_KEYS
from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, by_name
from engine.config.topic import DAY_MS, MEBIBYTE, MINUTE_MS, TOPIC_KEYS


def _one_directory() -> Rule:
    return Rule(lambda items: len(items) == 1, "exactly one directory")


LOG_KEYS = (
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

ENGINE_KEYS: dict[str, ConfigKey] = by_name((*LOG_KEYS, *TOPIC_DEFAULT_KEYS))

# The spellings of one setting, strongest first: a broker key is described with those that back it up.
BROKER_SYNONYMS: dict[str, tuple[str, ...]] = {
    synonym.name: tuple(each.name for each in key.synonyms) for key in TOPIC_KEYS.values() for synonym in key.synonyms
}
