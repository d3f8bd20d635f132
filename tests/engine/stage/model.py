"""A simple model of a stage: plain dictionaries, told what the stage's log holds, batch by batch.

It does not decide when something is released: it judges. Whatever the stage notes is held against the rules at the
head of engine/stage/stage.py by the model's own knowledge of what was sent and when. What a crash or a failover takes
back is forgotten by telling it all that is left once more.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attrs import define, field

from engine.log.log import Log
from engine.log.transactions import parse_marker
from engine.records.layout import CONTROL_FLAG, HEADER_SIZE, NO_PRODUCER_ID, BatchHeader, parse_header
from engine.stage.events import (
    Cancelled,
    DeadLettered,
    Event,
    Expired,
    Intent,
    Priority,
    Ready,
    Rescheduled,
    read_events,
)
from engine.stage.fates import FateKind
from engine.stage.headers import FOREVER_MS
from engine.stage.state import HOLE, LETTER_FLAG
from tests.engine.stage.world import Record, parse, read_batches

UNCOMMITTED, WAITING, HELD, READY, SPENT, DEAD = "uncommitted", "waiting", "held", "ready", "spent", "dead"
PENDING = (UNCOMMITTED, WAITING, HELD, READY, SPENT, DEAD)
DELIVERED, CANCELLED, REPLACED, ABORTED, EXPIRED = "delivered", "cancelled", "replaced", "aborted", "expired"


class Times(NamedTuple):
    """One instant: real time, what the wall clock shows, what the stage takes for the time."""

    real_ms: int
    wall_ms: int
    steady_ms: int


class Told(NamedTuple):
    """A batch of the stage's log, and when it was first seen."""

    offset: int
    batch: bytes
    times: Times


@define(eq=False)
class Item:
    """A staged record."""

    number: int
    record: Record
    came: Times
    lane: int = 2
    due_real_ms: int | None = None
    due_wall_ms: int | None = None
    schedule_id: bytes | None = None
    ttl_ms: int | None = None
    expires_ms: int | None = None
    producer_id: int = NO_PRODUCER_ID
    status: str = UNCOMMITTED
    ready_real_ms: int | None = None
    holders: set[int] = field(factory=set)
    touched: bool = False
    """Held, moved to another time or committed late: its order among equals is not promised."""
    lettered: bool = False
    taken_back: bool = False
    ended: Times | None = None

    @property
    def delayed(self) -> bool:
        return self.due_real_ms is not None or self.due_wall_ms is not None

    def due_by(self, ahead_ms: int) -> int | None:
        """When it is due in real time, if its order is promised."""
        if self.touched or not self.delayed:
            return None
        if self.due_real_ms is not None:
            return self.due_real_ms
        assert self.due_wall_ms is not None
        return self.due_wall_ms - ahead_ms

    def is_due(self, times: Times) -> bool:
        if self.due_real_ms is not None:
            return times.real_ms >= self.due_real_ms
        return self.due_wall_ms is None or times.wall_ms >= self.due_wall_ms

    def not_before(self, times: Times) -> None:
        """It can be read from now on at the soonest, whatever it asked for."""
        if self.due_real_ms is not None:
            self.due_real_ms = max(self.due_real_ms, times.real_ms)
        if self.due_wall_ms is not None:
            self.due_wall_ms = max(self.due_wall_ms, times.wall_ms)

    def is_over(self, times: Times, default_ttl_ms: int) -> bool:
        """Whether its own time has passed."""
        if self.expires_ms is not None:
            return times.wall_ms >= self.expires_ms
        ttl_ms = default_ttl_ms if self.ttl_ms is None else self.ttl_ms
        if ttl_ms < 0:
            return False
        if self.ready_real_ms is not None:
            return times.real_ms >= self.ready_real_ms + ttl_ms
        if self.due_real_ms is not None:
            return times.real_ms >= self.due_real_ms + ttl_ms
        return self.due_wall_ms is not None and times.wall_ms >= self.due_wall_ms + ttl_ms


def _asked(record: Record) -> dict[bytes, bytes]:
    return {name[5:]: value or b"" for name, value in record.headers if name.startswith(b"tide-")}


@define(eq=False)
class Model:
    """See the module."""

    default_ttl_ms: int = -1
    told: list[Told] = field(factory=list)
    end: int = 0
    items: dict[int, Item] = field(factory=dict)
    ids: dict[bytes, int] = field(factory=dict)
    transactions: dict[int, list[Item]] = field(factory=dict)
    holds: dict[int, list[Item]] = field(factory=dict)
    ready: list[Item] = field(factory=list)
    """In the order of readiness, spent ones among them."""
    intents: list[Intent] = field(factory=list)
    prioritised: bool = False
    letters: bool = False

    # -- being told

    def follow(self, log: Log, times: Times) -> None:
        """Take in what the stage's log holds that was not known."""
        for header, batch in read_batches(log, max(self.end, log.start_offset)):
            self.told.append(Told(header.base_offset, batch, times))
            self._apply(self.told[-1])

    def cut(self, end: int) -> None:
        """The stage's log has lost what came at `end` and later."""
        left = [one for one in self.told if one.offset < end]
        self.__init__(self.default_ttl_ms)  # type: ignore[misc]
        self.told = left
        for one in left:
            self._apply(one)

    def _apply(self, told: Told) -> None:
        header = parse_header(told.batch)
        self.end = header.next_offset
        if not header.attributes & CONTROL_FLAG:
            self._take(header, parse(told.batch), told.times)
            return
        section = told.batch[HEADER_SIZE:]
        if header.producer_id != NO_PRODUCER_ID:
            marker = parse_marker(header, section)
            assert marker is not None
            self._end_transaction(header.producer_id, marker.committed, told.times)
            return
        for event, _ in read_events(header, section):
            self._judge(event, told.times)

    # -- clients

    def _take(self, header: BatchHeader, records: list[Record], times: Times) -> None:
        for number, record in enumerate(records, header.base_offset):
            # A dead letter of another topic was obeyed there.
            asked = {b"ttl": b"%d" % FOREVER_MS} if header.attributes & LETTER_FLAG else _asked(record)
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            if header.is_transactional:
                self.transactions.setdefault(producer_id, [])
                self.holds.setdefault(producer_id, [])
            if b"cancel" in asked:
                self._cancel(asked[b"cancel"], producer_id, times)
                continue
            item = Item(number, record, times, producer_id=producer_id)
            item.lane = int(asked.get(b"priority", b"2"))
            if b"delay" in asked:
                item.due_real_ms = times.real_ms + int(asked[b"delay"])
            if b"deliver-at" in asked:
                item.due_wall_ms = int(asked[b"deliver-at"])
            item.ttl_ms = int(asked[b"ttl"]) if b"ttl" in asked else None
            item.expires_ms = int(asked[b"expires-at"]) if b"expires-at" in asked else None
            item.schedule_id = asked.get(b"schedule-id")
            self.items[number] = item
            if header.is_transactional:
                self.transactions[producer_id].append(item)
                self._hold(item.schedule_id, producer_id)
            else:
                self._enter(item, times)

    def _enter(self, item: Item, times: Times) -> None:
        if item.schedule_id is not None:
            old = self.pending(item.schedule_id)
            if old is not None:
                self._finish(old, REPLACED, times)
            self.ids[item.schedule_id] = item.number
        item.status = WAITING
        item.not_before(times)
        if self.prioritised and not item.delayed:
            self._make_ready(item, times)

    def _make_ready(self, item: Item, times: Times) -> None:
        item.status, item.ready_real_ms = READY, times.real_ms
        self.ready.append(item)

    def pending(self, schedule_id: bytes) -> Item | None:
        """What a cancel or replacement would withdraw."""
        item = self.items.get(self.ids.get(schedule_id, -1))
        return item if item is not None and item.delayed and item.status in (WAITING, HELD) else None

    def _hold(self, schedule_id: bytes | None, producer_id: int) -> None:
        item = self.pending(schedule_id) if schedule_id is not None else None
        if item is not None:
            item.status, item.touched = HELD, True
            item.holders.add(producer_id)
            self.holds[producer_id].append(item)

    def _cancel(self, schedule_id: bytes, producer_id: int, times: Times) -> None:
        if producer_id == NO_PRODUCER_ID:
            item = self.pending(schedule_id)
            if item is not None:
                self._finish(item, CANCELLED, times)
            return
        own = [one for one in self.transactions[producer_id] if one.schedule_id == schedule_id and one.delayed]
        for item in own:
            self.transactions[producer_id].remove(item)
            self._finish(item, CANCELLED, times)
        if not own:
            self._hold(schedule_id, producer_id)

    def _end_transaction(self, producer_id: int, committed: bool, times: Times) -> None:
        for item in self.holds.pop(producer_id, []):
            item.holders.discard(producer_id)
            if item.status != HELD:
                continue
            if committed:
                self._finish(item, CANCELLED, times)
            elif not item.holders:
                item.status = WAITING
                item.not_before(times)
        for item in self.transactions.pop(producer_id, []):
            item.touched = True
            if committed:
                self._enter(item, times)
            else:
                self._finish(item, ABORTED, times)

    def _finish(self, item: Item, status: str, times: Times) -> None:
        item.status, item.ended = status, times

    # -- the broker's own events, judged

    def _judge(self, event: Event, times: Times) -> None:
        match event:
            case Ready(numbers):
                for item in self._items(numbers):
                    assert item.status == WAITING, f"{item} becomes ready"
                    assert item.is_due(times), f"{item} becomes ready early, at {times}"
                    self._make_ready(item, times)
            case Intent():
                self._judge_intent(event, times)
            case Expired(numbers, letters):
                for item in self._expired(numbers):
                    assert item.status in (WAITING, READY), f"{item} expires"
                    assert item.is_over(times, self.default_ttl_ms), f"{item} expires early, at {times}"
                    item.lettered = not letters
                    item.ended = times
                    item.status = SPENT if item.status == READY else DEAD if letters else EXPIRED
            case Cancelled(numbers):
                for item in self._items(numbers):
                    if item.status in (WAITING, HELD) and item.delayed:
                        self._finish(item, CANCELLED, times)
                    elif item.status == READY and not self._run(item.number):
                        self._finish(item, SPENT, times)
                        item.lettered = item.taken_back = True
            case Rescheduled(number, due_ms, relative):
                item = self.items[number]
                if item.status in (WAITING, HELD) and item.delayed:
                    item.touched = True
                    item.due_real_ms = times.real_ms + due_ms - times.steady_ms if relative else None
                    item.due_wall_ms = None if relative else due_ms
                    item.not_before(times)
            case Priority(enabled):
                assert enabled or not self.ready, "rule 12: lanes are emptied first"
                self.prioritised = enabled
            case DeadLettered(numbers):
                for item in self._expired(numbers):
                    assert not item.lettered, f"{item} is a dead letter twice"
                    item.lettered = True
                    item.status = EXPIRED if item.status == DEAD else item.status
            case _:
                pass

    def _items(self, numbers: tuple[int, ...]) -> list[Item]:
        return [self.items[number] for number in numbers]

    def _expired(self, numbers: tuple[int, ...]) -> list[Item]:
        """The records of rows: of a run, all that are of its batch and still there."""
        found = []
        for number in numbers:
            found += [item for item in self._row(number) if item.status in PENDING]
        return found

    def _row(self, number: int) -> Iterator[Item]:
        for one in self._run(number) or (number,):
            if one in self.items:
                yield self.items[one]

    def _run(self, number: int) -> range:
        """A batch that asks for nothing, of more than one record, is one row."""
        batch = next(one for one in reversed(self.told) if one.offset <= number)
        header = parse_header(batch.batch)
        is_run = header.record_count > 1 and b"tide-" not in batch.batch
        return range(header.base_offset, header.next_offset) if is_run else range(0)

    def _judge_intent(self, intent: Intent, times: Times) -> None:
        for index, known in enumerate(self.intents):
            if known.pieces == intent.pieces:
                self.intents[index] = intent
                return
        if self.intents:
            assert intent.first_offset >= self.intents[-1].end_offset, "intents follow one another"
        self.intents.append(intent)
        for piece in intent.pieces:
            for number in range(piece.number, piece.number + piece.count):
                self._judge_release(self.items[number], piece.lane, times)
        self._judge_order(intent, times)

    def _judge_release(self, item: Item, lane: int, times: Times) -> None:
        if lane >= HOLE:
            assert item.status == SPENT, f"{item} leaves a hole"
            self._leave_lane(item, lane - HOLE)
            item.status = EXPIRED if item.lettered else DEAD
            return
        if item.status == READY:
            assert not item.is_over(times, self.default_ttl_ms), f"{item} is released though it has expired, at {times}"
            self._leave_lane(item, lane)
        else:
            assert item.status == WAITING, f"{item} is released"
            assert item.is_due(times), f"{item} is released early, at {times}"
            if item.delayed:
                assert not item.is_over(times, self.default_ttl_ms), f"{item} is released expired, at {times}"
        self._finish(item, DELIVERED, times)

    def _leave_lane(self, item: Item, lane: int) -> None:
        assert lane == item.lane
        first = next(one for one in self.ready if one.lane == lane)
        assert first is item, f"{item} overtakes {first} in its lane"
        self.ready.remove(item)

    def _judge_order(self, intent: Intent, times: Times) -> None:
        """Records that waited for the same instant are released in their order of arrival, and before later ones."""
        numbers = [piece.number for piece in intent.pieces if piece.lane < HOLE]
        items = [self.items[number] for number in numbers]
        if any(item.ready_real_ms is not None for item in items):
            return
        ahead_ms = times.wall_ms - times.real_ms
        dues = [(due_ms, item.number) for item in items if (due_ms := item.due_by(ahead_ms)) is not None]
        assert dues == sorted(dues), "order of due times and of arrival"

    # -- what is expected

    def places(self) -> dict[int, Item | None]:
        """By offset of the log: which staged record is there; None for a hole."""
        found: dict[int, Item | None] = {}
        for intent in self.intents:
            offset = intent.first_offset
            for piece in intent.pieces:
                for number in range(piece.number, piece.number + piece.count):
                    found[offset] = None if piece.lane >= HOLE else self.items[number]
                    offset += 1
        return found

    def fates(self) -> Iterator[tuple[bytes, FateKind, int]]:
        """By schedule id: how its last record ended, and where; ids of which two ended at one instant left out."""
        offsets = {item.number: offset for offset, item in self.places().items() if item is not None}
        for schedule_id, number in self.ids.items():
            item = self.items[number]
            assert item.ended is not None
            others = [one for one in self.items.values() if one.schedule_id == schedule_id and one is not item]
            if all(one.ended is not None and one.ended.real_ms < item.ended.real_ms for one in others):
                kind = FateKind[CANCELLED.upper() if item.taken_back else item.status.upper()]
                yield schedule_id, kind, offsets.get(number, -1)

    def statuses(self) -> dict[int, str]:
        """Of what is pending."""
        return {number: item.status for number, item in self.items.items() if item.status in PENDING}
