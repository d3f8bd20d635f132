"""What the broker itself notes in a stage: control batches between the clients' own.

One batch holds the events of one append, each a record: its key is the version and the kind, its value the numbers.
The kinds begin at 100, far from Kafka's control records, of which the markers of transactions stand in the stage too.
"""

import enum
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.errors import InvalidRecord
from engine.files.files import Buffer
from engine.records.layout import CONTROL_FLAG, CONTROL_KEY, BatchHeader, build_batch, walk_records
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.steady_clock import Anchor

VERSION = 0

_INTENT = struct.Struct(">qqi")
_PIECE = struct.Struct(">bqi")
_RESCHEDULED = struct.Struct(">qq?")
_ROW = struct.Struct(">qiibbq?qiiqqqQ")
_ROW_FIELDS = 14
"""What a record came in stays as it is when it is moved."""


class StageEventKind(enum.IntEnum):
    """The numbers as they lie on disk."""

    READY = 100
    INTENT = 101
    EXPIRED = 102
    CANCELLED = 103
    RESCHEDULED = 104
    PRIORITY = 105
    MOVED = 106
    CLOCK = 107
    DEAD_LETTERED = 108
    DEAD_LETTER_PRODUCER = 109
    CODEC = 110
    ANCHORED = 111


class Ready(NamedTuple):
    """These delayed records are due: they enter their lanes."""

    numbers: tuple[int, ...]


class Intent(NamedTuple):
    """These records go to the log at `first_offset` and after, in this order; `released_ms` is their batch's time."""

    first_offset: int
    released_ms: int
    pieces: tuple[Piece, ...]

    @property
    def end_offset(self) -> int:
        """The offset after its last."""
        return self.first_offset + sum(piece.count for piece in self.pieces)


class Expired(NamedTuple):
    """The time of these records is over; `dead_letters` says whether they go to the dead-letter topic."""

    numbers: tuple[int, ...]
    dead_letters: bool = False


class Cancelled(NamedTuple):
    """An administrator has taken these back."""

    numbers: tuple[int, ...]


class Rescheduled(NamedTuple):
    """An administrator has moved this one's time."""

    number: int
    due_ms: int
    relative: bool


class Priority(NamedTuple):
    """From here on the partition is prioritised, or no longer."""

    enabled: bool


class Moved(NamedTuple):
    """A record that was copied to the end of the stage, so that old segments can go. Its number stays its own."""

    row: PendingRow
    record: bytes


class ClockMoved(NamedTuple):
    """How far the wall clock is ahead of the stage's steady time."""

    ahead_ms: int


class Anchored(NamedTuple):
    """What the stage's steady time goes on from, as long as the machine runs."""

    anchor: Anchor


class DeadLettered(NamedTuple):
    """These expired records have reached the dead-letter topic."""

    numbers: tuple[int, ...]


class DeadLetterProducer(NamedTuple):
    """Under this producer id the stage writes to the dead-letter topic, so that nothing arrives there twice."""

    producer_id: int


class CodecChanged(NamedTuple):
    """What clients send from here on came in this codec, in which it will be released."""

    codec: int


Event = (
    Ready
    | Intent
    | Expired
    | Cancelled
    | Rescheduled
    | Priority
    | Moved
    | ClockMoved
    | DeadLettered
    | DeadLetterProducer
    | CodecChanged
    | Anchored
)


def build_events(events: Sequence[Event], now_ms: int) -> bytes:
    """The control batch that holds them."""
    return build_batch([_encode(event) for event in events], timestamp_ms=now_ms, attributes=CONTROL_FLAG)


def read_events(header: BatchHeader, section: Buffer) -> Iterator[tuple[Event, int]]:
    """The events of a control batch, each with where its value ends in the section; nothing for other batches."""
    for span in walk_records(section, header.record_count):
        key = span.key or b""
        if len(key) != CONTROL_KEY.size or span.value is None:
            continue
        version, kind = CONTROL_KEY.unpack(key)
        if kind < StageEventKind.READY:
            continue
        if version != VERSION:
            raise InvalidRecord(f"an event of version {version}; this broker knows version {VERSION}")
        # The count of headers, zero, is the last byte of the record.
        yield _decode(kind, bytes(span.value)), span.end - 1


def _encode(event: Event) -> tuple[bytes, bytes]:
    match event:
        case Ready(numbers):
            return _key(StageEventKind.READY), _pack_numbers(numbers)
        case Intent(first_offset, released_ms, pieces):
            value = _INTENT.pack(first_offset, released_ms, len(pieces))
            return _key(StageEventKind.INTENT), value + b"".join([_PIECE.pack(*piece) for piece in pieces])
        case Expired(numbers, dead_letters):
            return _key(StageEventKind.EXPIRED), bytes([dead_letters]) + _pack_numbers(numbers)
        case Cancelled(numbers):
            return _key(StageEventKind.CANCELLED), _pack_numbers(numbers)
        case Rescheduled(number, due_ms, relative):
            return _key(StageEventKind.RESCHEDULED), _RESCHEDULED.pack(number, due_ms, relative)
        case Priority(enabled):
            return _key(StageEventKind.PRIORITY), bytes([enabled])
        case Moved(row, record):
            return _key(StageEventKind.MOVED), _ROW.pack(*row[:_ROW_FIELDS]) + record
        case ClockMoved(ahead_ms):
            return _key(StageEventKind.CLOCK), struct.pack(">q", ahead_ms)
        case DeadLetterProducer(producer_id):
            return _key(StageEventKind.DEAD_LETTER_PRODUCER), struct.pack(">q", producer_id)
        case CodecChanged(codec):
            return _key(StageEventKind.CODEC), bytes([codec])
        case DeadLettered(numbers):
            return _key(StageEventKind.DEAD_LETTERED), _pack_numbers(numbers)
        case Anchored(anchor):
            return _key(StageEventKind.ANCHORED), struct.pack(">q", anchor.origin_us) + anchor.boot.encode()


def _decode(kind: int, value: bytes) -> Event:
    try:
        match kind:
            case StageEventKind.READY:
                return Ready(_unpack_numbers(value))
            case StageEventKind.INTENT:
                return _unpack_intent(value)
            case StageEventKind.EXPIRED:
                return Expired(_unpack_numbers(value[1:]), bool(value[0]))
            case StageEventKind.CANCELLED:
                return Cancelled(_unpack_numbers(value))
            case StageEventKind.RESCHEDULED:
                return Rescheduled(*_RESCHEDULED.unpack(value))
            case StageEventKind.PRIORITY:
                return Priority(bool(value[0]))
            case StageEventKind.MOVED:
                return Moved(PendingRow(*_ROW.unpack_from(value)), value[_ROW.size :])
            case StageEventKind.CLOCK:
                return ClockMoved(*struct.unpack(">q", value))
            case StageEventKind.DEAD_LETTER_PRODUCER:
                return DeadLetterProducer(*struct.unpack(">q", value))
            case StageEventKind.CODEC:
                return CodecChanged(value[0])
            case StageEventKind.DEAD_LETTERED:
                return DeadLettered(_unpack_numbers(value))
            case StageEventKind.ANCHORED:
                return Anchored(Anchor(value[8:].decode(errors="replace"), *struct.unpack_from(">q", value)))
    except (struct.error, IndexError) as error:
        raise InvalidRecord(f"an event of kind {kind} is damaged: {error}") from None
    raise InvalidRecord(f"an event of the unknown kind {kind}")


def _key(kind: StageEventKind) -> bytes:
    return CONTROL_KEY.pack(VERSION, kind)


def _pack_numbers(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">{len(numbers)}q", *numbers)


def _unpack_numbers(value: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(value) // 8}q", value)


def _unpack_intent(value: bytes) -> Intent:
    first_offset, released_ms, count = _INTENT.unpack_from(value)
    if len(value) != _INTENT.size + count * _PIECE.size:
        raise InvalidRecord(f"an intent of {count} pieces in {len(value)} bytes")
    pieces = tuple(Piece._make(piece) for piece in _PIECE.iter_unpack(value[_INTENT.size :]))
    return Intent(first_offset, released_ms, pieces)
