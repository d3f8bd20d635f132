"""What a record costs as things grow: more partitions, a longer log, more pending delayed records.

Each is one broker that is measured at several points; a figure's name ends with `@` and its point.
"""

from tools.bench.clients import native
from tools.bench.figures import Figures
from tools.bench.loads.consume import fill
from tools.bench.trial import Trial

SIZE_BYTES = 1024
PER_BATCH = 16
DELAY_MS = 3_600_000
MEBIBYTE = 1024**2
# The first point must not carry what a virtual machine needs to get going.
WARM_UP = 2


def partitions(trial: Trial, *, points: tuple[int, ...], records: int) -> Figures:
    """The same records over 1, 10, 100... partitions."""
    figures: Figures = {}
    count = trial.scaled(records, 1000)
    _probe(trial, "warm-up", 10, WARM_UP * count)
    for point in points:
        figures |= _at(_probe(trial, f"wide-{point}", trial.scaled(point), count), f"{point:,} partitions")
    return figures


def log(trial: Trial, *, points_mb: tuple[int, ...], records: int) -> Figures:
    """Records appended to a partition whose log is already so long, and small reads at random offsets of it."""
    figures: Figures = {}
    count = trial.scaled(records, 1000)
    _probe(trial, "warm-up", 1, WARM_UP * count)
    for point in points_mb:
        topic = f"long-{point}"
        filled = fill(trial, trial.scaled(point * MEBIBYTE // SIZE_BYTES, PER_BATCH), SIZE_BYTES, 1, topic)
        name = f"{point:,} MiB" if point < 1024 else f"{point // 1024} GiB"
        figures |= _at(_produced(trial, topic, 1, count), name)
        figures |= _at(_scattered(trial, topic, filled, count // 40), f"{name}, reads")
    return figures


def pending(trial: Trial, *, points: tuple[int, ...], records: int) -> Figures:
    """Ordinary records beside so many that wait for an hour, in the same partition."""
    figures: Figures = {}
    count = trial.scaled(records, 1000)
    _probe(trial, "warm-up", 1, WARM_UP * count)
    trial.topics({"delayed": 1})
    waiting = 0
    for point in points:
        if (missing := trial.scaled(point, 0) - waiting) > 0:
            _delay(trial, missing)
            waiting += missing
        figures |= _at(_produced(trial, "delayed", 1, count), f"{point:,} pending")
    return figures


def _delay(trial: Trial, records: int) -> None:
    headers = f"tide-delay={DELAY_MS}"
    options = {"topic": "delayed", "size": 100, "batch": 100, "connections": 1, "depth": 5, "headers": headers}
    native.run("produce", trial.bootstrap, records=max(records, 100), **options)


def _probe(trial: Trial, topic: str, partitions: int, records: int) -> Figures:
    trial.topics({topic: partitions})
    return _produced(trial, topic, partitions, records)


def _produced(trial: Trial, topic: str, partitions: int, records: int) -> Figures:
    with trial.measured() as meter:
        found = native.run(
            "produce",
            trial.bootstrap,
            topic=topic,
            partitions=partitions,
            records=records,
            size=SIZE_BYTES,
            batch=PER_BATCH,
        )
    return meter.figures(found)


def _scattered(trial: Trial, topic: str, below: int, reads: int) -> Figures:
    with trial.measured() as meter:
        found = native.run("fetch", trial.bootstrap, topic=topic, scattered=reads, spread=below)
    return meter.figures(found)


def _at(figures: Figures, point: str) -> Figures:
    kept = ("cpu_s_per_1000", "p99_ms", "memory_mb")
    return {f"{name}@{point}": figures[name] for name in kept}
