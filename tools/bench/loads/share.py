"""Work queues: share groups as fast as they go, how long a job waits, crowds of workers, and what waits for another
attempt."""

import json
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tools.bench.clients import LoadFailed, share_consumer_performance
from tools.bench.figures import Figures
from tools.bench.loads.consume import fill
from tools.bench.loads.share_wire import ShareWire
from tools.bench.processes import age_s, resident_mb
from tools.bench.trial import Trial

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 110.0
WARM_UP_S = 3.0
AN_HOUR_MS = 3_600_000
AT_ONCE = 1_000
VALUE_BYTES = 100


def performance(trial: Trial, *, records: int, size: int, partitions: int = 6) -> Figures:
    """Kafka's own ShareConsumerPerformance; a quarter of it, by another group, warms up the broker."""
    count = fill(trial, trial.scaled(records, 1000), size, partitions)
    for group in ("before", "load"):
        begin_at_the_start(trial, group)
    share_consumer_performance(trial.bootstrap, "load", "before", count // 4)
    with trial.measured() as meter:
        found = share_consumer_performance(trial.bootstrap, "load", "load", count)
    return meter.figures(found)


def latency(trial: Trial, *, rate: int, duration_s: int, partitions: int = 6) -> Figures:
    """From produce to hand-out at a steady rate, with one share consumer that accepts each batch it is given."""
    trial.topics({"jobs": partitions})
    begin_at_the_start(trial, "jobs")
    seconds = max(2.0, duration_s * trial.scale)
    arguments = ["--rate", str(rate), "--seconds", str(seconds), "--warm-up", str(WARM_UP_S)]
    with trial.measured() as meter:
        found = _run("tools.bench.share_latency", trial, *arguments)
    return meter.figures(found)


def crowd(trial: Trial, *, workers: int, records: int, rate: int) -> Figures:
    """Workers with connections and sessions of their own, all in one process; how long a job waits for one."""
    arguments = ["--workers", str(trial.scaled(workers, 10)), "--records", str(trial.scaled(records, 100))]
    arguments += ["--rate", str(rate), "--seconds", str(PATIENCE_S)]
    with trial.measured() as meter:
        found = _run("tools.bench.share_crowd", trial, *arguments)
    figures = {
        "records": found["settled"],
        "join_s": found["seconds until all have partitions"],
        "p50_ms": found["p50 ms from produce to hand-out"],
        "p99_ms": found["p99 ms from produce to hand-out"],
    }
    return meter.figures(figures)


def backed_off(trial: Trial, *, records: int, partitions: int) -> Figures:
    """Records that were released one by one, so that no two neighbours wait alike, for an hour: the memory they take,
    and how long a broker that is killed with them takes until all of their partitions are fetched from again."""
    count = fill(trial, trial.scaled(records, 16 * partitions), VALUE_BYTES, partitions)
    each = count // partitions
    begin_at_the_start(
        trial, "patient", **{"share.retry.backoff.ms": AN_HOUR_MS, "share.retry.backoff.max.ms": AN_HOUR_MS}
    )
    before_mb = resident_mb(trial.subject.pid)
    began = time.monotonic()
    with ShareWire(trial.bootstrap, "load", "patient") as member:
        for index in range(partitions):
            member.release_all(index, each, AT_ONCE)
        seconds = time.monotonic() - began
        after_mb = resident_mb(trial.subject.pid)
    trial.subject.kill_and_start()
    since_s, began = age_s(trial.subject.pid), time.monotonic()
    with ShareWire(trial.bootstrap, "load", "patient") as member:
        member.expect_nothing([0])
        first_s = time.monotonic() - began
        member.expect_nothing(range(partitions))
    return {
        "released_per_s": count / seconds,
        "bytes_each": max(0.0, after_mb - before_mb) * 1e6 / count,
        "memory_mb": resident_mb(trial.subject.pid),
        "recovery_s": since_s + first_s,
        "recovery_all_s": since_s + time.monotonic() - began,
    }


def begin_at_the_start(trial: Trial, group: str, **configs: object) -> None:
    """What a group obeys, set before it is there."""
    wanted = {"share.auto.offset.reset": "earliest", **configs}
    entries = [
        ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET) for name, value in wanted.items()
    ]
    admin = AdminClient({"bootstrap.servers": trial.bootstrap, "log_level": 0})
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(PATIENCE_S)


def _run(module: str, trial: Trial, *arguments: str) -> Figures:
    """A load of our own in a process of its own, which ends by itself."""
    command = [sys.executable, "-m", module, "--bootstrap", trial.bootstrap, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise LoadFailed(f"{module} ended with status {done.returncode}: {(done.stderr or done.stdout)[-800:]}")
    found: Figures = json.loads(done.stdout)
    return found
