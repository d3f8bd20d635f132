"""Checkpoints of stages for followers: which there is, and its bytes, piece by piece.

A checkpoint on the disk is of an offset that was under the stage's high watermark when it was written. Every member of
the ISR has the log so far, so whoever takes it over can load it. It is replaced as a whole while it is being read: who
asks for one that is gone is told, and begins with the next.
"""

from collections.abc import Callable
from functools import partial

from attrs import define

from coordinators.replication.ports import NO_SNAPSHOT, SnapshotPiece
from engine.deferred import Deferred
from engine.errors import BrokerError, PositionOutOfRange, SnapshotNotFound, StorageError
from engine.files.files import Files, read_whole
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.stage import checkpoint
from engine.workers import Workers

PIECE_BYTES = 1024 * 1024


def _nothing() -> None:
    """Nobody wants to hear of it."""


@define(eq=False)
class StageSnapshots:
    """See the module."""

    files: Files
    workers: Workers

    def look(self, log: DurableLog, found: Callable[[int], object], failed: Callable[[], object] = _nothing) -> None:
        """Of which offset a stage has a checkpoint on the disk; below 0, there is none. `found` is told, or `failed` if
        that cannot be read."""

        def done(offset: int | None, error: BaseException | None) -> None:
            if error is None:
                found(NO_SNAPSHOT if offset is None else offset)
            else:
                failed()

        self.workers.submit(partial(checkpoint.offset_on_disk, self.files, log.log.directory), done)

    def piece(self, partition: Partition, offset: int, position: int) -> Deferred[SnapshotPiece]:
        """A part of the checkpoint of that offset."""
        answer = Deferred[SnapshotPiece]()
        log = partition.stage_log
        if log is None:
            answer.refuse(SnapshotNotFound("there is no such stage"))
            return answer

        def done(piece: SnapshotPiece, error: BaseException | None) -> None:
            if error is None:
                answer.resolve(piece)
            else:
                answer.refuse(error if isinstance(error, BrokerError) else StorageError(str(error)))

        self.workers.submit(partial(_read, self.files, log.log.directory, offset, position), done)
        return answer


def _read(files: Files, directory: str, offset: int, position: int) -> SnapshotPiece:
    """[thread]"""
    data = read_whole(files, f"{directory}/{checkpoint.FILE}")
    if data is None or checkpoint.offset_of(data) != offset:
        raise SnapshotNotFound(f"the checkpoint of offset {offset} is gone")
    if not 0 <= position < len(data):
        raise PositionOutOfRange(f"{position} is not within a checkpoint of {len(data)} bytes")
    return SnapshotPiece(len(data), position, data[position : position + PIECE_BYTES])
