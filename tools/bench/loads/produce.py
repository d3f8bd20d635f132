"""Records in, as fast as they are taken: by Kafka's own ProducerPerformance, by preloaded requests, by franz-go."""

from tools.bench.clients import native, producer_performance
from tools.bench.figures import Figures
from tools.bench.trial import Trial

# What Kafka's producer puts into a batch by default.
BATCH_BYTES = 16_384
RECORD_OVERHEAD_BYTES = 12
# The share of a load that goes before it: virtual machine and caches are to be warm on both sides.
WARM_UP = 0.5
WARM_UP_JAVA = 0.2


def java(
    trial: Trial, *, records: int, size: int, partitions: int = 6, acks: str = "all", compression: str = "none"
) -> Figures:
    """Kafka's producer with its defaults; it is idempotent with acks=all, as its default is."""
    settings = {"acks": acks, "compression.type": compression}
    return java_with(trial, settings, records=records, size=size, partitions=partitions)


def java_unbatched(trial: Trial, *, records: int, size: int) -> Figures:
    """Kafka's producer with a request for every record."""
    settings = {"batch.size": "1", "linger.ms": "0"}
    return java_with(trial, settings, records=records, size=size, partitions=1)


def java_transactions(trial: Trial, *, records: int, size: int, partitions: int, duration_ms: int) -> Figures:
    """Kafka's producer in transactions, each of which is committed after `duration_ms`."""
    options = ("--transaction-duration-ms", str(duration_ms), "--transactional-id", "bench")
    return java_with(trial, {}, *options, records=records, size=size, partitions=partitions)


def java_with(
    trial: Trial, settings: dict[str, str], *options: str, records: int, size: int, partitions: int
) -> Figures:
    """ProducerPerformance, after a warm-up of the broker by the same."""
    trial.topics({"load": partitions})
    count = trial.scaled(records, 1000)
    producer_performance(trial.bootstrap, "load", max(1000, int(count * WARM_UP_JAVA)), size, settings, *options)
    with trial.measured() as meter:
        found = producer_performance(trial.bootstrap, "load", count, size, settings, *options)
    return meter.figures(found)


def preloaded(
    trial: Trial,
    *,
    records: int,
    size: int,
    partitions: int = 6,
    acks: int = -1,
    compression: str = "none",
    connections: int = 4,
    depth: int = 5,
    batch: int | None = None,
) -> Figures:
    """Requests that were encoded beforehand, a few in flight on each connection: the client costs next to nothing."""
    trial.topics({"load": partitions})
    options = {
        "topic": "load",
        "size": size,
        "partitions": partitions,
        "acks": acks,
        "compression": compression,
        "connections": connections,
        "depth": depth,
        "batch": batch or BATCH_BYTES // (size + RECORD_OVERHEAD_BYTES),
    }
    count = trial.scaled(records, 1000)
    native.run("produce", trial.bootstrap, records=max(1000, int(count * WARM_UP)), **options)
    with trial.measured() as meter:
        found = native.run("produce", trial.bootstrap, records=count, **options)
    return meter.figures(found)


def client(trial: Trial, *, records: int, size: int, partitions: int = 6, transaction_ms: int = 0) -> Figures:
    """franz-go, idempotent, or in transactions."""
    trial.topics({"load": partitions})
    options = {"topic": "load", "size": size, "transaction": f"{transaction_ms}ms"}
    count = trial.scaled(records, 1000)
    native.run("client", trial.bootstrap, records=max(1000, int(count * WARM_UP)), **options)
    with trial.measured() as meter:
        found = native.run("client", trial.bootstrap, records=count, **options)
    found.pop("transactions")
    return meter.figures(found)
