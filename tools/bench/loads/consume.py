"""Records out: of the page cache as fast as they come, and at the tail of the log for many groups."""

from tools.bench.clients import consumer_performance, native
from tools.bench.figures import Figures
from tools.bench.loads.warm import warm
from tools.bench.trial import Trial

PER_BATCH = 16


def fill(trial: Trial, records: int, size: int, partitions: int, topic: str = "load") -> int:
    """Make a topic and fill its partitions evenly; so many records it holds then."""
    trial.topics({topic: partitions})
    every = PER_BATCH * partitions
    count = max(1, records // every) * every
    native.run(
        "produce",
        trial.bootstrap,
        topic=topic,
        records=count,
        size=size,
        partitions=partitions,
        batch=PER_BATCH,
        connections=1,
        depth=20,
    )
    return count


def java(trial: Trial, *, records: int, size: int, partitions: int = 6) -> Figures:
    """Kafka's own ConsumerPerformance; the first time over warms up the broker and the page cache."""
    count = fill(trial, trial.scaled(records, 1000), size, partitions)
    consumer_performance(trial.bootstrap, "load", count)
    with trial.measured() as meter:
        found = consumer_performance(trial.bootstrap, "load", count)
    return meter.figures(found)


def raw(trial: Trial, *, records: int, size: int, partitions: int = 8, consumers: int = 1) -> Figures:
    """Fetch requests whose answers are counted batch by batch and thrown away."""
    count = fill(trial, trial.scaled(records, 1000), size, partitions)
    options = {"topic": "load", "partitions": partitions, "consumers": consumers, "records": count}
    native.run("fetch", trial.bootstrap, **options)
    with trial.measured() as meter:
        found = native.run("fetch", trial.bootstrap, **options)
    return meter.figures(found)


def fan_out(trial: Trial, *, rate: int, size: int, groups: int, duration_s: int, partitions: int = 6) -> Figures:
    """Groups that all read at the tail what one producer sends at a steady rate; records count once per group."""
    return paced(trial, rate=rate, size=size, groups=groups, duration_s=duration_s, partitions=partitions)


def paced(
    trial: Trial, *, rate: int, size: int, duration_s: int, partitions: int = 6, groups: int = 0, warm_up_s: int = 3
) -> Figures:
    """Latency at a steady rate: until acknowledged (publish), and until it is in a consumer's hands (the others)."""
    warm(trial)
    trial.topics({"before": partitions, "load": partitions})
    options = {"size": size, "groups": groups, "rate": trial.scaled(rate, 100)}
    native.run("paced", trial.bootstrap, topic="before", duration=f"{trial.scaled(warm_up_s)}s", **options)
    with trial.measured() as meter:
        found = native.run(
            "paced", trial.bootstrap, topic="load", duration=f"{trial.scaled(duration_s)}s", warm_up="1s", **options
        )
    # It is the rate asked for as long as the broker keeps up, so there is nothing to compare.
    found["delivered_per_s"] = found.pop("records_per_s")
    found.pop("sent_per_s")
    return meter.figures(found)
