"""What the benchmark measures, as data: rows, what each does, and the goal of each ratio."""

from collections.abc import Callable
from functools import partial

from attrs import field, frozen

from tools.bench.brokers import KAFKA, TIDEGATE, TIDEGATE_OS
from tools.bench.figures import Figures, kind_of
from tools.bench.loads import cluster, consume, crash, crowd, doors, groups, growth, idle, latency, produce, share, tls
from tools.bench.trial import Trial

JAVA, NATIVE = "Java", "native"
CONFLUENT, WORKERS, WIRE = "confluent-kafka", "tidegate.work", "by hand"


@frozen
class Goal:
    """The bound of a ratio Tidegate / Kafka, with syncing and with `flush.mode=os`: the least where more is better."""

    sync: float
    os: float

    def bound(self, broker: str) -> float:
        """The bound for one of the ways Tidegate runs."""
        return self.os if broker == TIDEGATE_OS else self.sync


@frozen
class Absolute:
    """A figure of Tidegate itself, whatever Kafka's is."""

    figure: str
    bound: float


# Every ratio is to be in Tidegate's favour.
FAVOUR = Goal(1.0, 1.0)
CPU = Goal(0.6, 0.6)
CPU_CONSUME = Goal(0.8, 0.8)
MEMORY = Goal(0.2, 0.2)
LATENCY = Goal(1.0, 0.7)
JAVA_LIMITED = Goal(1.0, 1.0)
CEILING = Goal(1.2, 1.2)
START = Goal(0.15, 0.15)
RECOVERY = Goal(0.3, 0.3)

LOADED = {"cpu_s_per_1000": CPU, "memory_mb": MEMORY, "p99_ms": LATENCY}
BY_JAVA = {**LOADED, "records_per_s": JAVA_LIMITED}
BY_NATIVE = {**LOADED, "records_per_s": CEILING}
CONSUMED = {**BY_NATIVE, "cpu_s_per_1000": CPU_CONSUME}
PACED = {**LOADED, "publish_p99_ms": LATENCY}


@frozen
class Row:
    """One line of the table: a load, run against some brokers, with goals for some of its figures."""

    name: str
    section: str
    title: str
    load: Callable[[Trial], Figures]
    client: str = NATIVE
    goals: dict[str, Goal] = field(factory=dict)
    absolutes: tuple[Absolute, ...] = ()
    brokers: tuple[str, ...] = (TIDEGATE, TIDEGATE_OS, KAFKA)
    tls: bool = False
    """Whether the broker listens with TLS, too."""
    nodes: int = 1
    factor: int = 1
    """How many nodes there are, and how many replicas of each partition."""
    settings: dict[str, str] = field(factory=dict)
    """Over the defaults of one node, for what these do not allow."""

    def goal(self, figure: str) -> Goal | None:
        """The goal of a figure's ratio; None for a figure that only explains others."""
        found = self.goals.get(figure.partition("@")[0])
        if found is None and kind_of(figure).more_is_better is not None:
            # CPU seconds in all say the same as those per record.
            return None if figure == "cpu_s" else FAVOUR
        return found


SIZES = {"1k": (1_000_000, 1024, "1 KiB x 1 M"), "100b": (2_000_000, 100, "100 B x 2 M")}
VARIANTS: dict[str, tuple[dict[str, object], str]] = {
    "": ({}, "6 partitions"),
    "-1p": ({"partitions": 1}, "1 partition"),
    "-100p": ({"partitions": 100}, "100 partitions"),
    "-lz4": ({"compression": "lz4"}, "6 partitions, lz4"),
    "-zstd": ({"compression": "zstd"}, "6 partitions, zstd"),
}
ACKS_1: dict[str, dict[str, object]] = {JAVA: {"acks": "1"}, NATIVE: {"acks": 1}}
PRODUCERS: dict[str, tuple[Callable[..., Figures], dict[str, Goal]]] = {
    JAVA: (produce.java, BY_JAVA),
    NATIVE: (produce.preloaded, BY_NATIVE),
}


def _produce_rows() -> list[Row]:
    rows = []
    for size, (records, value_bytes, shown) in SIZES.items():
        for client, (load, goals) in PRODUCERS.items():
            for suffix, (options, how) in {**VARIANTS, "-acks1": (ACKS_1[client], "6 partitions, acks=1")}.items():
                run = partial(load, records=records, size=value_bytes, **options)
                name = f"produce-{size}{suffix}-{client.lower()}"
                rows.append(Row(name, "Produce", f"{shown}, {how}", run, client, goals))
    return rows


WORK = "Work queues"


def _share_rows() -> list[Row]:
    """Share groups beside Kafka's; what waits for another attempt is ours alone."""
    crowd = {"group.share.max.size": "1000", "group.share.max.share.sessions": "4000", "max.connections": "8000"}
    windows = {
        "group.share.max.partition.max.record.locks": "10000",
        "group.share.partition.max.record.locks": "10000",
    }
    return [
        Row(
            "share-java",
            WORK,
            "1 KiB x 400 k, ShareConsumerPerformance, 6 partitions",
            partial(share.performance, records=400_000, size=1024),
            JAVA,
            {**LOADED, "records_per_s": CEILING},
        ),
        Row(
            "share-latency",
            WORK,
            "1,000 jobs/s, from produce to hand-out, each accepted (confluent-kafka)",
            partial(share.latency, rate=1_000, duration_s=15),
            CONFLUENT,
            {**LOADED, "p99_ms": Goal(0.8, 0.8)},
        ),
        Row(
            "share-crowd",
            WORK,
            "1,000 workers on one topic of 10 partitions, 500 jobs/s (`tidegate.work`)",
            partial(share.crowd, workers=1_000, records=10_000, rate=500),
            WORKERS,
            LOADED,
            brokers=(TIDEGATE, KAFKA),
            settings=crowd,
        ),
        Row(
            "share-back-off",
            WORK,
            "1 M records in back-off, each apart from its neighbours, in 100 partitions; kill -9",
            partial(share.backed_off, records=1_000_000, partitions=100),
            WIRE,
            brokers=(TIDEGATE,),
            settings=windows,
        ),
    ]


SECURED = "TLS"
ENCRYPTED = {"cpu_s_per_1000": FAVOUR, "memory_mb": MEMORY, "p99_ms": FAVOUR, "records_per_s": FAVOUR}


def _tls_rows() -> list[Row]:
    """What TLS costs, beside what it costs Kafka."""
    produced, consumed = (partial(load, records=1_000_000, size=1024) for load in (tls.produce, tls.consume))
    loads: list[tuple[str, str, Callable[[Trial], Figures]]] = [
        ("tls-produce-1k-native", "1 KiB x 1 M in, 6 partitions, TLS 1.3", produced),
        ("tls-consume-1-native", "1 KiB x 1 M out of the page cache, one consumer", consumed),
        ("tls-handshakes", "4,000 connections, 8 at once, a request each", partial(tls.handshakes, connections=4_000)),
    ]
    return [Row(name, SECURED, title, load, goals=ENCRYPTED, tls=True) for name, title, load in loads]


CLUSTER = "Cluster"
REPLICATED = {"cpu_s_per_1000": CPU, "memory_mb": MEMORY, "p99_ms": FAVOUR, "records_per_s": FAVOUR}


SPEED_UPS: dict[str, tuple[str, Callable[[Trial], Figures]]] = {
    "producers-64": (
        "64 producers at once, 10 records of 100 B per batch, one in flight each",
        partial(cluster.speed_up, records=600_000, size=100, batch=10, connections=64, depth=1),
    ),
    "1k": ("1 KiB x 1 M", partial(cluster.speed_up, records=1_000_000, size=1024, connections=4, depth=5)),
}
"""Rows where one thread was the limit."""


def _cluster_rows() -> list[Row]:
    """Three nodes beside three of Kafka's; what more nodes bring; what replicas cost."""
    rows = []
    for size, (records, value_bytes, shown) in SIZES.items():
        title = f"three nodes, factor 3, acks=all, {shown}, 6 partitions"
        for client, load in ((JAVA, produce.java), (NATIVE, cluster.preloaded)):
            run = partial(load, records=records // 2, size=value_bytes)
            name = f"cluster-{size}-{client.lower()}"
            rows.append(Row(name, CLUSTER, title, run, client, REPLICATED, nodes=3, factor=3))
    return [
        *rows,
        Row(
            "cluster-sum",
            CLUSTER,
            "three nodes, factor 1, 100 B x 4 M, 12 partitions, in sum",
            partial(cluster.preloaded, records=4_000_000, size=100, partitions=12),
            goals=BY_NATIVE,
            absolutes=(Absolute("records_per_s", 250_000),),
            nodes=3,
        ),
        *(
            Row(
                f"two-nodes-{name}",
                CLUSTER,
                f"two nodes against one: {shown}",
                load,
                absolutes=(Absolute("speed_up", 1.4),),
                brokers=(TIDEGATE, TIDEGATE_OS),
                nodes=2,
            )
            for name, (shown, load) in SPEED_UPS.items()
        ),
        Row(
            "cluster-idle",
            CLUSTER,
            "a node that follows 1,000 partitions in which nothing happens",
            partial(cluster.idle_followers, partitions=1000),
            client="none",
            goals={"idle_mb": MEMORY},
            nodes=3,
            factor=3,
            brokers=(TIDEGATE, KAFKA),
        ),
        Row(
            "cluster-catch-up",
            CLUSTER,
            "an empty replica catches up with 1 GiB",
            partial(cluster.catch_up, mebibytes=1024),
            goals={"memory_mb": MEMORY},
            nodes=2,
            brokers=(TIDEGATE, KAFKA),
        ),
    ]


DOOR_LOADS: dict[str, tuple[str, int]] = {
    "http-single": ("HTTP: a record in each request, 8 callers", 20_000),
    "http-batch": ("HTTP: arrays of 100, 8 callers", 1_000_000),
    "http-read": ("HTTP: pages of 1,000 as JSON, one caller", 1_000_000),
    "sse": ("HTTP: 1,000 readers of server-sent events, one record after the other; of records delivered", 200),
    "grpc-stream": ("gRPC: batches of 100 on one stream", 2_000_000),
    "grpc-read": ("gRPC: one stream to the end", 2_000_000),
    "text-fetch": ("text: up to 10,000 for each FETCH", 2_000_000),
}


def _door_rows() -> list[Row]:
    """The other doors, which Kafka has not; lines beside NATS."""
    rows = {
        f"door-{name}": (shown, partial(doors.through, load=name, records=records, size=100))
        for name, (shown, records) in DOOR_LOADS.items()
    }
    lines = partial(doors.beside_nats, records=2_000_000, size=100)
    rows["door-text-publish"] = ("text: 500 PUB on their way at a time; beside NATS, which keeps nothing", lines)
    return [
        Row(
            name,
            "Other doors",
            f"{shown}, 100 B",
            load,
            "Python",
            brokers=(TIDEGATE, TIDEGATE_OS),
            settings=doors.DOORS,
        )
        for name, (shown, load) in rows.items()
    ]


ROWS: tuple[Row, ...] = (
    Row(
        "idle",
        "Start and idle",
        "start to ready, then nothing to do, all doors on",
        idle.idle,
        client="none",
        goals={"start_s": START, "idle_mb": MEMORY},
    ),
    *_produce_rows(),
    Row(
        "unbatched-java",
        "Small batches",
        "a request per record, 100 B x 40 k",
        partial(produce.java_unbatched, records=40_000, size=100),
        JAVA,
        BY_JAVA,
    ),
    Row(
        "unbatched-native",
        "Small batches",
        "a request per record, 100 B x 40 k, 5 in flight",
        partial(produce.preloaded, records=40_000, size=100, partitions=1, batch=1, connections=1),
        goals=BY_NATIVE,
    ),
    Row(
        "producers-64",
        "Small batches",
        "64 producers at once, 10 records of 100 B per batch, one in flight each",
        partial(produce.preloaded, records=600_000, size=100, batch=10, connections=64, depth=1),
        goals={**BY_NATIVE, "p99_ms": LATENCY},
        absolutes=(Absolute("records_per_s", 100_000),),
    ),
    Row(
        "consume-java",
        "Consume",
        "1 KiB x 1 M of the page cache, one consumer",
        partial(consume.java, records=1_000_000, size=1024),
        JAVA,
        {**BY_JAVA, "cpu_s_per_1000": CPU_CONSUME},
    ),
    Row(
        "consume-1-native",
        "Consume",
        "1 KiB x 1 M of the page cache, one consumer",
        partial(consume.raw, records=1_000_000, size=1024),
        goals=CONSUMED,
    ),
    Row(
        "consume-8-native",
        "Consume",
        "1 KiB x 1 M of the page cache, 8 consumers",
        partial(consume.raw, records=1_000_000, size=1024, consumers=8),
        goals=CONSUMED,
    ),
    Row(
        "fan-out",
        "Consume",
        "tail consumption: 10 groups read 5 k records/s of 1 KiB",
        partial(consume.fan_out, rate=5_000, size=1024, groups=10, duration_s=10),
        goals={**PACED, "cpu_s_per_1000": CPU_CONSUME},
    ),
    *(
        Row(
            f"latency-{rate // 1000}k",
            "End-to-end latency",
            f"{rate:,} records/s of 200 B, paced",
            partial(consume.paced, rate=rate, size=200, duration_s=10),
            goals=PACED,
            absolutes=(Absolute("publish_p99_ms", 10), Absolute("p99_ms", 5)) if rate == 10_000 else (),
        )
        for rate in (1_000, 10_000, 50_000)
    ),
    Row(
        "latency-java",
        "End-to-end latency",
        "one record at a time, there and back, 5,000 times",
        partial(latency.round_trips, records=5_000),
        JAVA,
        LOADED,
    ),
    Row(
        "transactions-java",
        "Transactions and idempotence",
        "transactions of 20 ms, 100 B x 500 k",
        partial(produce.java_transactions, records=500_000, size=100, partitions=6, duration_ms=20),
        JAVA,
        BY_JAVA,
    ),
    Row(
        "transactions-native",
        "Transactions and idempotence",
        "transactions of 20 ms, 100 B x 1 M (franz-go)",
        partial(produce.client, records=1_000_000, size=100, transaction_ms=20),
        goals=BY_NATIVE,
    ),
    Row(
        "idempotent-native",
        "Transactions and idempotence",
        "idempotent, 100 B x 2 M (franz-go)",
        partial(produce.client, records=2_000_000, size=100),
        goals=BY_NATIVE,
    ),
    *(
        Row(
            f"rebalance-{protocol}",
            "Groups",
            f"20 members, 100 partitions, {protocol} protocol",
            partial(groups.rebalance, members=20, partitions=100, protocol=protocol),
            goals={"cpu_s": CPU, "memory_mb": MEMORY},
        )
        for protocol in ("classic", "consumer")
    ),
    Row(
        "crowd",
        "Crowd",
        "1,000 partitions, 2,000 connections; latency of one more producer",
        partial(crowd.crowd, partitions=1000, connections=2000, duration_s=10),
        goals=LOADED,
    ),
    Row(
        "crash",
        "Crash",
        "kill -9 with 5 GiB in 10 partitions",
        partial(crash.recovery, gibibytes=5, partitions=10),
        goals={"recovery_s": RECOVERY, "recovery_all_s": RECOVERY, "memory_mb": MEMORY},
    ),
    Row(
        "growth-partitions",
        "Growth",
        "cost of a record of 1 KiB, from 1 to 1,000 partitions",
        partial(growth.partitions, points=(1, 10, 100, 1000), records=300_000),
        goals=LOADED,
    ),
    Row(
        "growth-log",
        "Growth",
        "cost of a record of 1 KiB, from 1 MiB to 10 GiB of log",
        partial(growth.log, points_mb=(1, 100, 1024, 10 * 1024), records=200_000),
        goals=LOADED,
        brokers=(TIDEGATE, KAFKA),
    ),
    Row(
        "growth-pending",
        "Growth",
        "cost of a record of 1 KiB, from 0 to 1 M pending delayed records",
        partial(growth.pending, points=(0, 10_000, 100_000, 1_000_000), records=200_000),
        brokers=(TIDEGATE,),
    ),
    *_share_rows(),
    *_door_rows(),
    *_tls_rows(),
    *_cluster_rows(),
)
BY_NAME = {row.name: row for row in ROWS}
