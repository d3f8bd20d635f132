"""Which figures a broker has: the collectors of its parts, and those of the process around them."""

import threading
from collections.abc import Callable, Iterator

from attrs import define, field

from coordinators.access.quotas.quotas import Quotas
from coordinators.records.directory import PartitionDirectory
from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.ports import ShareRecords
from coordinators.share.sharing import Sharing
from coordinators.share.states import LocalShareStates
from coordinators.tenants.holdings import Holdings
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from engine.metrics import Collector, Family, Metrics
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.scrub.scrubber import Scrubber
from tidegate.clustering import Clustering
from tidegate.logs import line_counts
from tidegate.node import Node
from wire.http.server import HttpServer

LEVELS = ("debug", "info", "warning", "error", "critical")


def register_node(metrics: Metrics, node: Node) -> None:
    """What there is from the start."""
    late = LateMetrics(node)
    metrics.before_scrape.append(late.load)
    metrics.register(late.collect)
    metrics.register(lambda: _syncs(node.partitions.rounds))
    disk = Disk(node.partitions)
    metrics.before_scrape.append(node.partitions.storage.look)
    metrics.register(disk.collect)
    metrics.register(_log_lines)


@define(eq=False)
class LateMetrics:
    """The collectors of the node's parts, loaded in a thread before the first scrape; many a broker has none."""

    node: Node
    collectors: tuple[Collector, ...] = ()
    _loading: threading.Lock = field(factory=threading.Lock)

    def load(self) -> None:
        """Be ready to collect."""
        with self._loading:
            self.collectors = self.collectors or _collectors(self.node)

    def collect(self) -> Iterator[Family | None]:
        """What all of them have."""
        for collector in self.collectors:
            yield from collector()


def _collectors(node: Node) -> tuple[Collector, ...]:
    # Imported here, in a thread: see `LateMetrics`.
    from coordinators.metrics.cluster import ClusterMetrics, ReplicationFigures
    from coordinators.metrics.groups import GroupMetrics
    from coordinators.metrics.quotas import QuotaMetrics
    from coordinators.metrics.share_lag import ShareLagMetrics
    from coordinators.metrics.share_letters import ShareLetterMetrics
    from coordinators.metrics.shares import ShareMetrics
    from coordinators.metrics.stages import StageMetrics
    from coordinators.metrics.tenants import TenantMetrics
    from coordinators.metrics.topics import TopicMetrics
    from coordinators.metrics.tracing import TraceMetrics
    from coordinators.metrics.transactions import TransactionMetrics

    services, settings = node.services, node.topics.settings
    topic_limit, partition_limit, group_limit, tenant_limit = (
        settings.integer(f"metrics.{name}.limit") for name in ("topic", "partition", "group", "tenant")
    )
    clustering = node.services[Clustering]
    found = clustering.replication
    replication = None if found is None else ReplicationFigures(found.in_sync, found.followers, found.following)
    return (
        ClusterMetrics(clustering.role, clustering.lags, replication).collect,
        TopicMetrics(node.topics, node.partitions, topic_limit, partition_limit).collect,
        StageMetrics(node.topics, node.partitions, topic_limit).collect,
        GroupMetrics(node.groups, group_limit, partition_limit).collect,
        ShareLetterMetrics(node.services[ShareDeadLetters]).collect,
        ShareMetrics(node.services[Sharing], group_limit).collect,
        ShareLagMetrics(
            node.services[LocalShareStates],
            node.services[PartitionDirectory],
            group_limit,
            partition_limit,
            node.services[ShareRecords],  # type: ignore[type-abstract]
        ).collect,
        TransactionMetrics(node.transactions, node.clock).collect,
        TenantMetrics(services[Tenants], services[Usages], services[Holdings], tenant_limit).collect,
        TraceMetrics(node.tracing).collect,
        QuotaMetrics(node.services[Quotas], group_limit).collect,
    )


@define(eq=False)
class Disk:
    """The room on the disk that holds the data; looked at in a thread before, for a disk may be slow to answer."""

    partitions: Partitions

    def collect(self) -> Iterator[Family]:
        """As it was when last looked at."""
        storage = self.partitions.storage
        meaning = "Size of the file system that holds the data."
        yield Family.gauge("tidegate_disk_size_bytes", meaning, [({}, storage.room.size_bytes)])
        meaning = "Room that is left on it for the broker."
        yield Family.gauge("tidegate_disk_free_bytes", meaning, [({}, storage.room.free_bytes)])
        meaning = "1 while something is refused because the disk is full."
        is_full = storage.is_full or self.partitions.refusal is not None
        yield Family.gauge("tidegate_disk_full", meaning, [({}, int(is_full))])
        meaning = "How often something could not be written because the disk was full."
        yield Family.counter("tidegate_disk_full_refusals_total", meaning, [({}, storage.refusals)])


@define(eq=False)
class ScrubMetrics:
    """What was looked at on disk, and what is damaged."""

    scrubber: Scrubber

    def collect(self) -> Iterator[Family]:
        """As it is now."""
        figures = self.scrubber.statistics()
        meaning = "Bytes on disk that were read again to find damage (log.scrub.*)."
        yield Family.counter("tidegate_scrub_bytes_total", meaning, [({}, figures["bytes"])])
        meaning = "How often everything on disk was read again since the start."
        yield Family.counter("tidegate_scrub_passes_total", meaning, [({}, figures["passes"])])
        meaning = "When everything on disk had last been read again; 0 is never."
        completed_s = figures["completed_ms"] / 1000
        yield Family.gauge("tidegate_scrub_completed_timestamp_seconds", meaning, [({}, completed_s)])
        meaning = "Places on disk that are not as they were written; `tidegate scrub` names them."
        yield Family.gauge("tidegate_damaged_places", meaning, [({}, figures["damages"])])


@define(eq=False)
class StartMetrics:
    """How the broker came up, and its operations door. `recovery_s` is None until the logs are open."""

    version: Callable[[], str]
    node_id: int
    server: HttpServer | None
    recovery_s: float | None = None
    recovered_bytes: int = 0
    set_aside_bytes: int = 0

    def collect(self) -> Iterator[Family]:
        """Everything about this process that others do not tell."""
        labels = {"version": self.version(), "node_id": str(self.node_id)}
        yield Family.gauge("tidegate_build_info", "1, with the version and the number of this node.", [(labels, 1)])
        if self.recovery_s is not None:
            meaning = "How long opening and recovering the logs took at the last start."
            yield Family.gauge("tidegate_recovery_seconds", meaning, [({}, self.recovery_s)])
            meaning = "Bytes of logs that were read to recover them at the last start; 0 after a clean shutdown."
            yield Family.gauge("tidegate_recovery_scanned_bytes", meaning, [({}, self.recovered_bytes)])
            meaning = "Bytes beside the logs that did not fit into them when they were recovered; look at them."
            yield Family.gauge("tidegate_recovery_set_aside_bytes", meaning, [({}, self.set_aside_bytes)])
        if self.server is not None:
            yield from _door(self.server)


def _door(server: HttpServer) -> Iterator[Family]:
    statistics = server.statistics()
    meaning = "Connections to the operations door."
    yield Family.gauge("tidegate_http_connections", meaning, [({}, statistics["connections"])])
    meaning = "Connections to the operations door that were refused by http.max.connections."
    yield Family.counter("tidegate_http_connections_refused_total", meaning, [({}, statistics["refused"])])
    meaning = "Silent connections to the operations door that gave way to others (http.max.connections)."
    yield Family.counter("tidegate_http_connections_displaced_total", meaning, [({}, statistics["displaced"])])
    meaning = "Passwords and tokens that callers of the operations door have shown and that were wrong."
    yield Family.counter("tidegate_http_logins_refused_total", meaning, [({}, server.refused_logins)])
    meaning = "Callers of the operations door that are sent streams of records (http.max.streams)."
    yield Family.gauge("tidegate_http_streams", meaning, [({}, statistics["streams"])])
    meaning = "Bytes that these have not taken yet (http.max.unsent.bytes)."
    yield Family.gauge("tidegate_http_unsent_bytes", meaning, [({}, statistics["unsent_bytes"])])
    meaning = "Callers that were sent no stream or no more of it: all places taken, gone, or too slow."
    reasons = [({"reason": reason}, statistics[f"streams_{reason}"]) for reason in ("refused", "left", "slow")]
    yield Family.counter("tidegate_http_streams_ended_total", meaning, reasons)
    yield Family.counter(
        "tidegate_http_requests_total",
        "Requests to the operations door, by route and status.",
        [
            ({"method": method, "route": route, "code": str(status)}, count)
            for (method, route, status), count in sorted(server.answered().items())
        ],
    )


JOURNAL_MEANINGS = {
    "frames": "Rounds that were made durable by a write to the journal; the others synced their files.",
    "bytes": "Bytes written to the journal, in whole blocks.",
    "settled": "Files of the journal that were full, and whose logs were synced so that they can be used again.",
}


def _syncs(rounds: SyncRounds) -> Iterator[Family]:
    statistics = rounds.statistics()
    meaning = "How long a round of syncs took the disk."
    yield Family.histogram("tidegate_sync_duration_seconds", meaning, [({}, rounds.durations)])
    meaning = "Logs that were synced; a round syncs all that were written meanwhile."
    yield Family.counter("tidegate_syncs_total", meaning, [({}, statistics["syncs"])])
    for name, meaning in JOURNAL_MEANINGS.items():
        if (value := statistics.get(f"journal_{name}")) is not None:
            yield Family.counter(f"tidegate_journal_{name}_total", meaning, [({}, value)])
    meaning = "Logs that could not be synced, and went offline until verified."
    yield Family.counter("tidegate_sync_failures_total", meaning, [({}, statistics["failures"])])


def _log_lines() -> Iterator[Family]:
    written, suppressed = line_counts()
    meaning = "Lines written to the program's own log, by level."
    yield Family.counter("tidegate_log_lines_total", meaning, [({"level": level}, written[level]) for level in LEVELS])
    meaning = "Lines left out of the program's own log (logging.rate.limit)."
    yield Family.counter("tidegate_log_lines_suppressed_total", meaning, [({}, suppressed)])
