"""What the cleaner's tests share: partitions in memory, by hand on the clock, and a look at every record."""

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from engine.cleaner.cleaner import Cleaner
from engine.cleaner.throttle import Throttle
from engine.clock import ManualClock
from engine.files.memory import MemoryFiles
from engine.log.aborted_index import AbortedTransaction
from engine.log.log import Log, LogConfig
from engine.log.transactions import EndMarker, build_marker, parse_marker
from engine.log.types import Origin
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.sync import SyncRounds
from engine.records.compression import CODECS, compress
from engine.records.layout import (
    HEADER_SIZE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    build_batch,
    parse_header,
    record_section,
    seal_batch,
    split_batches,
    walk_records,
)
from engine.workers import InlineWorkers
from tests.engine.logs import NOW_MS, memory_files, read_all

TOPIC = b"\x0a" * 16
COMPACT = LogConfig(
    cleanup_delete=False, cleanup_compact=True, segment_bytes=1000, index_interval_bytes=100, delete_retention_ms=1000
)

Pair = tuple[bytes | None, bytes | None]


@frozen
class Seen:
    """A record as a consumer sees it."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


class World:
    """One partition and the cleaner over it; threads are played by the caller's own."""

    def __init__(
        self, config: LogConfig = COMPACT, files: MemoryFiles | None = None, clock: ManualClock | None = None
    ) -> None:
        self.files = files or memory_files()
        self.clock = clock or ManualClock(NOW_MS)
        self.config = config
        self.workers = InlineWorkers()
        self.errors: list[str] = []
        self.rounds = SyncRounds(InlineWorkers(), lambda: None)
        self.partitions = Partitions(
            data_dir="/data",
            files=self.files,
            clock=self.clock,
            workers=self.workers,
            rounds=self.rounds,
            call_later=lambda _delay, _call: None,
            log_error=self.errors.append,
        )
        spec = PartitionSpec(TOPIC, 0, config, True, "orders")
        self.partition: Partition = self.partitions.add(spec, self.partitions.open_log(spec, clean=False))
        self.map_bytes = 1 << 20
        self.cleaner = self.make_cleaner()

    @property
    def log(self) -> Log:
        return self.partition.log

    def make_cleaner(self, workers: InlineWorkers | None = None) -> Cleaner:
        def make_throttle(is_stopped: Callable[[], bool]) -> Throttle:
            return Throttle(self.clock.monotonic, lambda _: None, is_stopped, work_s=0)

        return Cleaner(self.partitions, workers or self.workers, self.clock, make_throttle, map_bytes=self.map_bytes)

    def write(self, *pairs: Pair, timestamp_ms: int | None = None, **fields: int) -> int:
        """Appends one batch and syncs it; its base offset."""
        time = self.clock.now_ms() if timestamp_ms is None else timestamp_ms
        result = self.partition.write(build_batch(pairs, timestamp_ms=time, **fields))
        self.rounds.start_round()
        return result.base_offset

    def write_in_transaction(
        self, producer_id: int, *pairs: Pair, epoch: int = 0, codec: str = "uncompressed", numbered: bool = True
    ) -> int:
        """The same for a batch of a producer's transaction; with its next sequence number, or as coordinators write
        on its behalf, without."""
        known = [p.last_sequence for p in self.log.producers() if (p.producer_id, p.epoch) == (producer_id, epoch)]
        plain = build_batch(
            pairs,
            timestamp_ms=self.clock.now_ms(),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=(known[0] + 1 if known else 0) if numbered else -1,
            attributes=TRANSACTIONAL_FLAG | CODECS[codec],
        )
        batch = seal_batch(parse_header(plain), compress(CODECS[codec], plain[HEADER_SIZE:]))
        result = self.partition.write(batch, origin=Origin.CLIENT if numbered else Origin.COORDINATOR)
        self.rounds.start_round()
        return result.base_offset

    def end_transaction(self, producer_id: int, *, committed: bool, epoch: int = 0, coordinator_epoch: int = 0) -> int:
        marker = build_marker(producer_id, epoch, EndMarker(committed, coordinator_epoch), self.clock.now_ms())
        result = self.partition.write(marker, origin=Origin.COORDINATOR)
        self.rounds.start_round()
        return result.base_offset

    def markers(self) -> list[int]:
        """Where markers stand."""
        return [header.base_offset for header in self.headers() if header.is_control and header.record_count]

    def committed(self, offset: int | None = None, max_bytes: int = 1) -> list[Seen]:
        """What a consumer that reads committed records sees from an offset on, told apart as clients do it."""
        found: list[Seen] = []
        offset = self.log.start_offset if offset is None else offset
        while True:
            read = self.partition.read(offset, max_bytes, at_least_one=True, committed=True)
            if read.log_read is None or not read.log_read.size:
                return found
            data = b"".join(region.read() for region in read.log_read.regions)
            batches = split_batches(_whole(data))
            seen = list(committed_records(batches, read.aborted or ()))
            found.extend(record for record in seen if record.offset >= offset)
            offset = batches[-1][0].next_offset

    def roll(self) -> None:
        """Closes the active segment, as a larger log would have, with the snapshot that follows."""
        self.log.roll()
        self.partitions.run_jobs(self.partition, self.log.maintenance())

    def compact(self) -> None:
        self.cleaner.compact()
        assert self.cleaner.idle
        assert self.errors == []

    def headers(self) -> list[BatchHeader]:
        return [split_batches(data)[0][0] for data in read_all(self.log)]

    def records(self) -> list[Seen]:
        """Every record from the start on."""
        return [record for data in read_all(self.log) for record in open_batch(data)]

    def values(self) -> dict[int, bytes | None]:
        return {record.offset: record.value for record in self.records()}

    def forget(self, *suffixes: str) -> None:
        """Removes files that recovery has to do without."""
        for name in self.files.list(self.log.directory):
            if name.endswith(suffixes):
                self.files.unlink(f"{self.log.directory}/{name}")

    def reopened(self, config: LogConfig | None = None) -> "World":
        """The same disk after a restart."""
        again = World(config or self.config, self.files, self.clock)
        again.map_bytes = self.map_bytes
        again.cleaner = again.make_cleaner()
        return again


def _whole(data: bytes) -> bytes:
    """Without a last batch that is cut off."""
    position = 0
    while position + HEADER_SIZE <= len(data) and position + parse_header(data, position).size <= len(data):
        position += parse_header(data, position).size
    return data[:position]


def committed_records(
    batches: Sequence[tuple[BatchHeader, memoryview]], aborted: Sequence[AbortedTransaction]
) -> Iterator[Seen]:
    """The way of Kafka's clients: an aborted producer is left out from its first offset to its abort marker."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    left_out: set[int] = set()
    for header, batch in batches:
        while waiting and waiting[0].first_offset <= header.last_offset:
            left_out.add(waiting.pop(0).producer_id)
        if header.is_control:
            marker = parse_marker(header, batch[HEADER_SIZE:])
            if marker is not None and not marker.committed:
                left_out.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in left_out):
            yield from open_batch(bytes(batch))


def open_batch(data: bytes) -> Sequence[Seen]:
    ((header, batch),) = split_batches(data)
    return [
        Seen(
            header.base_offset + record.offset_delta,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
            header.max_timestamp if header.is_log_append_time else header.base_timestamp + record.timestamp_delta,
        )
        for record in walk_records(record_section(header, batch), header.record_count)
    ]
