"""A partition with a stage: what is written to either passes through here, one operation after the other.

Between an intent and its batch the log's end is spoken for (rule 3). What comes meanwhile, clients' batches, markers,
the next releases, queues up and follows in its order. The rules are those of `engine/stage/stage.py`.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from attrs import asdict, define, field

from coordinators.release.client_batch import Answer, Outcome, Staged
from coordinators.release.countdown import Countdown, Done
from coordinators.release.pace import Pace
from coordinators.release.stage_traces import StageObserver
from engine.clock import Clock
from engine.errors import (
    BrokerError,
    PolicyViolation,
    RecordListTooLarge,
    RecordTooLarge,
    RequestTimedOut,
    StorageError,
    fresh,
    kept,
)
from engine.files.files import Buffer
from engine.files.reserve import is_full
from engine.log.log import AppendResult
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from engine.partition.partition import Partition
from engine.records.batch import Batch
from engine.records.layout import HEADER_SIZE, BatchHeader, parse_header, walk_records
from engine.stage.codecs import in_codecs, is_quick
from engine.stage.events import Intent
from engine.stage.headers import OpenedRecord
from engine.stage.stage import Stage
from engine.timers import Timer, Timers
from engine.workers import Workers

logger = logging.getLogger("tidegate.release")

RETRY_S = 1.0
LEAST_WAIT_S = 1.0
"""So long a client's batch may wait for its turn, however short its timeout: a release before it ends in far less."""
ORDERED_BYTES = 4 * 2**20
"""Put in order at a time where nobody waits for the bytes."""
WALL_CHECK_S = 0.5
TIMER_GRAIN_S = 0.0005
TTL_CHECK_S = 1.0
RECORD_OVERHEAD_BYTES = 1024
"""What a record's batch and renamed headers add to it, amply."""
NONE = -1


@define(eq=False)
class StagedPartition:
    """See the module."""

    partition: Partition
    stage: Stage
    timers: Timers
    workers: Workers
    clock: Clock
    has_room: Callable[[int], bool]
    """Whether the topic may have so many more bytes pending."""
    check_entries: Callable[[int], object] = field(default=lambda _: None)
    """Raises unless all topics together may have so many more entries."""
    after_change: Callable[["StagedPartition"], object] = field(default=lambda _: None)
    pace: Pace = field(factory=Pace)
    observer: StageObserver | None = None
    on_dead_letters: Callable[["StagedPartition"], object] = field(default=lambda _: None)
    on_full: Callable[[], bool] = field(default=lambda: False)
    """Makes room on a full disk; whether there was any to make."""
    reload: Callable[["StagedPartition"], object] = field(default=lambda _: None)
    """Makes the stage's state anew from its log, which may have lost its end."""
    _busy: bool = False
    _attempt: int = 0
    _proceeding: bool = False
    _blocked: BrokerError | None = None
    _queue: deque[Callable[[], None]] = field(factory=deque)
    _timer: Timer | None = None
    _timer_at: float = math.inf
    _not_before: float = 0.0
    _due_queued: bool = False
    _linearising: bool = False
    _wanted_in_order: int = 0
    """Up to where the order has to be fixed, whether anybody reads it or not."""
    _watchers: dict[Callable[[], object], None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.partition.staged = self
        self.partition.on_online = self.resume
        self.stage.store.on_online = self._store_online
        if self.observer is not None:
            self.stage.observe(self.observer)

    # -- one after the other

    @property
    def in_the_way(self) -> bool:
        """Whether a client's batch has to come through here, though it asks for nothing."""
        stage = self.stage
        waits = self._busy or bool(self._queue) or self._blocked is not None
        return waits or stage.takes_all or bool(stage.state.transactions)

    @property
    def store(self) -> Partition:
        """The stage's own log."""
        return self.stage.store

    def submit(self, operation: Callable[[], None]) -> None:
        """Run it when its turn has come."""
        self._queue.append(operation)
        self._proceed()

    def _proceed(self) -> None:
        if self._proceeding:
            return
        self._proceeding = True
        try:
            while self._queue and not self._busy:
                self._queue.popleft()()
        finally:
            self._proceeding = False
        if not self._busy:
            self.after_change(self)
        if self.stage.state.dead_letters:
            self.on_dead_letters(self)
        self._arm()

    # -- clients' batches

    def append(self, batch: Batch, answer: Answer, deadline: float = math.inf) -> None:
        """Take a client's batch; `answer` is called with what became of it, at once if nothing is in the way. One whose
        turn has not come by the deadline is refused, and nothing of it is stored."""
        if self._blocked is not None:
            answer(self._blocked)
            return
        timer: Timer | None = None

        def operation() -> None:
            if timer is not None:
                timer.cancel()
            try:
                outcome: Outcome = self._append(batch)
            except BrokerError as error:
                outcome = kept(error)
            answer(outcome)

        def give_up() -> None:
            self._queue.remove(operation)
            answer(self._late())

        if self._busy or self._queue or self._proceeding:
            # Its bytes lie in the buffer of a connection, which is filled again before its turn has come.
            batch = batch.copied()
            if deadline < math.inf:
                timer = self.timers.call_at(max(deadline, self.clock.monotonic() + LEAST_WAIT_S), give_up)
        self.submit(operation)

    def _late(self) -> RequestTimedOut:
        reason = "" if self._blocked is None else f": {self._blocked}"
        return RequestTimedOut(f"the batch waited for its turn behind a release and was not stored{reason}")

    def _append(self, batch: Batch) -> AppendResult | Staged:
        if self._blocked is not None:
            raise self._blocked
        if not batch.hold and not self.stage.takes_all and not self._follows_staged(batch):
            return self.partition.append(batch)
        self._check_online()
        log = self.partition.log
        original = log.check_batch(batch)
        if original is not None:
            if original.base_offset == NONE:
                return Staged(self.store.log.end_offset - 1, None)
            return AppendResult(original.base_offset, original.last_offset, -1, log.start_offset, True)
        return self._hold(batch)

    def _follows_staged(self, batch: Batch) -> bool:
        """Whether its transaction has records in the stage, which come into the log at its end: these come after."""
        header = batch.header
        return header.is_transactional and header.producer_id in self.stage.state.transactions

    def _hold(self, batch: Batch) -> Staged:
        header, section, is_letter = batch.header, batch.section(), batch.origin is Origin.LETTER
        if HEADER_SIZE + len(section) > self.store.log.config.segment_bytes:
            raise RecordListTooLarge(f"{len(section)} bytes of uncompressed records are too many for the stage")
        if not self.has_room(len(section)):
            raise PolicyViolation(
                f"{len(section)} bytes more would exceed stage.max.bytes={self.stage.config.stage_max_bytes} "
                "pending in this topic"
            )
        self.check_entries(header.record_count)
        if not is_letter:
            self._check_record_sizes(header, section, batch.asked)
        was_prioritised = self.stage.prioritised
        held = self.stage.hold(
            header,
            section,
            batch.asked,
            self.partition.log.end_offset,
            shows_lanes=batch.shows_lanes,
            is_letter=is_letter,
        )
        self.partition.log.note_staged(header)
        if self.observer is not None:
            first_number = held.last_number - header.record_count + 1
            self.observer.held(section, batch.asked, first_number, self.stage.clock.now_ms(), batch.publisher)
        if self.stage.prioritised and not was_prioritised:
            # Whoever waits for the log to grow has to ask anew.
            self.store.when_durable(held.last_number, math.inf, lambda _: self.partition.nudge())
        if self.stage.prioritised and self._watchers:
            self.store.when_durable(held.last_number, math.inf, self._promise_grew)
        if held.intent is None:
            return Staged(held.last_number, None)
        self._carry_out(held.intent)
        return Staged(held.last_number, held.intent.end_offset)

    def _check_record_sizes(self, header: BatchHeader, section: Buffer, asked: Sequence[OpenedRecord] | None) -> None:
        """A record that no segment of the log can hold would never be released."""
        bound = self.partition.log.config.segment_bytes - RECORD_OVERHEAD_BYTES
        if len(section) <= bound:
            return
        spans = asked or walk_records(section, header.record_count)
        largest = max(span.end - span.start for span in spans)
        if largest > bound:
            raise RecordTooLarge(f"a record of {largest} bytes does not fit into a segment of the topic")

    def _check_online(self) -> None:
        for one in (self.partition, self.store):
            if one.offline is not None:
                raise fresh(one.offline)

    # -- transactions (rule 8)

    def end_transaction(self, producer_id: int, epoch: int, marker: EndMarker, done: Done) -> None:
        """Write a marker where it belongs; `done` when it is durable there, or with why it is not."""
        waiting = Countdown(done)

        def operation() -> None:
            try:
                self._end_transaction(producer_id, epoch, marker, waiting)
            except BrokerError as error:
                waiting.failed(error)
            waiting.one_done(None)

        if self._blocked is not None:
            done(self._blocked)
        else:
            self.submit(operation)

    def _end_transaction(self, producer_id: int, epoch: int, marker: EndMarker, waiting: Countdown) -> None:
        self._check_online()
        log, stage = self.partition.log, self.stage
        batch = build_marker(producer_id, epoch, marker, self.clock.now_ms())
        log.check_marker(parse_header(batch), marker)
        has_staged = producer_id in stage.state.transactions
        in_log = not stage.prioritised or log.has_open_transaction_of(producer_id)
        if has_staged or stage.prioritised:
            held = stage.end_transaction(producer_id, epoch, marker, log.end_offset)
            waiting.add()
            self.store.when_durable(self.store.log.end_offset - 1, math.inf, waiting.one_done)
            if stage.prioritised and self._watchers:
                self.store.when_durable(self.store.log.end_offset - 1, math.inf, self._promise_grew)
            if held.intent is not None:
                self._carry_out(held.intent)
        if not in_log:
            log.note_staged_marker(parse_header(batch), marker)
            return
        waiting.add()

        def append_marker() -> None:
            try:
                result = self.partition.append(batch, origin=Origin.COORDINATOR)
            except BrokerError as error:
                waiting.one_done(error)
            else:
                self.partition.when_durable(result.last_offset, math.inf, waiting.one_done)

        if self._busy:
            # What the transaction released comes first in the log.
            self._queue.appendleft(append_marker)
        else:
            append_marker()

    # -- releasing (rule 3)

    def _carry_out(self, intent: Intent) -> None:
        """An intent is written: once it is durable its batches follow."""
        self._busy = True
        attempt = self._attempt

        def durable(error: BrokerError | None) -> None:
            if attempt != self._attempt:
                return
            if error is None:
                self._write(intent)
            else:
                self._block(error)

        self.store.when_durable(self.store.log.end_offset - 1, math.inf, durable)

    def _write(self, intent: Intent, *, is_warm: bool = False, batches: bytes | None = None) -> None:
        """Append what an intent is about; `batches` come first, which a thread has compressed."""
        log, began = self.partition.log, self.clock.monotonic()
        try:
            job = None if is_warm else self.stage.warming(intent)
            if job is not None:
                # Its records are not in memory: a thread reads them, so that a slow disk never stops the loop.
                self._in_thread(job, lambda _: self._write(intent, is_warm=True))
                return
            while log.end_offset < intent.end_offset:
                batches = self._next_batches(intent) if batches is None else batches
                if batches is None:
                    return
                self.partition.append(batches, origin=Origin.RELEASE)
                batches = None
        except BrokerError as error:
            self._block(error)
            if self.partition.offline is None and self.store.offline is None:
                self.timers.call_at(self._retry_at(error), self.resume)
            return
        assert log.end_offset == intent.end_offset, "rule 3: a release goes to exactly its place"
        self.pace.took(len(intent.pieces), self.clock.monotonic() - began)
        if self.observer is not None:
            self.observer.released(intent, self.stage.state.intended)
        self.partition.when_durable(log.end_offset - 1, math.inf, self._released)
        self._busy = False
        self._proceed()

    def _next_batches(self, intent: Intent) -> bytes | None:
        """What one append takes, which must fit into a segment; None if a thread compresses it first."""
        log, config = self.partition.log, self.partition.log.config
        plain = self.stage.batches(intent, log.end_offset, config.max_message_bytes, config.segment_bytes)
        if is_quick(plain, config):
            return in_codecs(plain, config)
        self._in_thread(lambda: in_codecs(plain, config), lambda made: self._write(intent, is_warm=True, batches=made))
        return None

    def _in_thread(self, job: Callable[[], object], then: Callable[[Any], object]) -> None:
        """Have a worker do it and go on with what it gave, unless everything has begun anew meanwhile."""
        attempt = self._attempt

        def done(result: object, _error: BaseException | None) -> None:
            if attempt == self._attempt and not self.partition.removed:
                then(result)

        self.workers.submit(job, done)

    def _retry_at(self, error: BrokerError) -> float:
        """When to try again: at once where there was no room and some could be made (rule 11)."""
        has_room = is_full(error) and self.on_full()
        return self.clock.monotonic() + (0 if has_room else RETRY_S)

    def _released(self, error: BrokerError | None) -> None:
        self._linearising = False
        if error is not None:
            return
        self.stage.settle(self.partition.high_watermark.offset)
        self._leave_priority()
        self._order_on()

    def _block(self, error: BrokerError) -> None:
        """The log's end is spoken for and cannot be written now: nothing passes until `resume`."""
        logger.error("%s: releases wait: %s", self.partition.log.name, error)
        self._busy, self._blocked = True, StorageError(f"the partition's releases wait: {error}")
        self._linearising = False

    def _store_online(self) -> None:
        try:
            self.reload(self)
        except BrokerError as error:
            self._block(error)
            self.timers.call_at(self.clock.monotonic() + RETRY_S, self._store_online)
            return
        self.resume()

    def resume(self) -> None:
        """After a restart, a failed write, or when log or stage are online again: settle what was intended."""
        if self.partition.removed or self.partition.offline is not None or self.store.offline is not None:
            return
        self._attempt += 1
        self.partition.log.join_producers(self.store.log)
        try:
            self.stage.settle(self.partition.high_watermark.offset)
            unwritten = deque(self.stage.unwritten(self.partition.log.end_offset))
        except BrokerError as error:
            self._block(error)
            self.timers.call_at(self._retry_at(error), self.resume)
            return
        self._busy, self._blocked, self._linearising = False, None, False
        while unwritten:
            intent = unwritten.pop()
            self._queue.appendleft(lambda intent=intent: self._carry_out(intent))  # type: ignore[misc]
        self._proceed()
        self._order_on()

    # -- time

    def _arm(self) -> None:
        """Have `_run_due` called when the next record is due, unless it is in the queue already."""
        if self._due_queued:
            return
        steady_ms, wall_ms = self.stage.next_due()
        now = self.clock.monotonic()
        at = math.inf
        if steady_ms is not None:
            at = now + max(0, steady_ms - self.stage.clock.now_ms()) / 1000
        if wall_ms is not None:
            # The wall clock may be set: look again before long.
            at = min(at, now + min(max(0, wall_ms - self.stage.clock.wall_ms()) / 1000, WALL_CHECK_S))
        at = max(at, self._not_before)
        if self.stage.config.message_ttl_ms >= 0 and len(self.stage.state.lanes):
            at = min(at, now + TTL_CHECK_S)
        if at >= self._timer_at - TIMER_GRAIN_S:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = self.timers.call_at(at, self._timer_fired), at

    def _timer_fired(self) -> None:
        self._timer, self._timer_at = None, math.inf
        if not self.partition.removed:
            self._due_queued = True
            self.submit(self._run_due)

    def _run_due(self) -> None:
        self._due_queued = False
        if self._blocked is not None:
            return
        due = self.stage.collect(self.pace.limit)
        if not due.ready and not due.expired and self.stage.config.message_ttl_ms >= 0:
            due = self.stage.outlived(self.pace.limit)
        if not due.ready and not due.expired:
            return
        try:
            self._check_online()
            intent = self.stage.release_due(due, self.partition.log.end_offset)
        except BrokerError as error:
            logger.error("%s: what is due waits: %s", self.partition.log.name, error)
            self.stage.put_back(due)
            self._not_before = self._retry_at(error)
            return
        self.pace.due(due, self.stage.clock)
        if intent is not None:
            self._carry_out(intent)
        elif self._watchers:
            self.store.when_durable(self.store.log.end_offset - 1, math.inf, self._promise_grew)

    # -- readers of a prioritised partition (rules 2, 4, 5)

    @property
    def promised_end(self) -> int:
        """The end that readers are told; without lanes that is the log's high watermark."""
        if not self.stage.prioritised:
            return self.partition.high_watermark.offset
        return self.stage.promised_end(self.partition.high_watermark.offset)

    def linearise(self, offset: int, limit_bytes: int) -> bool:
        """See to it that there is something to read at `offset`; False if there is nothing to be had.

        Who asked learns of it as of anything that is appended: by the high watermark."""
        stage, log = self.stage, self.partition.log
        if not stage.prioritised or not len(stage.state.lanes) or not log.end_offset <= offset <= self.promised_end:
            return False
        if not self._linearising and self._blocked is None:
            self._linearising = True
            self.submit(lambda: self._linearise(offset, limit_bytes))
        return True

    def _linearise(self, offset: int, limit_bytes: int) -> None:
        log_end, limit = self.partition.log.end_offset, self.stage.config.priority_fetch_max_records
        intent = None
        try:
            self._check_online()
            if offset < log_end:
                pass  # somebody else was quicker
            elif offset > log_end:
                intent = self.stage.linearise_first(offset - log_end, limit, limit_bytes, log_end)
            else:
                intent = self.stage.linearise(limit, limit_bytes, log_end)
        except BrokerError as error:
            logger.error("%s: readers wait: %s", self.partition.log.name, error)
            if is_full(error):
                self.timers.call_at(self._retry_at(error), lambda: self.linearise(offset, limit_bytes))
        if intent is None:
            self._linearising = False
        else:
            self._carry_out(intent)

    def order_up_to(self, offset: int) -> None:
        """Have everything below a promised offset put in order (rule 9), however many releases that takes. Who asked
        learns of it by the high watermark."""
        self._wanted_in_order = max(self._wanted_in_order, offset)
        self._order_on()

    def _order_on(self) -> None:
        if self._wanted_in_order > self.partition.log.end_offset and not self.partition.removed:
            self.linearise(self._wanted_in_order, ORDERED_BYTES)

    def watch(self, watcher: Callable[[], object]) -> None:
        """Tell `watcher` whenever the promised end grows."""
        self._watchers[watcher] = None

    def unwatch(self, watcher: Callable[[], object]) -> None:
        """Stop telling it."""
        self._watchers.pop(watcher, None)

    def _promise_grew(self, error: BrokerError | None) -> None:
        if error is None:
            for watcher in tuple(self._watchers):
                watcher()

    def _leave_priority(self) -> None:
        """Rule 12: where it was switched off, the partition goes back to plain once nothing is in the lanes."""
        if self._may_leave_priority():
            self.submit(self._switch_off)

    def _may_leave_priority(self) -> bool:
        state = self.stage.state
        config = self.stage.config
        is_wanted = state.prioritised and (config.priority_enable == "false" or config.cleanup_compact)
        return is_wanted and not (len(state.lanes) or state.transactions or state.intents)

    def _switch_off(self) -> None:
        if self._may_leave_priority():
            self._noting(self.stage.switch_off_priority)

    def watch_clock(self) -> None:
        """Have a step of the wall clock noted, so that a restart goes on from the right time."""
        if not self.stage.is_empty() and self._blocked is None:
            self.submit(lambda: self._noting(self.stage.watch_clock))

    def _noting(self, change: Callable[[], object]) -> None:
        """Make a small change of the stage that nobody waits for; it is tried again by whoever wanted it."""
        try:
            self._check_online()
            change()
        except BrokerError as error:
            logger.warning("%s: the stage cannot be written: %s", self.partition.log.name, error)

    def configured(self) -> None:
        """The topic's keys have changed."""
        self._leave_priority()
        self._arm()

    def statistics(self) -> dict[str, int]:
        """What is pending here, and what has happened."""
        state = self.stage.state
        return {
            "pending": len(state.table),
            "pending_bytes": state.table.bytes,
            "ready": len(state.lanes),
            "intents": len(state.intents),
            "queued": len(self._queue),
            **asdict(state.counters),
        }
