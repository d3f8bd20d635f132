"""Snapshots: what a log knows at a durable end, so that recovery reads only what came after.

`<offset>.snapshot` holds the log's end at that time (offset, segment, position), how much of the active
segment's index is on disk, its aborted transactions, the producers and the leader epochs, under one CRC-32C. The
newest one that is whole is the recovery point. It is written under another name, synced and renamed, after the log
itself was synced.
"""

import os
import struct

from attrs import frozen
from crc32c import crc32c

from engine.files.files import Files, read_whole, write_atomically
from engine.log.leader_epochs import LeaderEpochs
from engine.log.producer_state import ProducerState
from engine.log.types import LogPosition

SUFFIX = ".snapshot"
KEPT = 3
_FIXED = struct.Struct(">8sqqqiIqqqi")
_MARK = b"TGSNAPS2"
_CHECKSUM = struct.Struct(">I")


@frozen
class Snapshot:
    """See the module. `producers` is encoded: it is taken on the loop and written in a thread."""

    end: LogPosition
    index_entries: int
    index_checksum: int
    max_timestamp: int
    max_timestamp_position: int
    first_timestamp: int
    producers: bytes
    epochs: LeaderEpochs
    aborted: bytes = b""

    @property
    def name(self) -> str:
        return snapshot_name(self.end.offset)

    def encode(self) -> bytes:
        fixed = _FIXED.pack(
            _MARK,
            self.end.offset,
            self.end.segment,
            self.end.position,
            self.index_entries,
            self.index_checksum,
            self.max_timestamp,
            self.max_timestamp_position,
            self.first_timestamp,
            len(self.aborted),
        )
        body = fixed + self.aborted + self.epochs.encode() + self.producers
        return body + _CHECKSUM.pack(crc32c(body))

    @classmethod
    def decode(cls, data: bytes) -> "Snapshot | None":
        """None if the bytes are not a whole snapshot."""
        if len(data) < _FIXED.size + _CHECKSUM.size or data[:8] != _MARK:
            return None
        body = data[:-4]
        if _CHECKSUM.unpack(data[-4:])[0] != crc32c(body):
            return None
        _, offset, segment, position, count, crc, max_ts, max_pos, first_ts, size = _FIXED.unpack_from(body)
        aborted = body[_FIXED.size : _FIXED.size + size]
        epochs, at = LeaderEpochs.decode(body, _FIXED.size + size)
        end = LogPosition(offset, segment, position)
        return cls(end, count, crc, max_ts, max_pos, first_ts, body[at:], epochs, aborted)

    def producer_state(self, expiration_ms: int) -> ProducerState:
        return ProducerState.decode(self.producers, 0, expiration_ms)[0]


def snapshot_name(offset: int) -> str:
    return f"{offset:020d}{SUFFIX}"


def list_snapshots(names: dict[str, int]) -> list[int]:
    """Offsets of the snapshots in a directory listing, rising."""
    offsets = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
    return sorted(int(offset) for offset in offsets if offset.isdigit())


def read_snapshot(files: Files, directory: str, offset: int) -> Snapshot | None:
    data = read_whole(files, os.path.join(directory, snapshot_name(offset)))
    return Snapshot.decode(data) if data else None


def write_snapshot(files: Files, directory: str, snapshot: Snapshot) -> None:
    write_atomically(files, os.path.join(directory, snapshot.name), snapshot.encode())


def remove_snapshots(files: Files, directory: str, offsets: list[int]) -> None:
    for offset in offsets:
        files.unlink(os.path.join(directory, snapshot_name(offset)))
