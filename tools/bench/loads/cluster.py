"""Several nodes: what they take together, what idle followers cost, how fast an empty replica catches up."""

import json
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tools.bench.clients import LoadFailed, native
from tools.bench.figures import Figures
from tools.bench.loads.produce import BATCH_BYTES, RECORD_OVERHEAD_BYTES, WARM_UP
from tools.bench.processes import cpu_s, resident_mb
from tools.bench.trial import Trial
from tools.reference.java import java_tool

PATIENCE_S = 600.0
LOOK_S = 0.05
SETTLE_S = 5.0
IDLE_S = 10
WORST = ("p50_ms", "p99_ms", "p999_ms")


def preloaded(
    trial: Trial, *, records: int, size: int, partitions: int = 6, connections: int = 4, depth: int = 5, batch: int = 0
) -> Figures:
    """Requests that were encoded beforehand, to all nodes at once, to each for the partitions that it leads."""
    trial.topics({"load": partitions})
    count = trial.scaled(records, 1000)
    options = {"size": size, "partitions": partitions, "connections": connections, "depth": depth, "batch": batch}
    _together(trial, "load", max(1000, int(count * WARM_UP)), **options)
    with trial.measured() as meter:
        found = _together(trial, "load", count, **options)
    return meter.figures(found)


def speed_up(trial: Trial, /, *, records: int, size: int, connections: int, depth: int, batch: int = 0) -> Figures:
    """The same load on partitions that all lie on one node, then on partitions that are spread over all."""
    count, partitions = trial.scaled(records, 1000), 6
    nodes = sorted(leaders(trial.bootstrap, None))
    _place(trial.bootstrap, "one", [[nodes[0]]] * partitions)
    _place(trial.bootstrap, "all", [[nodes[index % len(nodes)]] for index in range(partitions)])
    options = {"size": size, "partitions": partitions, "depth": depth, "batch": batch}
    figures: Figures = {}
    for topic, each in (("one", connections), ("all", connections // len(nodes))):
        _together(trial, topic, max(1000, int(count * WARM_UP)), connections=each, **options)
        figures[f"records_per_s@{topic}"] = _together(trial, topic, count, connections=each, **options)["records_per_s"]
    figures["speed_up"] = figures["records_per_s@all"] / figures["records_per_s@one"]
    return figures


def _together(trial: Trial, topic: str, records: int, **options: int) -> Figures:
    """One generator for each node that leads something; their sum, and the worst of their latencies."""
    led = leaders(trial.bootstrap, topic)
    size = options["size"]
    options["batch"] = options["batch"] or BATCH_BYTES // (size + RECORD_OVERHEAD_BYTES)
    places = {address: sorted(found) for address, found in led.values() if found}
    total = sum(map(len, places.values()))

    def load(address: str, found: list[int]) -> Figures:
        only = ",".join(map(str, found))
        return native.run(
            "produce", address, topic=topic, only=only, records=max(1000, records * len(found) // total), **options
        )

    with ThreadPoolExecutor(len(places)) as pool:
        figures = list(pool.map(lambda item: load(*item), places.items()))
    seconds, sent = max(each["seconds"] for each in figures), sum(each["records"] for each in figures)
    worst = {name: max(each[name] for each in figures) for name in WORST if name in figures[0]}
    return {"records": sent, "seconds": seconds, "records_per_s": sent / seconds, **worst}


def leaders(bootstrap: str, topic: str | None) -> dict[int, tuple[str, set[int]]]:
    """Of every node its address, and which partitions of the topic it leads."""
    metadata = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=PATIENCE_S)
    led: dict[int, set[int]] = defaultdict(set)
    if topic is not None:
        for index, partition in metadata.topics[topic].partitions.items():
            led[partition.leader].add(index)
    return {number: (f"{each.host}:{each.port}", led[number]) for number, each in metadata.brokers.items()}


def _place(bootstrap: str, topic: str, replicas: list[list[int]]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = NewTopic(topic, len(replicas), replica_assignment=replicas)
    admin.create_topics([wanted])[topic].result(PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while any(row.leader < 0 for row in admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions.values()):
        if time.monotonic() > deadline:
            raise LoadFailed(f"{topic} has partitions without a leader")
        time.sleep(LOOK_S)


def idle_followers(trial: Trial, *, partitions: int) -> Figures:
    """One node leads so many partitions, all others follow, and nothing happens: what a follower costs."""
    nodes = sorted(leaders(trial.bootstrap, None))
    _place(trial.bootstrap, "idle", [nodes] * trial.scaled(partitions, 10))
    time.sleep(SETTLE_S)
    pid, idle_s = trial.subject.others[0], trial.scaled(IDLE_S)
    before = cpu_s(pid)
    time.sleep(idle_s)
    return {"idle_mb": resident_mb(pid), "idle_cpu_percent": (cpu_s(pid) - before) / idle_s * 100}


def catch_up(trial: Trial, *, mebibytes: int, size: int = 1024, partitions: int = 1) -> Figures:
    """Partitions that lie on one node get a second replica, on another one, which has nothing of them yet."""
    first, second, *_ = sorted(leaders(trial.bootstrap, None))
    _place(trial.bootstrap, "load", [[first]] * partitions)
    records = trial.scaled(mebibytes * 1024 * 1024 // size, 1000)
    _together(trial, "load", records, size=size, partitions=partitions, connections=2, depth=5, batch=0)
    rows = [{"topic": "load", "partition": index, "replicas": [first, second]} for index in range(partitions)]
    began = time.monotonic()
    with trial.measured() as meter, tempfile.TemporaryDirectory() as directory:
        plan = Path(directory) / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": rows}))
        where = ("--bootstrap-server", trial.bootstrap, "--reassignment-json-file", str(plan))
        # The tool's own start is not what is measured: it runs beside.
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(java_tool, "ReassignPartitionsCommand", *where, "--execute")
            began, ended = _until_moved(trial.bootstrap, {first, second})
            asked.result(PATIENCE_S)
    seconds = ended - began
    return {"mb_per_s": records * size / 1e6 / seconds, "cpu_s": meter.cpu_s, "memory_mb": meter.peak_mb}


def _until_moved(bootstrap: str, wanted: set[int]) -> tuple[float, float]:
    """When the move began, and when all replicas were in sync."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    began = 0.0
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        rows = admin.list_topics("load", timeout=PATIENCE_S).topics["load"].partitions.values()
        if not began and any(len(row.replicas) > 1 for row in rows):
            began = time.monotonic()
        if all(wanted <= set(row.isrs) for row in rows):
            return began or time.monotonic(), time.monotonic()
        time.sleep(LOOK_S)
    raise LoadFailed("the replica did not catch up")
