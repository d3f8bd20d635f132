"""What a stage holds, as the replay of its log: nothing here changes but by `replay`.

The live path appends to the log first and then replays what it appended. So recovery, which replays the same log, needs
no code of its own. The states of a record:

    uncommitted -- commit --> waiting -- READY or INTENT --> ready / intended -- log's high watermark --> gone
         |                      |  ^                            |
       abort              cancel |  | abort of the            EXPIRED: ready ones leave a hole behind
         v               in a    v  | transaction
        gone           transaction held -- commit --> gone

`waiting` waits for its time, `ready` for a reader, `intended` until its batch is in the log, and `held` for the end of
a transaction that has cancelled or replaced it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from attrs import define, field

from engine.files.files import Buffer
from engine.log.transactions import EndMarker, parse_marker
from engine.records.layout import CONTROL_FLAG, HEADER_SIZE, NO_PRODUCER_ID, BatchHeader
from engine.stage.events import (
    Anchored,
    Cancelled,
    ClockMoved,
    CodecChanged,
    DeadLettered,
    DeadLetterProducer,
    Event,
    Expired,
    Intent,
    Moved,
    Priority,
    Ready,
    Rescheduled,
    read_events,
)
from engine.stage.fates import FateKind, Fates, id_hash
from engine.stage.headers import (
    FOREVER_MS,
    NO_DIRECTIVE,
    Directive,
    HeaderRules,
    OpenedRecord,
    replay_records,
    sniff,
)
from engine.stage.lanes import LaneRules, Lanes, Piece
from engine.stage.pending import PendingRow, PendingTable
from engine.stage.steady_clock import Anchor
from engine.stage.wheel import Wheel

NONE = -1
NORMAL_LANE = 2
_LONG_MAX = 2**63 - 1

UNCOMMITTED, WAITING, HELD, READY, SPENT, DEAD = range(6)
"""States of a row. What is intended has left the table. A spent one has expired, but its promised offset is still to be
used up; a dead one only waits until it has reached the dead-letter topic."""

HOLE = 16
"""Added to the lane of an intent's piece: its records have expired, a hole uses up their offsets (rule 6)."""

PLAIN_FLAG = 0x4000
"""In the attributes of a staged batch: its headers are plain data, for extensions were off when it came."""

LETTER_FLAG = 0x2000
"""The same for a dead letter of another topic, whose headers were obeyed there. It never expires: letters that did
would go round for ever where dead-letter topics name each other."""

_UNDYING = NO_DIRECTIVE._replace(ttl_ms=FOREVER_MS)
_PLAIN_DIRECTIVES = {PLAIN_FLAG: NO_DIRECTIVE, LETTER_FLAG: _UNDYING, PLAIN_FLAG | LETTER_FLAG: _UNDYING}
"""What records ask for whose headers are not to be obeyed."""

SPREAD_SHIFT = 7
SPREAD_MASK = 0x3F << SPREAD_SHIFT
"""In the attributes of a staged batch, a number of bits: as an integer of so many bits, the distance from the first
record's create time to the latest one's. The field that clients keep that one in tells when the batch was received."""

_REPLAY_RULES = HeaderRules(delay_max_ms=2**62, priority=True)


def spread_flags(header: BatchHeader) -> int:
    """What the attributes of a client's batch get for its create times."""
    spread_ms = max(header.max_timestamp - header.base_timestamp, 0)
    return min(spread_ms.bit_length(), 0x3F) << SPREAD_SHIFT


def latest_created(header: BatchHeader) -> int:
    """A time that none of the records of a staged batch was created after."""
    bits = (header.attributes & SPREAD_MASK) >> SPREAD_SHIFT
    return _in_range(header.base_timestamp + (1 << bits) - 1)


def number_key(number: int) -> int:
    """Under what the fate of a record without a schedule id is kept."""
    return id_hash(b"#%d" % number)


class Placed(NamedTuple):
    """A batch of the stage: its header, its records, and where these begin; the records opened, if they are."""

    header: BatchHeader
    section: Buffer
    segment: int
    position: int
    opened: Sequence[OpenedRecord] | None = None


@define
class OpenTransaction:
    """What a producer has staged since its last marker."""

    numbers: list[tuple[int, int]] = field(factory=list)
    """Rows, each with the hash of the schedule id that it will have."""
    holds: list[int] = field(factory=list)
    """Rows that it cancels or replaces if it commits."""


@define
class Counters:
    """Of this process, for statistics."""

    staged: int = 0
    released: int = 0
    expired: int = 0
    cancelled: int = 0
    replaced: int = 0
    cancelled_late: int = 0
    cancelled_unknown: int = 0
    dead_lettered: int = 0


class StateObserver(Protocol):
    """Who follows single records."""

    def ready(self, row: PendingRow) -> None:
        """A delayed record has entered its lane."""

    def ended(self, row: PendingRow, kind: FateKind) -> None:
        """It was cancelled, or has expired."""

    def dead_lettered(self, row: PendingRow) -> None:
        """It has reached the dead-letter topic."""


@define(eq=False)
class StageState:
    """See the module."""

    steady: Wheel
    wall: Wheel
    lanes: Lanes
    table: PendingTable = field(factory=PendingTable)
    fates: Fates = field(factory=Fates)
    intents: deque[Intent] = field(factory=deque)
    """Those whose records are not yet under the log's high watermark, in order."""
    intended: dict[int, PendingRow] = field(factory=dict)
    """The rows of their pieces, by the pieces' numbers: where the records lie."""
    transactions: dict[int, OpenTransaction] = field(factory=dict)
    held_by: dict[int, set[int]] = field(factory=dict)
    """Which producers' open transactions hold a row."""
    dead_letters: dict[int, int] = field(factory=dict)
    """Expired rows on their way to the dead-letter topic, in order; of a run, how many had been released before."""
    dead_letter_producer: int = NO_PRODUCER_ID
    dead_letters_sent: int = 0
    """Records that have reached it under that producer id: the next one's sequence number."""
    prioritised: bool = False
    ahead_ms: int = 0
    codec: int = 0
    """In which clients sent what is staged next."""
    anchor: Anchor | None = None
    """What steady time counts from in this boot of the machine, or in the last one that is known."""
    replayed_from: int = field(default=0, init=False)
    """The offset of the checkpoint that it was opened with, or where its log began."""
    readied: int = field(default=0, init=False)
    """Records that have entered the lanes, in this process."""
    counters: Counters = field(factory=Counters, init=False)
    observer: "StateObserver | None" = field(default=None, init=False)
    """Told of what happens live; nobody is while the stage is being opened."""

    @classmethod
    def empty(cls, steady_ms: int, wall_ms: int, rules: LaneRules) -> "StageState":
        return cls(Wheel(steady_ms), Wheel(wall_ms), Lanes(rules))

    # -- replay

    def replay(self, batch: Placed) -> None:
        """Take one batch of the stage into account."""
        header = batch.header
        if not header.attributes & CONTROL_FLAG:
            self._replay_records(batch)
        elif header.producer_id != NO_PRODUCER_ID:
            marker = parse_marker(header, batch.section)
            if marker is not None:
                self._replay_marker(header.producer_id, marker, header.max_timestamp)
        else:
            for event, value_end in read_events(header, batch.section):
                self._replay_event(event, batch, value_end)

    def _replay_records(self, batch: Placed) -> None:
        header = batch.header
        transaction = None
        if header.is_transactional:
            transaction = self.transactions.setdefault(header.producer_id, OpenTransaction())
        self.counters.staged += header.record_count
        # A row of one record says where the record lies, not its batch: a run has at least two.
        plain = _PLAIN_DIRECTIVES.get(header.attributes & (PLAIN_FLAG | LETTER_FLAG))
        asks_nothing = batch.opened is None and (plain is NO_DIRECTIVE or (plain is None and not sniff(batch.section)))
        if asks_nothing and header.record_count > 1:
            self._stage_run(batch, transaction)
            return
        records = batch.opened or replay_records(batch.section, header.record_count, _REPLAY_RULES)
        for index, opened in enumerate(records):
            if plain is not None:
                opened = opened._replace(directive=plain)
            if opened.directive.cancel is not None:
                self._cancel(id_hash(opened.directive.cancel), header, transaction)
            else:
                self._stage_record(header.base_offset + index, opened, batch, transaction)

    def _stage_run(self, batch: Placed, transaction: OpenTransaction | None) -> None:
        """A batch whose records ask for nothing: one row for all of them."""
        header = batch.header
        row = PendingRow(
            header.base_offset, header.record_count, 0, UNCOMMITTED, NORMAL_LANE, NONE, True,
            batch.segment, batch.position - HEADER_SIZE, header.size, latest_created(header), NONE, NONE, 0, self.codec,
        )  # fmt: skip
        self._enter(row, 0, header.max_timestamp, transaction)

    def _stage_record(
        self, number: int, opened: OpenedRecord, batch: Placed, transaction: OpenTransaction | None
    ) -> None:
        header, directive = batch.header, opened.directive
        due_ms, relative = due_time(directive, header.max_timestamp)
        lane = NORMAL_LANE if directive.priority is None else directive.priority
        row = PendingRow(
            number, 1, 0, UNCOMMITTED, lane, due_ms, relative,
            batch.segment, batch.position + opened.start, opened.end - opened.start,
            _in_range(header.base_timestamp + opened.timestamp_delta), _or_none(directive.expires_at_ms),
            _or_none(directive.ttl_ms), 0, self.codec,
        )  # fmt: skip
        key = id_hash(directive.schedule_id) if directive.schedule_id is not None else 0
        self._enter(row, key, header.max_timestamp, transaction, header.producer_id)

    def _enter(
        self,
        row: PendingRow,
        key: int,
        now_ms: int,
        transaction: OpenTransaction | None,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        if transaction is not None:
            self.table.add(row)
            transaction.numbers.append((row.number, key))
            if key:
                self._hold(key, producer_id, transaction)
            return
        if key:
            self._replace(key)
        eligible = self._eligible(row._replace(id_hash=key) if key else row, now_ms)
        self.table.add(eligible)
        self._expect(eligible, now_ms)

    def _eligible(self, row: PendingRow, now_ms: int) -> PendingRow:
        """The row from when its time counts: an undelayed record is ready at once (rule 2: the append is the event)."""
        if row.due_ms == NONE and self.prioritised:
            return row._replace(state=READY, due_ms=now_ms, relative=True)
        due_ms = row.due_ms if row.due_ms == NONE else self._no_earlier(row.due_ms, row.relative, now_ms)
        return row._replace(state=WAITING, due_ms=due_ms)

    def _no_earlier(self, due_ms: int, relative: bool, now_ms: int) -> int:
        """A due time, but not before now, by its own clock: nothing can be late, or begin to expire, before it could
        first have been read."""
        return max(due_ms, now_ms if relative else now_ms + self.ahead_ms)

    def _expect(self, row: PendingRow, now_ms: int) -> None:
        """Have its time come."""
        if row.state == READY:
            self.lanes.push(row.lane, row.number, row.count, row.size, now_ms)
            self.readied += row.count
            if NONE < row.ttl_ms < FOREVER_MS:
                self.steady.add(now_ms + row.ttl_ms, row.number)
        else:
            (self.steady if row.relative else self.wall).add(now_ms if row.due_ms == NONE else row.due_ms, row.number)
        if row.expires_ms != NONE:
            self.wall.add(row.expires_ms, row.number)

    def _become_ready(self, row: PendingRow, now_ms: int) -> None:
        if self.observer is not None:
            self.observer.ready(row)
        self._expect(self.table.update(row.number, state=READY, due_ms=now_ms, relative=True), now_ms)

    # -- cancelling and replacing

    def _pending(self, key: int) -> PendingRow | None:
        number = self.table.by_id(key)
        row = self.table.get(number) if number is not None else None
        return row if row is not None and _can_be_withdrawn(row) else None

    def _replace(self, key: int) -> None:
        row = self._pending(key)
        if row is not None:
            self.counters.replaced += 1
            self._forget(row)

    def _cancel(self, key: int, header: BatchHeader, transaction: OpenTransaction | None) -> None:
        if transaction is not None:
            if self._cancel_own(key, transaction):
                return
            if self._hold(key, header.producer_id, transaction):
                return
        row = self._pending(key)
        if row is not None:
            self._end(row, FateKind.CANCELLED, header.max_timestamp)
            self.counters.cancelled += 1
        elif self.fates.get(key) is not None or self._is_on_its_way(key):
            self.counters.cancelled_late += 1
        else:
            self.counters.cancelled_unknown += 1

    def _is_on_its_way(self, key: int) -> bool:
        return self.table.by_id(key) is not None or any(row.id_hash == key for row in self.intended.values())

    def _cancel_own(self, key: int, transaction: OpenTransaction) -> bool:
        """A transaction cancels what it has scheduled itself."""
        rows = [self.table.get(number) for number, own in transaction.numbers if own == key]
        found = [row for row in rows if row is not None and row.due_ms != NONE]
        for row in found:
            transaction.numbers.remove((row.number, key))
            self._forget(row)
        self.counters.cancelled += 1 if found else 0
        return bool(found)

    def _hold(self, key: int, producer_id: int, transaction: OpenTransaction) -> bool:
        row = self._pending(key)
        if row is None:
            return False
        self.table.update(row.number, state=HELD)
        self.held_by.setdefault(row.number, set()).add(producer_id)
        transaction.holds.append(row.number)
        return True

    def _replay_marker(self, producer_id: int, marker: EndMarker, now_ms: int) -> None:
        transaction = self.transactions.pop(producer_id, None)
        if transaction is None:
            return
        for number in transaction.holds:
            self._release_hold(number, producer_id, marker.committed, now_ms)
        for number, key in transaction.numbers:
            row = self.table.get(number)
            if row is None:
                continue
            if not marker.committed:
                self._forget(row)
                continue
            if key:
                self._replace(key)
            eligible = self._eligible(row, now_ms)
            self.table.update(
                number, state=eligible.state, due_ms=eligible.due_ms, relative=eligible.relative, id_hash=key
            )
            self._expect(eligible, now_ms)

    def _release_hold(self, number: int, producer_id: int, committed: bool, now_ms: int) -> None:
        holders = self.held_by.get(number, set())
        holders.discard(producer_id)
        row = self.table.get(number)
        if row is None or row.state != HELD:
            self.held_by.pop(number, None)
        elif committed:
            self.counters.cancelled += 1
            self._end(row, FateKind.CANCELLED, now_ms)
        elif not holders:
            del self.held_by[number]
            due_ms = self._no_earlier(row.due_ms, row.relative, now_ms)
            self.table.update(number, state=WAITING, due_ms=due_ms)
            (self.steady if row.relative else self.wall).add(due_ms, number)

    # -- events

    def _replay_event(self, event: Event, batch: Placed, value_end: int) -> None:
        now_ms = batch.header.max_timestamp
        match event:
            case Ready(numbers):
                for row in self._rows(numbers):
                    if row.state == WAITING:
                        self._become_ready(row, now_ms)
            case Intent():
                self._replay_intent(event, now_ms)
            case Expired(numbers, dead_letters):
                for row in self._rows(numbers):
                    self._expire(row, dead_letters, now_ms)
            case Cancelled(numbers):
                for row in self._rows(numbers):
                    self._take_back(row, now_ms)
            case Rescheduled(number, due_ms, relative):
                for row in self._rows((number,)):
                    if _can_be_withdrawn(row):
                        due_ms = self._no_earlier(due_ms, relative, now_ms)
                        self.table.update(row.number, due_ms=due_ms, relative=relative)
                        (self.steady if relative else self.wall).add(due_ms, row.number)
            case Priority(enabled):
                self.prioritised = enabled
            case Moved(row, record):
                self._move(row, batch, value_end - len(record), len(record))
            case ClockMoved(ahead_ms):
                self.ahead_ms = ahead_ms
            case CodecChanged(codec):
                self.codec = codec
            case Anchored(anchor):
                self.anchor = anchor
            case DeadLetterProducer(producer_id):
                self.dead_letter_producer, self.dead_letters_sent = producer_id, 0
            case DeadLettered(numbers):
                for row in self._rows(numbers):
                    if self.observer is not None:
                        self.observer.dead_lettered(row)
                    sent = row.count - self.dead_letters.get(row.number, row.count)
                    self.dead_letters_sent += sent
                    self.counters.dead_lettered += sent
                for number in numbers:
                    self.dead_letters.pop(number, None)
                for row in self._rows(numbers):
                    if row.state == DEAD:
                        self._forget(row)

    def _rows(self, numbers: Iterable[int]) -> Iterator[PendingRow]:
        for number in numbers:
            row = self.table.get(number)
            if row is not None:
                yield row

    def _replay_intent(self, intent: Intent, now_ms: int) -> None:
        if self._supersedes(intent):
            return
        self.intents.append(intent)
        from_lanes: list[Piece] = []
        for piece in intent.pieces:
            row = None if self.dead_letters or self.held_by else self.table.remove_single(piece.number)
            is_gone = row is not None
            row = row or self.table.get(piece.number)
            assert row is not None, "an intent names what is staged"
            if row.state in (READY, SPENT):
                from_lanes.append(piece._replace(lane=row.lane))
            self.intended[piece.number] = row
            if is_gone:
                continue
            if piece.number + piece.count < row.number + row.count:
                self.table.update(row.number, skip=piece.number + piece.count - row.number)
            elif row.number in self.dead_letters:
                self.table.update(row.number, state=DEAD)
            else:
                self.held_by.pop(row.number, None)
                self.table.remove(row.number)
        if from_lanes:
            self.lanes.take(from_lanes, now_ms)

    def _supersedes(self, intent: Intent) -> bool:
        """Whether it is an intent written anew, because its place in the log was lost before anybody could read it."""
        if not intent.pieces or intent.pieces[0].number not in self.intended:
            return False
        for index, known in enumerate(self.intents):
            if known.pieces == intent.pieces:
                self.intents[index] = intent
                return True
        return False

    def _expire(self, row: PendingRow, dead_letters: bool, now_ms: int) -> None:
        self.counters.expired += row.count - row.skip
        if self.observer is not None:
            self.observer.ended(row, FateKind.EXPIRED)
        if row.due_ms != NONE:
            self.fates.note(row.id_hash or number_key(row.number), FateKind.EXPIRED, NONE, now_ms)
        if dead_letters:
            self.dead_letters[row.number] = row.skip
        if row.state == READY:
            self.table.update(row.number, state=SPENT, id_hash=0)
        elif dead_letters:
            self.table.update(row.number, state=DEAD, id_hash=0)
        else:
            self._forget(row)

    def live_segments(self) -> dict[int, int]:
        """The segments that are still needed, with the bytes in them that are."""
        live = self.table.segments()
        for row in self.intended.values():
            live[row.segment] = live.get(row.segment, 0) + row.size
        return live

    def _take_back(self, row: PendingRow, now_ms: int) -> None:
        """An administrator cancels it: what was promised leaves a hole, what is on its way stays so. Records of a run
        share everything, their end too: none of them is cancelled."""
        if _can_be_withdrawn(row):
            self._end(row, FateKind.CANCELLED, now_ms)
        elif row.state == READY and row.count == 1:
            self._note_fate(row, FateKind.CANCELLED, NONE, now_ms)
            self.table.update(row.number, state=SPENT, id_hash=0)
        else:
            return
        self.counters.cancelled += 1

    def _move(self, row: PendingRow, batch: Placed, position: int, size: int) -> None:
        known = self.table.get(row.number)
        if known is not None:
            self.table.update(row.number, segment=batch.segment, position=batch.position + position, size=size)

    # -- leaving

    def settle(self, high_watermark: int) -> list[Intent]:
        """Forget the intents whose records are under the log's high watermark (rule 7); returns them."""
        settled: list[Intent] = []
        while self.intents and self.intents[0].end_offset <= high_watermark:
            intent = self.intents.popleft()
            settled.append(intent)
            self._settle(intent)
        return settled

    def _settle(self, intent: Intent) -> None:
        offset = intent.first_offset
        for piece in intent.pieces:
            row = self.intended.pop(piece.number)
            if piece.lane < HOLE:
                self.counters.released += piece.count
                if row.count == 1:
                    self._note_delivered(row, offset, intent.released_ms)
            offset += piece.count

    def _note_delivered(self, row: PendingRow, offset: int, at_ms: int) -> None:
        """After a restart this comes after the replay of all that followed: a later fate of the same id stands."""
        later = self.fates.get(row.id_hash) if row.id_hash else None
        if later is None or later.at_ms <= at_ms:
            self._note_fate(row, FateKind.DELIVERED, offset, at_ms)

    def _end(self, row: PendingRow, kind: FateKind, now_ms: int) -> None:
        if self.observer is not None:
            self.observer.ended(row, kind)
        self._note_fate(row, kind, NONE, now_ms)
        self._forget(row)

    def _note_fate(self, row: PendingRow, kind: FateKind, offset: int, now_ms: int) -> None:
        """A record has met its fate. Of those that only stood in a lane, nobody will ask without an id."""
        if row.id_hash or not (self.prioritised and kind is FateKind.DELIVERED):
            self.fates.note(row.id_hash or number_key(row.number), kind, offset, now_ms)

    def _forget(self, row: PendingRow) -> None:
        self.held_by.pop(row.number, None)
        self.table.remove(row.number)


def _can_be_withdrawn(row: PendingRow) -> bool:
    """Whether it can still be cancelled, replaced or moved to another time. An undelayed record never can: it waits
    for nothing but the intent that follows it."""
    return row.state in (WAITING, HELD) and row.due_ms != NONE


def due_time(directive: Directive, received_ms: int) -> tuple[int, bool]:
    """When a record may first be read, and whether that counts in steady time; -1 if at once."""
    if directive.delay_ms is not None:
        return received_ms + directive.delay_ms, True
    if directive.deliver_at_ms is not None:
        return directive.deliver_at_ms, False
    return NONE, True


def _in_range(time_ms: int) -> int:
    """A nonsensical create time, as near as 64 bits come to it."""
    return max(-_LONG_MAX, min(time_ms, _LONG_MAX))


def _or_none(value: int | None) -> int:
    return NONE if value is None else value
