"""The stage side of a partition: what is written to its log or to its stage passes through here.

A client's batch, a transaction's marker, an administrator's change of the stage: each is an operation, and one follows
the other (`release_life.py`). What asks for nothing and meets no stage goes straight to the log, past all of this.
The rules are those of `engine/stage/stage.py`.
"""

import logging
import math
from collections.abc import Callable
from typing import Any, Protocol

from attrs import asdict

from engine.clock import Clock
from engine.deferred import Deferred, all_of
from engine.errors import BrokerError, RecordListTooLarge, RecordTooLarge, RequestTimedOut, fresh
from engine.files.files import Buffer
from engine.log.transactions import EndMarker, build_marker, check_ending
from engine.log.types import Origin, Receipt
from engine.partition.due_releases import DueReleases
from engine.partition.durable_log import DurableLog
from engine.partition.lane_readers import LaneReaders
from engine.partition.release_life import RETRY_S, ReleaseLife, ReleaseState, Welcome
from engine.partition.stage_observer import StageObserver
from engine.records.batch import Batch
from engine.records.layout import HEADER_SIZE, parse_header, walk_records
from engine.stage.config import ExtensionConfig
from engine.stage.events import Intent
from engine.stage.stage import Stage
from engine.stage.state import StageState
from engine.timers import Timers
from engine.workers import Workers

logger = logging.getLogger("tidegate.release")

LEAST_WAIT_S = 1.0
"""How long a client's batch may wait for its turn, even if its timeout is shorter: a release takes far less."""
RECORD_OVERHEAD_BYTES = 1024
"""The most that a record's batch and renamed headers add to it."""
NONE = -1


class StageKeeper(Protocol):
    """Looks after all stages of this node. Called on the loop; must not wait."""

    def check_room(self, staging: "Staging", size: int, record_count: int) -> None:
        """Raises a refusal unless the topic may have so many more bytes pending, and the node so many more records."""

    def make_room(self) -> bool:
        """Make room on a full disk (rule 11); whether there was any to make."""

    def load(self, staging: "Staging") -> StageState:
        """The stage's state once more, from its log, which may have lost its end."""

    def changed(self, staging: "Staging") -> None:
        """Something was written, and no release is under way."""

    def has_dead_letters(self, staging: "Staging") -> None:
        """Expired records wait to be sent to the dead-letter topic."""


class Staging:
    """See the module."""

    def __init__(
        self,
        partition: DurableLog,
        stage: Stage,
        timers: Timers,
        workers: Workers,
        clock: Clock,
        keeper: StageKeeper,
        observer: StageObserver | None = None,
    ) -> None:
        self.partition = partition
        """The log that records are released to."""
        self.stage = stage
        self.store: DurableLog = stage.store
        """The stage's own log."""
        self._timers = timers
        self._clock = clock
        self._keeper = keeper
        self._observer = observer
        self.life = ReleaseLife(partition, stage, timers, workers, clock, self, keeper.make_room)
        self.readers = LaneReaders(partition, stage, self.life, timers)
        self.due = DueReleases(partition, stage, self.life, self.readers, timers, clock)
        if observer is not None:
            stage.observe(observer)
        partition.when_online(self.life.resume)
        stage.store.when_online(self._store_online)

    @property
    def in_the_way(self) -> bool:
        """Whether a client's batch has to come through here, though it asks for nothing."""
        stage = self.stage
        return not self.life.is_free or stage.takes_all or bool(stage.state.transactions)

    # -- clients' batches

    def append(self, batch: Batch, deadline: float) -> Receipt | Deferred[Receipt]:
        """Take a client's batch, at once if nothing is in the way. One whose turn has not come by the deadline is
        refused, and nothing of it is stored."""
        welcome = self.life.welcome
        if welcome is Welcome.TAKEN:
            return self.life.take(self._append, batch)
        if welcome is Welcome.REFUSED:
            assert self.life.reason is not None
            raise fresh(self.life.reason)
        return self._append_later(batch, deadline)

    def _append_later(self, batch: Batch, deadline: float) -> Deferred[Receipt]:
        # Its bytes lie in the buffer of a connection, which is filled again before its turn has come.
        batch, answer = batch.copied(), Deferred[Receipt]()

        def operation() -> None:
            try:
                receipt = self._append(batch)
            except BrokerError as error:
                answer.refuse(error)
            else:
                answer.resolve(receipt)

        late = "the batch waited for its turn behind a release and was not stored"
        self._take_turn(operation, answer, deadline, late)
        return answer

    def _take_turn(self, operation: Callable[[], object], answer: Deferred[Any], deadline: float, late: str) -> None:
        """Carry out an operation when its turn has come. At the deadline it is refused; if it has not begun by then, it
        never does."""
        self.life.submit(operation)
        if answer.settled or deadline == math.inf:
            return

        def give_up() -> None:
            self.life.withdraw(operation)
            reason = "" if self.life.reason is None else f": {self.life.reason}"
            answer.refuse(RequestTimedOut(f"{late}{reason}"))

        timer = self._timers.call_at(max(deadline, self._clock.monotonic() + LEAST_WAIT_S), give_up)

        def in_time(_: object) -> None:
            timer.cancel()

        answer.when_settled(in_time, in_time, in_time)

    def _append(self, batch: Batch) -> Receipt:
        if not batch.hold and not self.stage.takes_all and not self._follows_staged(batch):
            return self.partition.write(batch)
        self.life.check_online()
        log = self.partition.log
        original = log.check_batch(batch)
        if original is None:
            return self._hold(batch)
        if original.base_offset == NONE:
            return Receipt(NONE, NONE, NONE, log.start_offset, True, self.store.log.end_offset - 1)
        return Receipt(original.base_offset, original.last_offset, -1, log.start_offset, True)

    def _follows_staged(self, batch: Batch) -> bool:
        """Whether its transaction has records in the stage, which come into the log at its end: these come after."""
        header = batch.header
        return header.is_transactional and header.producer_id in self.stage.state.transactions

    def _hold(self, batch: Batch) -> Receipt:
        stage, log, header, section = self.stage, self.partition.log, batch.header, batch.section()
        is_letter = batch.origin is Origin.LETTER
        if HEADER_SIZE + len(section) > self.store.log.config.segment_bytes:
            raise RecordListTooLarge(f"{len(section)} bytes of uncompressed records are too many for the stage")
        self._keeper.check_room(self, len(section), header.record_count)
        if not is_letter:
            self._check_record_sizes(batch, section)
        was_prioritised = stage.prioritised
        held = stage.hold(
            header, section, batch.asked, log.end_offset, shows_lanes=batch.shows_lanes, is_letter=is_letter
        )
        log.note_staged(header)
        if self._observer is not None:
            first_number = held.last_number - header.record_count + 1
            self._observer.held(section, batch.asked, first_number, stage.clock.now_ms(), batch.publisher)
        if stage.prioritised:
            if not was_prioritised:
                # Whoever waits for the log to grow has to ask anew.
                self.store.when_durable_to(held.last_number, math.inf, lambda _: self.partition.nudge())
            self.readers.expect_growth()
        last_offset = NONE
        if held.intent is not None:
            last_offset = held.intent.end_offset - 1
            self.life.carry_out(held.intent)
        return Receipt(NONE, last_offset, NONE, log.start_offset, staged_number=held.last_number)

    def _check_record_sizes(self, batch: Batch, section: Buffer) -> None:
        """A record that no segment of the log can hold would never be released."""
        bound = self.partition.log.config.segment_bytes - RECORD_OVERHEAD_BYTES
        if len(section) <= bound:
            return
        spans = batch.asked or walk_records(section, batch.header.record_count)
        largest = max(span.end - span.start for span in spans)
        if largest > bound:
            raise RecordTooLarge(f"a record of {largest} bytes does not fit into a segment of the topic")

    # -- transactions (rule 8)

    def end_transaction(self, producer_id: int, epoch: int, marker: EndMarker, deadline: float) -> Deferred[None]:
        """Write a marker where it belongs; the answer comes when it is durable there, or with why it is not. Whoever
        is refused at the deadline asks again: what was begun may still be done, and before that."""
        if self.life.welcome is Welcome.REFUSED:
            assert self.life.reason is not None
            return Deferred.refused(self.life.reason)
        answer = Deferred[None]()

        def operation() -> None:
            try:
                self._end_transaction(producer_id, epoch, marker).forward(answer)
            except BrokerError as error:
                answer.refuse(error)

        self._take_turn(operation, answer, deadline, "the transaction could not be ended in time")
        return answer

    def _end_transaction(self, producer_id: int, epoch: int, marker: EndMarker) -> Deferred[None]:
        self.life.check_online()
        log, stage = self.partition.log, self.stage
        is_open = any(each.has_open_transaction(producer_id, epoch) for each in (log, self.store.log))
        check_ending(producer_id, epoch, marker, is_open=is_open)
        batch = build_marker(producer_id, epoch, marker, self._clock.now_ms())
        log.check_marker(parse_header(batch), marker)
        has_staged = producer_id in stage.state.transactions
        in_log = not stage.prioritised or log.has_open_transaction_of(producer_id)
        durable: list[Deferred[None]] = []
        if has_staged or stage.prioritised:
            held = stage.end_transaction(producer_id, epoch, marker, log.end_offset)
            durable.append(self.store.durability_of(self.store.log.end_offset - 1, math.inf))
            if stage.prioritised:
                self.readers.expect_growth()
            if held.intent is not None:
                self.life.carry_out(held.intent)
        if in_log:
            durable.append(self._end_in_log(batch))
        else:
            log.note_staged_marker(parse_header(batch), marker)
        return all_of(durable).map(lambda _: None)

    def _end_in_log(self, batch: bytes) -> Deferred[None]:
        answer = Deferred[None]()

        def append_marker() -> None:
            try:
                receipt = self.partition.write(batch, origin=Origin.COORDINATOR)
            except BrokerError as error:
                answer.refuse(error)
            else:
                self.partition.durability_of(receipt.last_offset, math.inf).forward(answer)

        if self.life.state is ReleaseState.IDLE:
            append_marker()
        else:
            # What the transaction released comes first in the log.
            self.life.submit_first(append_marker)
        return answer

    # -- changes of the stage itself

    def submit(self, operation: Callable[[], object]) -> None:
        """Carry out a change of the stage when its turn has come."""
        self.life.submit(operation)

    def configure(self, config: ExtensionConfig) -> None:
        """The topic's keys have changed."""
        self.stage.configure(config)
        self._leave_priority()
        self.due.arm()

    def watch_clock(self) -> None:
        """Have a step of the wall clock noted, so that a restart goes on from the right time."""
        if self.partition.replicas.not_leader is not None or self.life.state is ReleaseState.BLOCKED:
            return
        if not self.stage.is_empty():
            self.submit(lambda: self._noting(self.stage.watch_clock))

    def _leave_priority(self) -> None:
        """Rule 12: where it was switched off, the partition goes back to plain once nothing is in the lanes."""
        if self._may_leave_priority():
            self.submit(self._switch_off)

    def _may_leave_priority(self) -> bool:
        state, config = self.stage.state, self.stage.config
        is_wanted = state.prioritised and (config.priority_enable == "false" or config.cleanup_compact)
        return is_wanted and not (len(state.lanes) or state.transactions or state.intents)

    def _switch_off(self) -> None:
        if self._may_leave_priority():
            self._noting(self.stage.switch_off_priority)

    def _noting(self, change: Callable[[], object]) -> None:
        """Make a small change of the stage that nobody waits for; it is tried again by whoever wanted it."""
        try:
            self.life.check_online()
            change()
        except BrokerError as error:
            logger.warning("%s: the stage cannot be written: %s", self.partition.log.name, error)

    # -- after an interruption

    def resume(self) -> None:
        """The stage was just opened: settle what was intended."""
        self.life.resume()

    def end(self, reason: BrokerError) -> None:
        """Another node leads the partition: nothing is done here any more, and whoever waits is told why."""
        self.life.end(reason)

    @property
    def ended(self) -> bool:
        """Whether another node leads the partition, or it is gone."""
        return self.life.ended or self.partition.removed

    def _store_online(self) -> None:
        if self.ended:
            return
        try:
            self.stage.adopt(self._keeper.load(self))
        except BrokerError as error:
            self.life.block(error)
            self._timers.call_at(self._clock.monotonic() + RETRY_S, self._store_online)
        else:
            self.life.resume()

    # -- told by the life of releases

    def turn_ended(self) -> None:
        """Upkeep, dead letters and the next timer follow what was done."""
        if self.ended:
            return
        if self.life.state is ReleaseState.IDLE:
            self._keeper.changed(self)
        if self.stage.state.dead_letters:
            self._keeper.has_dead_letters(self)
        self.due.arm()

    def wrote(self, intent: Intent, duration_s: float) -> None:
        """A release is in the log."""
        self.due.size.took(len(intent.pieces), duration_s)
        if self._observer is not None:
            self._observer.released(intent, self.stage.state.intended)

    def released(self) -> None:
        """And can be read. Only lanes have an order that somebody may wait for."""
        if self.readers.is_ordering or self.stage.prioritised:
            self.readers.ordering_ended()
            self._leave_priority()
            self.readers.order_on()

    def interrupted(self) -> None:
        """Whoever reads has to ask anew."""
        self.readers.ordering_ended()

    def resumed(self) -> None:
        """Who wanted an order still wants it."""
        self.readers.order_on()

    def statistics(self) -> dict[str, int]:
        """What is pending here, and what has happened."""
        state = self.stage.state
        return {
            "pending": len(state.table),
            "pending_bytes": state.table.bytes,
            "ready": len(state.lanes),
            "intents": len(state.intents),
            "queued": self.life.queued_count,
            **asdict(state.counters),
        }
