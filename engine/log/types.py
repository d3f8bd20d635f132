"""The small values that a log takes and gives. Those that each batch or each read needs are msgspec's structs, which
cost a quarter of other classes to make."""

import enum
from collections.abc import Sequence

from attrs import frozen
from msgspec import Struct

from engine.files.files import FileRegion
from engine.records.compression import CODECS, GZIP, LZ4, ZSTD

DAY_MS = 86_400_000
UNLIMITED = 2**63 - 1


class Origin(enum.Enum):
    """Who appends: decides what is checked and who sets the offsets."""

    CLIENT = "client"
    REPLICA = "replica"
    COORDINATOR = "coordinator"
    RELEASE = "release"
    """From the partition's stage, where it was checked already; renamed headers may have made it larger."""
    LETTER = "letter"
    """An expired record of another topic. It was taken there once, so neither its size nor its time is held against it.
    If it comes again it is known by its producer, as a client's is."""


@frozen
class LogConfig:
    """The topic keys that a log obeys, as plain numbers."""

    segment_bytes: int = 64 * 1024 * 1024
    segment_ms: int = 7 * DAY_MS
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    max_message_records: int = 1_000_000
    validates_structure: bool = True
    timestamp_type: str = "CreateTime"
    timestamp_before_max_ms: int = UNLIMITED
    timestamp_after_max_ms: int = 3_600_000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = UNLIMITED
    min_cleanable_dirty_ratio: float = 0.5
    producer_id_expiration_ms: int = DAY_MS

    def codec(self, sent: int) -> int:
        """The codec in which a batch is stored that was sent in this one."""
        return CODECS.get(self.compression_type, sent)

    def level(self, codec: int) -> int | None:
        """How hard to compress with this codec; None where that is no question."""
        levels = {
            GZIP: self.compression_gzip_level,
            LZ4: self.compression_lz4_level,
            ZSTD: self.compression_zstd_level,
        }
        return levels.get(codec)


class LogPosition(Struct, frozen=True, gc=False):
    """A batch boundary: the offset that comes next there, its segment's base offset, the byte."""

    offset: int
    segment: int
    position: int


class LogExtent(Struct, frozen=True, array_like=True, gc=False):
    """How much a log held when it was closed."""

    end_offset: int
    segments: int
    size_bytes: int


class Receipt(Struct, frozen=True, gc=False):
    """What the producer is told. A duplicate answers the original's offsets; nothing was written.

    Records that the partition's stage has taken have no offset yet, so the base offset is -1. They are durable once the
    stage is so far as `staged_number`, and the log as `last_offset`, which is -1 if none of them goes there at once."""

    base_offset: int
    last_offset: int
    append_time_ms: int
    start_offset: int
    duplicate: bool = False
    staged_number: int = -1

    @property
    def is_staged(self) -> bool:
        """Whether the stage has taken the records."""
        return self.staged_number >= 0


class LogRead(Struct, frozen=True):
    """Slices to send; `size` bytes in all, from the batch that holds the offset asked for."""

    regions: Sequence[FileRegion]
    size: int
    start_offset: int


@frozen
class TimedOffset:
    """A record found by its time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


@frozen
class RecoveryReport:
    """What opening a log had to do; all zero after a clean shutdown."""

    scanned_bytes: int = 0
    cut_bytes: int = 0
    dropped_segments: int = 0
    rebuilt_indexes: int = 0
    snapshot_offset: int = -1
    set_aside_files: int = 0
    """What lies beside the log because it did not fit, from this recovery or an earlier one."""
    set_aside_bytes: int = 0
