"""What a partition remembers of its idempotent producers, so that a retry is stored once and in order.

Per producer id: its epoch and its last five batches, because clients keep up to five requests in flight. A
batch already remembered is answered like the original. One that was accepted but is older than the five is a
known duplicate; anything else out of turn is refused. A producer that is not known (new, or forgotten after
`producer.id.expiration.ms`) may start with any sequence number. A transaction is open from its first batch to its
marker; who has one open is not forgotten.
"""

import struct
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from attrs import define, field, frozen

from engine.errors import (
    DuplicateSequence,
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from engine.log.producer_room import ProducerRoom
from engine.records.layout import TRANSACTIONAL_FLAG, BatchHeader

# Sequence numbers run from 0 to 2^31 - 1 and start over.
SEQUENCES = 2**31
BATCHES_KEPT = 5
NO_SEQUENCE = -1
NONE = -1

_ENTRY = struct.Struct(">qhqqqiqb")
_MARK = struct.Struct(">iiqqq")


class BatchMark(NamedTuple):
    """A batch that was accepted."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


@frozen
class ProducerInfo:
    """A producer as DescribeProducers shows it."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int
    last_offset: int = NONE


@define(eq=False)
class ProducerEntry:
    """One producer. `run` counts the sequence numbers accepted without a gap up to the last one."""

    epoch: int
    last_timestamp_ms: int = NONE
    touched_ms: int = 0
    run: int = 0
    coordinator_epoch: int = NONE
    transaction_first_offset: int = NONE
    batches: deque[BatchMark] = field(factory=lambda: deque(maxlen=BATCHES_KEPT))

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def copy(self) -> "ProducerEntry":
        return ProducerEntry(
            self.epoch,
            self.last_timestamp_ms,
            self.touched_ms,
            self.run,
            self.coordinator_epoch,
            self.transaction_first_offset,
            self.batches.copy(),
        )


def next_sequence(sequence: int, count: int = 1) -> int:
    """The sequence number `count` further on."""
    return (sequence + count) % SEQUENCES


@define(eq=False, weakref_slot=True)
class ProducerState:
    """All producers of a partition."""

    expiration_ms: int
    _entries: dict[int, ProducerEntry] = field(factory=dict)
    _open: dict[int, int] = field(factory=dict)
    """First offsets of open transactions by producer. They begin one after the other: the first is the least."""
    _room: ProducerRoom | None = None

    def share(self, room: ProducerRoom) -> None:
        """Count those that are remembered among all that the broker remembers."""
        self._room = room
        for producer_id, entry in self._entries.items():
            room.take(self, producer_id, entry)

    def remembers(self, producer_id: int, entry: ProducerEntry) -> bool:
        """Whether this is what is known of the producer."""
        return self._entries.get(producer_id) is entry

    def forget(self, producer_id: int) -> bool:
        """Forget a producer, unless it has a transaction open."""
        if producer_id in self._open:
            return False
        del self._entries[producer_id]
        return True

    def __len__(self) -> int:
        return len(self._entries)

    def check(self, header: BatchHeader, now_ms: int) -> BatchMark | None:
        """Whether the producer may append this batch: returns the original if it is a duplicate,
        None if it is new, and raises otherwise."""
        entry = self._entries.get(header.producer_id)
        if entry is not None and self._expired(entry, now_ms):
            del self._entries[header.producer_id]
            entry = None
        if entry is None:
            if self._room is not None:
                self._room.check()
            return None
        self.check_epoch(header, entry)
        if entry.transaction_first_offset != NONE and not header.is_transactional:
            raise InvalidTxnState(f"producer {header.producer_id} has a transaction open and writes outside of it")
        if header.producer_epoch > entry.epoch:
            if header.base_sequence != 0:
                raise OutOfOrderSequence(
                    f"producer {header.producer_id} starts epoch {header.producer_epoch} with sequence "
                    f"{header.base_sequence}, not 0"
                )
            return None
        return _check_sequence(header, entry)

    def check_epoch(self, header: BatchHeader, entry: ProducerEntry) -> None:
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} writes with epoch {header.producer_epoch}, its latest is {entry.epoch}"
            )

    def check_coordinator(self, header: BatchHeader, coordinator_epoch: int | None) -> None:
        """Whether the transaction's own coordinator (of that epoch, for a marker) may write this batch."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        self.check_epoch(header, entry)
        if coordinator_epoch is not None and coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"a coordinator of epoch {coordinator_epoch} ends a transaction of producer {header.producer_id}, "
                f"the latest was of epoch {entry.coordinator_epoch}"
            )

    def end_transaction(self, header: BatchHeader, coordinator_epoch: int, now_ms: int) -> int | None:
        """Notes a marker; returns where the transaction began, None if none was open."""
        entry = self._entry(header, now_ms)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp_ms = header.max_timestamp
        entry.touched_ms = now_ms
        entry.transaction_first_offset = NONE
        return self._open.pop(header.producer_id, None)

    @property
    def any_open(self) -> bool:
        """Whether any transaction is open."""
        return bool(self._open)

    def first_open_offset(self) -> int | None:
        """Where the earliest open transaction began."""
        return next(iter(self._open.values()), None)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether this producer has written in a transaction that has not ended."""
        entry = self._entries.get(producer_id)
        return entry is not None and entry.epoch == epoch and entry.transaction_first_offset != NONE

    def knows(self, producer_id: int) -> bool:
        """Whether anything is remembered of it, in whatever epoch."""
        return producer_id in self._entries

    def is_open(self, producer_id: int) -> bool:
        """Whether it has a transaction open here."""
        return producer_id in self._open

    def _entry(self, header: BatchHeader, now_ms: int) -> ProducerEntry:
        """The producer's entry, made or moved to the batch's epoch if need be."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry(header.producer_epoch, touched_ms=now_ms)
            if self._room is not None:
                self._room.take(self, header.producer_id, entry)
        elif entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.run = 0
            entry.batches.clear()
        return entry

    def update(self, header: BatchHeader, base_offset: int, now_ms: int) -> None:
        """Notes a batch that was written; also replays one that recovery found."""
        entry = self._entry(header, now_ms)
        if header.attributes & TRANSACTIONAL_FLAG and entry.transaction_first_offset == NONE:
            entry.transaction_first_offset = self._open[header.producer_id] = base_offset
        entry.last_timestamp_ms = header.max_timestamp
        entry.touched_ms = now_ms
        if header.base_sequence >= 0:
            self._append_mark(entry, header, base_offset)

    def _append_mark(self, entry: ProducerEntry, header: BatchHeader, base_offset: int) -> None:
        count = header.last_offset_delta + 1
        if entry.batches and next_sequence(entry.last_sequence) != header.base_sequence:
            entry.run = 0
        entry.run += count
        last = next_sequence(header.base_sequence, count - 1)
        last_offset = NONE if base_offset == NONE else base_offset + count - 1
        entry.batches.append(BatchMark(header.base_sequence, last, base_offset, last_offset, header.max_timestamp))

    def note_elsewhere(self, header: BatchHeader, now_ms: int) -> None:
        """Notes a batch that the partition's stage took: in turn here, at an offset that nobody knows yet."""
        entry = self._entry(header, now_ms)
        entry.last_timestamp_ms = max(entry.last_timestamp_ms, header.base_timestamp)
        entry.touched_ms = now_ms
        if header.base_sequence >= 0:
            self._append_mark(entry, header, NONE)

    def forget_elsewhere(self) -> None:
        """Forgets batches that the stage took: it may have lost some, and knows itself which."""
        for producer_id, entry in tuple(self._entries.items()):
            kept = [mark for mark in entry.batches if mark.base_offset != NONE]
            if len(kept) == len(entry.batches):
                continue
            if not kept and producer_id not in self._open:
                del self._entries[producer_id]
                continue
            entry.batches = deque(kept, BATCHES_KEPT)
            entry.run = _run(kept)

    def merge(self, other: "ProducerState") -> None:
        """Takes in what the partition's stage remembers of its producers, after both were recovered."""
        for producer_id, theirs in other._entries.items():
            ours = self._entries.get(producer_id)
            if ours is None or ours.epoch < theirs.epoch:
                first_offset = ours.transaction_first_offset if ours is not None else NONE
                self._entries[producer_id] = ours = theirs.copy()
                ours.transaction_first_offset = first_offset
                ours.batches = deque(
                    (mark._replace(base_offset=NONE, last_offset=NONE) for mark in theirs.batches), BATCHES_KEPT
                )
            elif ours.epoch == theirs.epoch:
                ours.batches, ours.run = _merged(ours, theirs)
            ours.touched_ms = max(ours.touched_ms, theirs.touched_ms)
            ours.coordinator_epoch = max(ours.coordinator_epoch, theirs.coordinator_epoch)

    def expire(self, now_ms: int) -> int:
        """Forgets who has been silent for too long; returns how many."""
        gone = [key for key, entry in self._entries.items() if self._expired(entry, now_ms)]
        for key in gone:
            del self._entries[key]
        return len(gone)

    def _expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        # Counted from the append, not from the records' own time: old events must not expire at once.
        idle_ms = now_ms - entry.touched_ms
        return idle_ms >= self.expiration_ms and entry.transaction_first_offset == NONE

    def describe(self) -> Iterable[ProducerInfo]:
        for producer_id, entry in self._entries.items():
            yield ProducerInfo(
                producer_id,
                entry.epoch,
                entry.last_sequence,
                entry.last_timestamp_ms,
                entry.coordinator_epoch,
                entry.transaction_first_offset,
                entry.batches[-1].last_offset if entry.batches else NONE,
            )

    def copy(self) -> "ProducerState":
        entries = {key: e.copy() for key, e in self._entries.items()}
        return ProducerState(self.expiration_ms, entries, self._open.copy())

    def encode(self) -> bytes:
        pieces = [struct.pack(">i", len(self._entries))]
        for producer_id, e in self._entries.items():
            pieces.append(
                _ENTRY.pack(
                    producer_id,
                    e.epoch,
                    e.last_timestamp_ms,
                    e.touched_ms,
                    e.run,
                    e.coordinator_epoch,
                    e.transaction_first_offset,
                    len(e.batches),
                )
            )
            pieces.extend(_MARK.pack(*mark) for mark in e.batches)
        return b"".join(pieces)

    @classmethod
    def decode(cls, data: bytes, position: int, expiration_ms: int) -> tuple["ProducerState", int]:
        """The state at `position` of a snapshot whose checksum held, and where it ends."""
        (count,) = struct.unpack_from(">i", data, position)
        position += 4
        state = cls(expiration_ms)
        for _ in range(count):
            producer_id, epoch, last_ms, touched_ms, run, coordinator, first, marks = _ENTRY.unpack_from(data, position)
            position += _ENTRY.size
            entry = ProducerEntry(epoch, last_ms, touched_ms, run, coordinator, first)
            for _ in range(marks):
                entry.batches.append(BatchMark._make(_MARK.unpack_from(data, position)))
                position += _MARK.size
            state._entries[producer_id] = entry
        opened = ((key, entry.transaction_first_offset) for key, entry in state._entries.items())
        state._open = dict(sorted((pair for pair in opened if pair[1] != NONE), key=lambda pair: pair[1]))
        return state, position


def _run(marks: Sequence[BatchMark]) -> int:
    """How many numbers up to the last one these batches have without a gap."""
    run = 0
    for before, mark in pairwise([None, *marks]):
        assert mark is not None
        if before is not None and next_sequence(before.last_sequence) != mark.first_sequence:
            run = 0
        run += (mark.last_sequence - mark.first_sequence) % SEQUENCES + 1
    return run


def _merged(ours: ProducerEntry, theirs: ProducerEntry) -> tuple[deque[BatchMark], int]:
    """The last batches of one producer that two logs took in turn, and the numbers accepted without a gap up to the
    last one. Where both know a batch, the offset is ours."""
    marks = {mark.first_sequence: mark._replace(base_offset=NONE, last_offset=NONE) for mark in theirs.batches}
    marks.update((mark.first_sequence, mark) for mark in ours.batches)
    later, earlier = (theirs, ours) if _is_later(theirs, ours) else (ours, theirs)
    run = later.run
    if earlier.batches and (later.last_sequence - earlier.last_sequence) % SEQUENCES == later.run:
        run += earlier.run
    # Sequences start over after 2^31: what counts is how far each lies behind the last one.
    ordered = sorted(marks, key=lambda first: (later.last_sequence - first) % SEQUENCES, reverse=True)
    return deque((marks[first] for first in ordered), maxlen=BATCHES_KEPT), run


def _is_later(one: ProducerEntry, other: ProducerEntry) -> bool:
    """Whether `one` has the later batch of two logs that took a producer's batches in turn. The numbers go on without a
    gap over both: the other's last one lies within what the later log has taken without a gap, or right before it."""
    if not one.batches or not other.batches:
        return bool(one.batches)
    follows = (one.last_sequence - other.last_sequence) % SEQUENCES <= one.run
    precedes = (other.last_sequence - one.last_sequence) % SEQUENCES <= other.run
    if follows != precedes:
        return follows
    # A producer that was forgotten in between, or went round all numbers: the records' times have to tell.
    return one.batches[-1].timestamp_ms > other.batches[-1].timestamp_ms


def _check_sequence(header: BatchHeader, entry: ProducerEntry) -> BatchMark | None:
    first = header.base_sequence
    if first == next_sequence(entry.last_sequence):
        return None
    last = next_sequence(first, header.last_offset_delta)
    for mark in entry.batches:
        if mark.first_sequence == first and mark.last_sequence == last:
            return mark
    # Only what this partition really accepted may be called a duplicate: a client takes that for success.
    behind = (entry.last_sequence - first) % SEQUENCES
    window = (entry.last_sequence - entry.batches[0].first_sequence) % SEQUENCES if entry.batches else 0
    if window < behind < min(entry.run, SEQUENCES // 2) and header.last_offset_delta < behind - window:
        raise DuplicateSequence(
            f"producer {header.producer_id} repeats sequence {first}, older than the {BATCHES_KEPT} batches remembered"
        )
    raise OutOfOrderSequence(
        f"producer {header.producer_id} sends sequence {first}, {next_sequence(entry.last_sequence)} comes next"
    )
