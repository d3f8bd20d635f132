"""Transactions as a log sees them: markers that end them, how far they are decided, which were aborted.

A marker is a control batch of one record. Its key says whether the transaction commits or aborts, its value which
epoch of the coordinator wrote it. Open transactions are part of the producers' state; a transaction that has ended
still counts as undecided until the high watermark has passed its marker, for the marker may be lost until then.
"""

import struct
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from engine.errors import InvalidProducerEpoch, InvalidRecord
from engine.files.files import Buffer
from engine.log.aborted_index import AbortedIndex, AbortedTransaction
from engine.log.producer_state import ProducerState
from engine.log.segment import Segment, walk_headers
from engine.records.layout import (
    CONTROL_FLAG,
    CONTROL_KEY,
    HEADER_SIZE,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    build_batch,
    walk_records,
)

_VALUE = struct.Struct(">hi")
_VERSION = 0
_ABORT = 0
_COMMIT = 1


@frozen
class EndMarker:
    """How a transaction ended."""

    committed: bool
    coordinator_epoch: int
    raises_epoch: bool = False
    """Whether the producer had another epoch while it wrote (transaction version 2, KIP-890). Of a marker that was read
    from a log nobody asks any more."""


@frozen
class EndedTransaction:
    """From its first record to its marker, and how it ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    committed: bool


Markers = dict[int, EndMarker | None]
"""Of control batches, by their offsets."""
EndWatcher = Callable[[EndedTransaction], object]


def build_marker(producer_id: int, producer_epoch: int, marker: EndMarker, timestamp_ms: int) -> bytes:
    """The control batch that ends a producer's transaction."""
    key = CONTROL_KEY.pack(_VERSION, _COMMIT if marker.committed else _ABORT)
    return build_batch(
        [(key, _VALUE.pack(_VERSION, marker.coordinator_epoch))],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        attributes=TRANSACTIONAL_FLAG | CONTROL_FLAG,
    )


def check_ending(producer_id: int, epoch: int, marker: EndMarker, *, is_open: bool) -> None:
    """Refuse a marker that comes late: its transaction has ended, and its producer has begun the next one, which
    `is_open`, in the very epoch to which the marker raised it."""
    if marker.raises_epoch and is_open:
        raise InvalidProducerEpoch(f"producer {producer_id} has begun another transaction in epoch {epoch}")


def parse_marker(header: BatchHeader, section: Buffer) -> EndMarker | None:
    """The marker in a control batch's records; None for control records of other kinds, and emptied batches."""
    if header.record_count == 0:
        return None
    record = next(walk_records(section, header.record_count))
    key, value = record.key or b"", record.value or b""
    if len(key) < CONTROL_KEY.size:
        raise InvalidRecord(f"a control record with a key of {len(key)} bytes")
    kind = CONTROL_KEY.unpack_from(key)[1]
    if kind not in (_ABORT, _COMMIT):
        return None
    if len(value) < _VALUE.size:
        raise InvalidRecord(f"a transaction marker with a value of {len(value)} bytes")
    return EndMarker(kind == _COMMIT, _VALUE.unpack_from(value)[1])


@define(eq=False)
class Undecided:
    """Transactions that have ended and whose markers the high watermark has not passed."""

    _ended: list[EndedTransaction] = field(factory=list)

    def __bool__(self) -> bool:
        return bool(self._ended)

    def add(self, ended: EndedTransaction) -> None:
        self._ended.append(ended)

    def since(self, offset: int) -> list[EndedTransaction]:
        """Those whose markers stand at this offset or behind it."""
        return [ended for ended in self._ended if ended.last_offset >= offset]

    def passed(self, high_watermark: int) -> None:
        """The high watermark has moved."""
        self._ended = [ended for ended in self._ended if ended.last_offset >= high_watermark]

    def first_offset(self) -> int | None:
        return min((ended.first_offset for ended in self._ended), default=None)


def note_producer(
    aborted: AbortedIndex, producers: ProducerState, header: BatchHeader, marker: EndMarker | None, now_ms: int
) -> EndedTransaction | None:
    """Takes a producer's batch into account, live or in recovery; returns the transaction that it ended, if any."""
    if marker is None:
        if not header.attributes & CONTROL_FLAG:
            producers.update(header, header.base_offset, now_ms)
        return None
    first_offset = producers.end_transaction(header, marker.coordinator_epoch, now_ms)
    if first_offset is None:
        return None
    if not marker.committed:
        stable = stable_offset(producers, header.next_offset)
        aborted.add(AbortedTransaction(header.producer_id, first_offset, header.last_offset, stable))
    return EndedTransaction(header.producer_id, first_offset, header.last_offset, marker.committed)


def stable_offset(producers: ProducerState, end_offset: int) -> int:
    """Below it every transaction has ended."""
    first_open = producers.first_open_offset()
    return end_offset if first_open is None else min(first_open, end_offset)


def read_marker(segment: Segment, position: int, header: BatchHeader) -> EndMarker | None:
    """The marker of a control batch at `position` of a segment."""
    if not header.attributes & CONTROL_FLAG:
        return None
    section = segment.file().pread(header.size - HEADER_SIZE, position + HEADER_SIZE)
    try:
        return parse_marker(header, section)
    except InvalidRecord:
        # A damaged batch, which its checksum disowns, ends nothing.
        return None


def aborted_transactions(
    segments: Sequence[Segment], number: int, from_offset: int, upto_offset: int
) -> list[AbortedTransaction]:
    """Those that reach into [from, upto); `number` is the segment that holds `from_offset`."""
    found: list[AbortedTransaction] = []
    for later in range(number, len(segments)):
        segment = segments[later]
        if segment.loaded_aborted() is None:
            rebuild(segments[: later + 1])
        assert segment.aborted is not None
        if segment.aborted.collect(from_offset, upto_offset, found) or segment.stable_offset >= upto_offset:
            break
    return found


def rebuild(segments: Sequence[Segment]) -> None:
    """Finds the aborted transactions of the last of `segments`, whose index was damaged, by walking all of them."""
    producers = ProducerState(0)
    aborted, end_offset = AbortedIndex(), -1
    for segment in segments:
        aborted = AbortedIndex()
        for header, marker in _producer_batches(segment):
            note_producer(aborted, producers, header, marker, 0)
            end_offset = header.next_offset
    segments[-1].aborted = aborted
    segments[-1].stable_offset = stable_offset(producers, end_offset)


def _producer_batches(segment: Segment) -> Iterator[tuple[BatchHeader, EndMarker | None]]:
    for position, header in walk_headers(segment.file(), 0, segment.size):
        if header.producer_id != NO_PRODUCER_ID:
            yield header, read_marker(segment, position, header)
