"""The stage of a partition: what was acknowledged and may not be read yet, and how it gets into the log.

A `Stage` is synchronous and belongs to the event loop. Every change is an append to the stage's own log, followed by
its replay (`StageState`). When what is called is decided in `engine/partition/staging.py` and `coordinators/release`.

The rules:
 1. A batch with any record to hold goes whole into the stage in one append, with its producer id and sequence; its
    immediate records are released before the answer, and what the partition receives later comes after them. Both logs
    feed one producer state; a duplicate of a staged batch is answered like the original, with its offset unknown.
 2. Readiness is an event in the stage (due, committed, or the append itself for an undelayed record in a lane), never
    computed from clock or memory: after a crash it must be the same. The promised end counts events under the stage's
    high watermark, so it never moves back.
 3. Release is write-ahead: an intent (these records, in this order, at these offsets) is durable in the stage before
    its batch is appended at exactly its first offset. After a restart or failover the last intents come first: what
    the log holds is done, what it lacks is written again. A checkpoint bounds how far back intents are read.
 4. A Fetch that linearised answers once its append is under the high watermark; one linearisation at a time per
    partition; at most `priority.fetch.max.records` and the request's own byte budget. A replica never linearises.
 5. A Fetch at an offset beyond the log's end first linearises exactly the records that were ready first and fall
    below it, in weighted order among themselves.
 6. A promised offset is always used up: an expired record leaves a hole there, a control batch that readers step over.
 7. Log and stage share replicas, in-sync set and leader epoch. A record counts as released only when its offset is
    under the log's high watermark.
 8. Markers of transactions go to the stage, then the log, both before the answer, idempotent on retry. Staged records
    become eligible at commit and vanish at abort; an uncommitted cancel holds its record until its transaction ends.
    In a prioritised partition markers live in the stage alone. Nobody sees staged records of an open transaction.
 9. Leader epoch -1 goes with any offset beyond the log's end. DeleteRecords beyond it linearises first. If a look-up by
    time matches no record of the log but one that is ready, its answer is the least offset which that record can get:
    the log's end, or further on by as many records as must come before it (ADR 0022).
10. Retention counts a released record from its release (the batch's base timestamp), not from its create time.
11. Room is kept free for releases on a full disk; `stage.max.bytes` bounds what a topic may have pending.
12. Switching priority off keeps staging until the lanes are empty.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from attrs import frozen

from engine.damage import DamagedFile
from engine.files.files import Buffer
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from engine.partition.durable_log import DurableLog
from engine.records.layout import (
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    parse_header,
    seal_batch,
)
from engine.stage.config import ExtensionConfig
from engine.stage.events import (
    Anchored,
    Cancelled,
    ClockMoved,
    CodecChanged,
    DeadLettered,
    Event,
    Expired,
    Intent,
    Moved,
    Priority,
    Ready,
    Rescheduled,
    build_events,
)
from engine.stage.headers import OpenedRecord
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.release_batches import ReleaseBatches
from engine.stage.state import (
    HOLE,
    LETTER_FLAG,
    NONE,
    NORMAL_LANE,
    PLAIN_FLAG,
    READY,
    WAITING,
    Placed,
    StageState,
    StateObserver,
    spread_flags,
)
from engine.stage.steady_clock import SteadyClock
from engine.stage.unread import Unread
from engine.stage.wheel import due_by_either

logger = logging.getLogger("tidegate.stage")

MOVED_BYTES = 2**20
"""Copied in one append, or a single row if that is larger."""


LOOKED_AT = 20
"""How many rows are looked at to find one that may have expired."""


class Due(NamedTuple):
    """Rows whose time has come, or is over."""

    ready: list[PendingRow]
    expired: list[PendingRow]


@frozen
class Held:
    """A client's batch in the stage."""

    last_number: int
    intent: Intent | None


class Stage:
    """See the module. `store` is the stage's own log, synced like any log."""

    def __init__(self, store: DurableLog, state: StageState, clock: SteadyClock, config: ExtensionConfig) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self._batches = ReleaseBatches(store.log, self._damage_met)
        self.observer: StateObserver | None = None
        self.adopt(state)

    # -- what it is

    def adopt(self, state: StageState) -> None:
        """Go on from this state: of a stage just opened, or one whose log has lost its end."""
        state.observer, self.state = self.observer, state
        self._fresh: deque[tuple[int, int]] = deque()
        self._fresh_count = 0

    def configure(self, config: ExtensionConfig) -> None:
        """The topic's keys have changed."""
        self.config = config
        self.state.lanes.rules = config.lane_rules

    @property
    def prioritised(self) -> bool:
        """Whether every record passes through the lanes."""
        return self.state.prioritised

    @property
    def takes_all(self) -> bool:
        """Whether every record goes to the stage, whatever it asks for."""
        return self.state.prioritised or self.config.priority_enable == "true"

    @property
    def durable_offset(self) -> int:
        """Up to where the stage itself is durable."""
        return self.store.high_watermark.offset

    def is_empty(self) -> bool:
        """Whether nothing waits here for anything."""
        state = self.state
        return not (len(state.table) or state.intents or state.transactions or state.dead_letters)

    # -- writing

    def hold(
        self,
        header: BatchHeader,
        section: Buffer,
        opened: Sequence[OpenedRecord] | None,
        log_end_offset: int,
        *,
        shows_lanes: bool = True,
        is_letter: bool = False,
    ) -> Held:
        """Take a client's batch whole (rule 1); what of it is immediate gets its intent in the same append.

        `opened` is None for a batch that asks for nothing: a run in a prioritised partition, or a dead letter of
        another topic, which was obeyed there. `shows_lanes` is False if it was opened while priorities were off.
        """
        now_ms = self.clock.now_ms()
        batches: list[tuple[bytes, Sequence[OpenedRecord] | None]] = []
        self._note_clock(batches, now_ms)
        prioritised = self.prioritised or self._makes_prioritised(opened)
        if prioritised and not self.prioritised:
            batches.append((build_events([Priority(True)], now_ms), None))
        if header.codec != self.state.codec:
            batches.append((build_events([CodecChanged(header.codec)], now_ms), None))
        first_number = self.store.log.end_offset + sum(parse_header(batch).record_count for batch, _ in batches)
        flags = LETTER_FLAG if is_letter else 0
        if opened is None and not self.config.extensions_enable:
            flags |= PLAIN_FLAG
        # Without priorities the opened records do not show their lanes; a replay does, and both must come to the same.
        # What counts is how they were opened: the key may have been switched while they waited for their turn.
        shown = opened if shows_lanes else None
        batches.append((_received(header, section, self.clock.ceiling_ms(), flags), shown))
        intent = None
        if not prioritised and not header.is_transactional:
            intent = self._immediate(first_number, opened or (), log_end_offset, now_ms)
        if intent is not None:
            batches.append((build_events([intent], now_ms), None))
        self._append(batches)
        return Held(first_number + header.record_count - 1, intent)

    def _note_clock(self, batches: list[tuple[bytes, Sequence[OpenedRecord] | None]], now_ms: int) -> None:
        events = self._clock_events()
        if events:
            batches.append((build_events(events, now_ms), None))

    def _clock_events(self) -> list[Event]:
        """What the next process has to know of the clocks and does not yet."""
        events: list[Event] = []
        ahead_ms, anchor = self.clock.stepped(self.state.ahead_ms), self.clock.anchor
        if ahead_ms is not None:
            events.append(ClockMoved(ahead_ms))
        if anchor is not None and anchor != self.state.anchor:
            events.append(Anchored(anchor))
        return events

    def _makes_prioritised(self, opened: Sequence[OpenedRecord] | None) -> bool:
        if self.config.priority_enable == "auto":
            return any(record.directive.priority is not None for record in opened or ())
        return self.config.priority_enable == "true"

    def _immediate(
        self, first_number: int, opened: Sequence[OpenedRecord], log_end_offset: int, now_ms: int
    ) -> Intent | None:
        pieces = tuple(
            Piece(NORMAL_LANE if d.priority is None else d.priority, first_number + index, 1)
            for index, (_, _, _, d) in enumerate(opened)
            if d.cancel is None and d.delay_ms is None and d.deliver_at_ms is None
        )
        return Intent(log_end_offset, now_ms, pieces) if pieces else None

    def observe(self, observer: StateObserver) -> None:
        """Have it told of what becomes of single records."""
        self.observer = self.state.observer = observer

    def end_transaction(self, producer_id: int, producer_epoch: int, marker: EndMarker, log_end_offset: int) -> Held:
        """Write a transaction's marker (rule 8); what of it is immediate gets its intent in the same append."""
        now_ms = self.clock.now_ms()
        batches: list[tuple[bytes, Sequence[OpenedRecord] | None]] = []
        self._note_clock(batches, now_ms)
        batches.append((build_marker(producer_id, producer_epoch, marker, now_ms), None))
        intent = None
        transaction = self.state.transactions.get(producer_id)
        if marker.committed and transaction is not None and not self.prioritised:
            rows = [self.state.table.get(number) for number, _ in transaction.numbers]
            pieces = tuple(
                Piece(row.lane, row.number, row.count) for row in rows if row is not None and row.due_ms == NONE
            )
            if pieces:
                intent = Intent(log_end_offset, now_ms, pieces)
                batches.append((build_events([intent], now_ms), None))
        self._append(batches)
        return Held(self.store.log.end_offset - 1, intent)

    def note(self, *events: Event) -> int:
        """Append events; the offset of their batch."""
        now_ms = self.clock.now_ms()
        batches: list[tuple[bytes, Sequence[OpenedRecord] | None]] = []
        self._note_clock(batches, now_ms)
        if events:
            batches.append((build_events(events, now_ms), None))
        if batches:
            self._append(batches)
        return self.store.log.end_offset - 1

    def watch_clock(self) -> None:
        """To be called every second or so: a step of the wall clock must be known before the next restart, or delays
        would be shortened by it."""
        if self._clock_events():
            self.note()

    def cancel(self, numbers: Sequence[int]) -> int:
        """An administrator takes back what waits."""
        return self.note(Cancelled(tuple(numbers)))

    def reschedule(self, number: int, due_ms: int, *, relative: bool) -> int:
        """An administrator moves what waits to another time."""
        return self.note(Rescheduled(number, due_ms, relative))

    def dead_lettered(self, numbers: Sequence[int]) -> int:
        """These dead letters have arrived."""
        return self.note(DeadLettered(tuple(numbers)))

    def switch_off_priority(self) -> int:
        """Rule 12: only once the lanes are empty."""
        assert not len(self.state.lanes)
        return self.note(Priority(False))

    def _append(self, batches: Sequence[tuple[bytes, Sequence[OpenedRecord] | None]]) -> None:
        log = self.store.log
        offset, at = log.end_offset, log.end
        readied = self.state.readied
        self.store.write(b"".join([batch for batch, _ in batches]), origin=Origin.COORDINATOR)
        position = at.position if log.end.segment == at.segment else 0
        for batch, opened in batches:
            header = parse_header(batch)._replace(base_offset=offset)
            section = memoryview(batch)[HEADER_SIZE:]
            self.state.replay(Placed(header, section, log.end.segment, position + HEADER_SIZE, opened))
            offset = header.next_offset
            position += len(batch)
        self._note_fresh(self.state.readied - readied)

    # -- the promise (rule 2)

    def _note_fresh(self, count: int) -> None:
        if count > 0 and self.store.log.end_offset > self.durable_offset:
            self._fresh.append((self.store.log.end_offset, count))
            self._fresh_count += count

    def promised_end(self, high_watermark: int) -> int:
        """The end that readers of a prioritised partition are told, from the log's high watermark on: what lies beyond
        it in the log may be lost with a crash, what went through a lane is not."""
        durable = self.durable_offset
        while self._fresh and self._fresh[0][0] <= durable:
            self._fresh_count -= self._fresh.popleft()[1]
        intended = sum(
            max(0, intent.end_offset - max(intent.first_offset, high_watermark))
            for intent in self.state.intents
            if self.state.intended[intent.pieces[0].number].state != WAITING
        )
        return high_watermark + intended + len(self.state.lanes) - self._fresh_count

    # -- time

    def next_due(self) -> tuple[int | None, int | None]:
        """When to look again, in steady and in wall time."""
        return self.state.steady.next_ms(), self.state.wall.next_ms()

    def collect(self, limit: int) -> Due:
        """Rows whose time has come or is over, the earliest first, taken out of the wheels; `release_due` or `put_back`
        must follow."""
        now_ms, wall_ms = self.clock.now_ms(), self.clock.wall_ms()
        ready: dict[int, PendingRow] = {}
        expired: dict[int, PendingRow] = {}
        for _, number in due_by_either(self.state.steady, self.state.wall, now_ms, wall_ms, limit):
            row = self.state.table.get(number)
            if row is None or row.state not in (WAITING, READY):
                continue
            if self.has_expired(row, now_ms, wall_ms):
                expired[row.number] = row
            elif row.state == WAITING and row.due_ms <= (now_ms if row.relative else wall_ms):
                ready[row.number] = row if row.due_ms != NONE else row._replace(due_ms=now_ms)
        return Due(list(ready.values()), list(expired.values()))

    def outlived(self, limit: int) -> Due:
        """Rows in the lanes that have outlived the topic's own `message.ttl.ms`, for which no wheel is set; the oldest
        come first, and only some are looked at in one call."""
        now_ms, wall_ms = self.clock.now_ms(), self.clock.wall_ms()
        looked_at = islice(self.state.table.rows(), LOOKED_AT * limit)
        expired = (row for row in looked_at if row.state == READY and self.has_expired(row, now_ms, wall_ms))
        return Due([], list(islice(expired, limit)))

    def put_back(self, due: Due) -> None:
        """What was collected could not be written: it is due again, each by its own clock."""
        state = self.state
        for row in (*due.ready, *due.expired):
            if row.state == WAITING:
                (state.steady if row.relative else state.wall).add(row.due_ms, row.number)
            elif row.ttl_ms != NONE:
                state.steady.add(row.due_ms + row.ttl_ms, row.number)
            if row.expires_ms != NONE:
                state.wall.add(row.expires_ms, row.number)

    def has_expired(self, row: PendingRow, now_ms: int, wall_ms: int) -> bool:
        """Whether a record that waits for its time or for a reader is past its own."""
        if row.expires_ms != NONE:
            return wall_ms >= row.expires_ms
        ttl_ms = row.ttl_ms if row.ttl_ms != NONE else self.config.message_ttl_ms
        if ttl_ms < 0 or row.due_ms == NONE:
            return False
        return (now_ms if row.relative else wall_ms) >= row.due_ms + ttl_ms

    def release_due(self, due: Due, log_end_offset: int) -> Intent | None:
        """Note what was collected: expired ones are gone, due ones enter their lanes or get an intent."""
        events: list[Event] = []
        if due.expired:
            events.append(self._expired(due.expired))
        intent = None
        if due.ready and self.prioritised:
            events.append(Ready(tuple(row.number for row in due.ready)))
        elif due.ready:
            pieces = tuple(Piece(row.lane, row.number + row.skip, row.count - row.skip) for row in due.ready)
            intent = Intent(log_end_offset, self.clock.now_ms(), pieces)
            events.append(intent)
        if events:
            self.note(*events)
        return intent

    def _expired(self, rows: Sequence[PendingRow]) -> Expired:
        return Expired(tuple(row.number for row in rows), self.config.expiry_policy == "dlq")

    # -- lanes (rules 4 and 5)

    def linearise(self, limit_records: int, limit_bytes: int, log_end_offset: int) -> Intent | None:
        """Fix the order of what a reader can be given next."""
        pieces = self.state.lanes.choose(limit_records, limit_bytes, self.clock.now_ms())
        return self._intend(pieces, log_end_offset)

    def linearise_first(self, count: int, limit_records: int, limit_bytes: int, log_end_offset: int) -> Intent | None:
        """Fix the order of the `count` records that were ready first; within the limits, of the first of them now."""
        pieces = self.state.lanes.choose_first(count, self.clock.now_ms(), limit_records, limit_bytes)
        return self._intend(pieces, log_end_offset)

    def unread(self, log_end_offset: int) -> Unread | None:
        """What is promised beyond the log's high watermark, for a look-up by time in a thread (rule 9); None if that is
        nothing."""
        state = self.state
        if not self.prioritised or not (state.intents or len(state.lanes)):
            return None
        now_ms, wall_ms = self.clock.now_ms(), self.clock.wall_ms()
        ends = (intent.end_offset for intent in state.intents)
        return Unread(
            tuple(state.intents),
            state.intended.copy(),
            state.lanes.stretches(),
            max(log_end_offset, *ends, 0),
            state.table.snapshot(),
            {segment.base_offset: segment for segment in self.store.log.segments},
            lambda row: self.has_expired(row, now_ms, wall_ms),
        )

    def _intend(self, pieces: Sequence[Piece], log_end_offset: int) -> Intent | None:
        if not pieces:
            return None
        now_ms, wall_ms = self.clock.now_ms(), self.clock.wall_ms()
        expired: dict[int, PendingRow] = {}
        marked: list[Piece] = []
        for piece in pieces:
            row = self.state.table.get(piece.number)
            assert row is not None, "what is ready is staged"
            is_over = row.state != READY
            if not is_over and self.has_expired(row, now_ms, wall_ms):
                expired[row.number] = row
                is_over = True
            marked.append(piece._replace(lane=piece.lane + HOLE) if is_over else piece)
        intent = Intent(log_end_offset, now_ms, tuple(marked))
        self.note(*([self._expired(list(expired.values()))] if expired else []), intent)
        return intent

    # -- releasing (rule 3)

    def batches(self, intent: Intent, log_end_offset: int, max_bytes: int, limit_bytes: int | None = None) -> bytes:
        """The batches of an intent, from the one that goes to `log_end_offset` on; with a limit, those that fit. Their
        codecs they are yet to be put in (engine/stage/codecs.py).

        Their time is the wall's, by which retention counts; steady time may be years away from it."""
        skip = log_end_offset - intent.first_offset
        timed = intent._replace(released_ms=self.clock.wall_ms())
        return self._batches.build(timed, skip, self.state.intended, max_bytes, limit_bytes)

    def warming(self, intent: Intent) -> Callable[[], None] | None:
        """What brings the records of an intent into memory, for a thread; None if they are there."""
        return self._batches.warming([self.state.intended[piece.number] for piece in intent.pieces])

    def warming_rows(self, rows: Sequence[PendingRow]) -> Callable[[], None] | None:
        """The same for rows that wait."""
        return self._batches.warming(rows)

    def unwritten(self, log_end_offset: int) -> list[Intent]:
        """After a restart or failover: the intents that the log does not hold whole, at the places where they now
        belong. Those whose place was lost with the end of the log are noted anew."""
        found: list[Intent] = []
        end = log_end_offset
        for intent in tuple(self.state.intents):
            if intent.end_offset <= log_end_offset:
                continue
            if intent.first_offset > end:
                intent = intent._replace(first_offset=end)
                self.note(intent)
            found.append(intent)
            end = intent.end_offset
        return found

    def settle(self, high_watermark: int) -> list[Intent]:
        """The log's high watermark has moved: what is under it is released."""
        return self.state.settle(high_watermark)

    def read(self, row: PendingRow) -> bytes:
        """The bytes of one row: a record, or a run's whole batch."""
        return self._batches.read(row)

    def _damage_met(self, damage: DamagedFile) -> None:
        logger.error("%s: a record is not what was staged and leaves a hole: %s", self.store.log.name, damage)
        self.store.note_damage(damage)

    # -- keeping it small

    def move(self, rows: Sequence[PendingRow]) -> int:
        """Copy what still waits in an old segment to the end, so that the segment can go. What is damaged there is
        over: copied, it would look sound."""
        damaged = [row for row in rows if row.state in (WAITING, READY) and self._batches.is_damaged(row)]
        if damaged:
            self.note(Expired(tuple(row.number for row in damaged), False))
            rows = [row for row in rows if row not in damaged]
        moved: list[Moved] = []
        size = 0
        for row in rows:
            if moved and size + row.size > MOVED_BYTES:
                self.note(*moved)
                moved, size = [], 0
            moved.append(Moved(row, self._batches.read(row)))
            size += row.size
        return self.note(*moved)


def _received(header: BatchHeader, section: Buffer, now_ms: int, flags: int) -> bytes:
    """A client's batch as the stage keeps it: uncompressed, with the time when it came. Of its own attributes only
    that it is transactional stays: the others are ours."""
    attributes = header.attributes & TRANSACTIONAL_FLAG | LOG_APPEND_TIME_FLAG | spread_flags(header) | flags
    return seal_batch(header._replace(attributes=attributes, max_timestamp=now_ms, leader_epoch=NONE), section)
