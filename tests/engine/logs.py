"""What the tests of the log share: opening one in memory, batches to append, syncing, reading it all back."""

from engine.clock import Clock, ManualClock
from engine.files.files import Files
from engine.files.memory import MemoryFiles
from engine.journal.format import LogJournal
from engine.log.log import Log, LogConfig
from engine.log.types import LogExtent
from engine.records.layout import BatchHeader, build_batch, parse_header, split_batches

DIRECTORY = "/data/topics/0a/0"
NOW_MS = 1_700_000_000_000


def memory_files() -> MemoryFiles:
    """A disk on which the broker has made its data directory."""
    files = MemoryFiles()
    files.make_directories("/data")
    files.sync_directory("/")
    return files


def open_log(
    files: Files,
    *,
    clock: Clock | None = None,
    config: LogConfig | None = None,
    clean: bool = False,
    directory: str = DIRECTORY,
    journal: LogJournal | None = None,
    left: LogExtent | None = None,
) -> Log:
    return Log.open(
        directory,
        files=files,
        clock=clock or ManualClock(NOW_MS),
        config=config or LogConfig(),
        clean=clean,
        journal=journal,
        left=left,
    )


def batch(count: int = 1, *, size: int = 10, timestamp_ms: int = NOW_MS, key: bytes | None = b"k") -> bytes:
    return build_batch([(key, b"v" * size)] * count, timestamp_ms=timestamp_ms)


def idempotent(sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0) -> bytes:
    return build_batch(
        [(b"k", b"v")] * count,
        timestamp_ms=NOW_MS,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def sync(log: Log) -> None:
    ticket = log.capture_sync()
    ticket.run()
    log.synced(ticket)


def maintain(log: Log) -> None:
    for job in log.maintenance():
        job.run()
        job.finish()
        assert job.error is None


def snapshot(log: Log) -> None:
    log.request_snapshot()
    maintain(log)


def read_at(log: Log, offset: int, max_bytes: int = 1) -> bytes:
    """What a read from `offset` gives; with the least size, exactly one batch."""
    found = log.read(offset, max_bytes, log.end, at_least_one=True)
    return b"".join(region.read() for region in found.regions)


def first_header(data: bytes) -> BatchHeader:
    return parse_header(data)


def read_all(log: Log) -> list[bytes]:
    """Every batch from the start offset on, found one after the other."""
    found, offset = [], log.start_offset
    while offset < log.end_offset:
        data = read_at(log, offset)
        if not data:
            break
        ((header, _),) = split_batches(data)
        found.append(data)
        offset = header.next_offset
    return found


def stored(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """A client's batch as the log keeps it."""
    header = parse_header(data)._replace(base_offset=base_offset, leader_epoch=leader_epoch)
    return header.pack() + data[61:]
