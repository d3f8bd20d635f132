"""A share partition in the hands of its leader: its window, what of it is durable, and who waits for it.

It lives for one leader epoch at most. It is loaded when somebody first fetches, and where its group never was, its
start is decided then and made durable at once, so that a restart does not decide anew. It is given up when another node
leads, when the topic is gone, when its state was made anew by somebody else, and when nobody uses it any more: so
whoever changes the offsets of an empty group finds that the next fetch obeys them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from attrs import evolve, frozen

from coordinators.share.acks import AckBatch
from coordinators.share.acquiring import Acquired, OrderedAcquisition, ReadSpan, ShareWanted, acquire
from coordinators.share.config import ShareGroupSettings
from coordinators.share.counters import ShareCounters
from coordinators.share.looks import LookedFor, Looks, lanes_of
from coordinators.share.ports import UNINITIALISED, LetterProducer, ShareChange, SharePlace, ShareState, ShareStates
from coordinators.share.runs import ACQUIRED, ARCHIVING, OffsetRun
from coordinators.share.share_traces import Notings, ShareTraces
from coordinators.share.window import Moment, Offsets, ShareWindow
from coordinators.topic_view import Topic
from coordinators.tracing.tracing import Tracing
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    NotCoordinator,
    NotLeader,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from engine.partition.partition import Partition
from engine.stage.headers import PRIORITIES
from engine.timers import Timer, Timers
from engine.workers import Workers

LEAST_WAIT_S = 0.02
"""Locks run out together that run out within it: what thousands of them cost stays small."""
RETRY_S = 0.5
"""After a write has failed that nobody waits for."""

KEPT_LOOKS = 256
"""Batches whose records are known, before those behind the window are forgotten."""

PASSING = (CoordinatorNotAvailable, CoordinatorLoadInProgress, NotCoordinator)
"""Refusals of the state's keeper that another attempt may not meet."""


class ShareWaiter(Protocol):
    """Whoever waits for something to be handed out."""

    def wake(self, share: "SharePartition") -> None:
        """There may be something now."""
        ...


@frozen(eq=False)
class ShareSurroundings:
    """What every share partition of a node needs."""

    states: ShareStates
    clock: Clock
    timers: Timers
    workers: Workers
    settings: Callable[[str], ShareGroupSettings]
    """What a group obeys now."""
    counters: ShareCounters
    on_letters: Callable[["SharePartition", list[OffsetRun]], object] = lambda _partition, _letters: None
    """Told of records that have to go to the dead-letter topic; `letters_written` says that they are there."""
    on_idle: Callable[["SharePartition"], object] = lambda _: None
    """Told when nothing is acquired any more and nothing is being written."""
    on_closed: Callable[["SharePartition"], object] = lambda _: None
    tracing: Tracing | None = None

    def now(self) -> Moment:
        """By both clocks."""
        return Moment(self.clock.monotonic(), self.clock.now_ms())


class SharePartition:
    """See the module. `window` is None until it is loaded."""

    def __init__(
        self, place: SharePlace, topic: str, partition: Partition, around: ShareSurroundings, held: dict[str, int]
    ) -> None:
        self.place = place
        self.topic = topic
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.window: ShareWindow | None = None
        self.closed: BrokerError | None = None
        self.letter_producer: LetterProducer | None = None
        """Under which its dead letters go, as the next write says."""
        self.loaded = Deferred[None]()
        self.traces = ShareTraces(around.tracing, place, topic)
        self._around = around
        self._held = held
        self._state_epoch = 0
        self._waiters: dict[ShareWaiter, None] = {}
        self._waiting: dict[int, list[Deferred[None]]] = {}
        self._traced: dict[int, list[Notings]] = {}
        """What to note of traced records once a write is durable, by its number."""
        self._timer: Timer | None = None
        self._durable_producer: LetterProducer | None = None
        self._written_producer: LetterProducer | None = None
        self.looked: dict[int, Looks] = {}
        """What is known of the records of batches, by their base offsets, where that matters."""
        self._looked_for: tuple[Topic | None, ShareGroupSettings | None, LookedFor] = None, None, LookedFor()

    @property
    def rules(self) -> ShareGroupSettings:
        """What its group obeys now."""
        return self._around.settings(self.place.group_id)

    # -- loading

    def load(self) -> None:
        """`loaded` tells when it is done, or why it cannot be."""
        self._around.states.read(self.place, self.leader_epoch).when_settled(self._read, self.close)

    def _read(self, state: ShareState) -> None:
        if self.closed is not None:
            return
        self._state_epoch, self.letter_producer = state.state_epoch, state.letter_producer
        self._durable_producer = state.letter_producer
        if state.start_offset == UNINITIALISED:
            self._find_start(state)
        else:
            self._begin(state)

    def _find_start(self, state: ShareState) -> None:
        """Where a group begins that never was here (`share.auto.offset.reset`)."""
        partition, rules = self.partition, self.rules
        age_ms = rules.reset_age_ms
        if age_ms is not None:
            since_ms, upto = self._around.clock.now_ms() - age_ms, partition.high_watermark
            search = partial(partition.log.find_by_time, since_ms, upto)

            def found(result: object, error: BaseException | None) -> None:
                if error is not None:
                    self.close(error if isinstance(error, BrokerError) else CoordinatorNotAvailable(str(error)))
                else:
                    self._decide(state, upto.offset if result is None else result.offset)  # type: ignore[attr-defined]

            self._around.workers.submit(search, found)
        elif rules.auto_offset_reset == "earliest":
            self._decide(state, partition.log.start_offset)
        else:
            self._decide(state, partition.reported_end)

    def _decide(self, state: ShareState, start: int) -> None:
        if self.closed is not None:
            return
        decided = evolve(state, start_offset=start, complete_count=0, batches=())
        written = self._around.states.write(self.place, self._state_epoch, self.leader_epoch, ShareChange(start, 0))
        written.when_settled(lambda _: self._begin(decided), self.close)

    def _begin(self, state: ShareState) -> None:
        if self.closed is not None:
            return
        end = self.partition.log.end_offset
        if state.start_offset > max(end, self.partition.reported_end):
            # The log has lost its end since.
            state = evolve(state, start_offset=end, batches=())
        self.window = ShareWindow.load(state, self._around.counters, self._held)
        self.loaded.resolve(None)
        self._after_change()

    def close(self, reason: BrokerError) -> None:
        """It is not this node's any more, or not as it is known here."""
        if self.closed is not None:
            return
        self.closed = told = _told(reason)
        if self._timer is not None:
            self._timer.cancel()
        if self.window is not None:
            self.window.forget_holders()
        waiting, self._waiting, self._traced = self._waiting, {}, {}
        self._around.on_closed(self)
        self.loaded.refuse(told)
        for answers in waiting.values():
            for answer in answers:
                answer.refuse(told)
        waiters = tuple(self._waiters)
        for waiter in waiters:
            self.unwatch(waiter)
        for waiter in waiters:
            waiter.wake(self)

    # -- handing out and taking back

    @property
    def readable_end(self) -> int:
        """Up to where the log may be handed out: to the last stable offset, where only committed records may be."""
        partition = self.partition
        return partition.last_stable_offset if self.rules.committed else partition.high_watermark.offset

    def pass_log_start(self) -> None:
        """The log may begin later than it did."""
        window, start = self.window, self.partition.log.start_offset
        if window is not None and window.start < start:
            window.pass_log_start(start)
            self._write()

    def acquire(self, spans: Sequence[ReadSpan], position: int, wanted: ShareWanted) -> list[Acquired]:
        """Give a member what it may have of what was read from `position` on."""
        window, rules, now = self.window, self.rules, self._around.now()
        assert window is not None, "it is loaded"
        taken = acquire(window, spans, position, wanted, rules, now)
        self._handed_out(taken, window, now.monotonic + rules.lock_duration_ms / 1000)
        return taken

    def acquire_in_order(
        self,
        spans: Sequence[ReadSpan],
        position: int,
        wanted: ShareWanted,
        keys: Mapping[int, bytes | None],
        last_allowed: int,
    ) -> list[Acquired]:
        """The same for a group that keeps the order of keys; everything from `position`, the start, was read."""
        window, rules, now = self.window, self.rules, self._around.now()
        assert window is not None, "it is loaded"
        taken = OrderedAcquisition(window, spans, wanted, rules, now, keys, last_allowed).carry_out(position)
        self._handed_out(taken, window, now.monotonic + rules.lock_duration_ms / 1000)
        return taken

    def _handed_out(self, taken: Sequence[Acquired], window: ShareWindow, lock_until: float) -> None:
        if taken:
            self._arm(lock_until)
        if window.has_news:
            self._write()
        if len(self.looked) > KEPT_LOOKS:
            below = max((base for base in self.looked if base <= window.start), default=window.start)
            self.looked = {base: looks for base, looks in self.looked.items() if base >= below}

    def looked_for(self, topic: Topic) -> LookedFor:
        """What its group has to know of the records of its topic, beyond their batches."""
        known_topic, known_rules, wanted = self._looked_for
        rules = self.rules
        if topic is not known_topic or rules is not known_rules:
            has_lanes = bool(rules.priority_lanes) and topic.config["priority.enable"] != "false"
            lanes = frozenset(map(PRIORITIES.index, rules.priority_lanes)) if has_lanes else None
            has_extensions = bool(topic.config["extensions.enable"])
            counts_lanes = has_extensions and topic.config["priority.enable"] != "false"
            wanted = LookedFor(has_extensions, lanes, rules.order_by_key, counts_lanes)
            if wanted.is_thorough and not self._looked_for[2].is_thorough:
                self.looked = {}
            self._looked_for = topic, rules, wanted
        return wanted

    def acknowledge(self, member_id: str, batches: Sequence[AckBatch]) -> Deferred[None] | None:
        """Take what a member says; None if there is nothing to wait for. Raises if it is refused."""
        window = self.window
        assert window is not None, "it is loaded"
        renewed, settled = self.traces.acknowledged(member_id, batches, window.start) if self.traces.any else ((), ())
        number = window.acknowledge(member_id, batches, self.rules, self._around.now())
        self.traces.note(renewed)
        if number is None:
            return None
        if settled:
            self._traced.setdefault(number, []).append(settled)
        answer = Deferred[None]()
        self._waiting.setdefault(number, []).append(answer)
        self._write()
        return answer

    def release(self, member_id: str, backoff_ms: int = 0, offsets: Offsets | None = None) -> int:
        """Give others what this member has, or of it what lies within some offsets, after a while if there is a
        back-off; how many offsets that are."""
        released = 0
        if self.window is not None and self.closed is None:
            traced = self.traces.taken_back(self.window.taken_by(member_id, offsets)) if self.traces.any else ()
            released = self.window.release(member_id, self.rules, self._around.now(), backoff_ms, offsets)
            if released:
                self.traces.note(traced)
                self._after_change()
        return released

    def letters(self) -> list[OffsetRun]:
        """What has to go to the dead-letter topic, durably so, and is not known to be there."""
        return [] if self.window is None else self.window.dead()

    def note_letters(self, producer: LetterProducer, arrived: Sequence[tuple[int, int]] = ()) -> Deferred[None]:
        """How far the letters are: what is being sent next, as `producer` says, and which offsets have arrived in the
        dead-letter topic. Done when that is durable."""
        answer = Deferred[None]()
        if self.closed is not None or self.window is None:
            answer.refuse(self.closed or CoordinatorNotAvailable("the share partition is not loaded"))
            return answer
        self.letter_producer = producer
        for first, last in arrived:
            self.window.letters_written(first, last)
        self._waiting.setdefault(self.window.write_soon(), []).append(answer)
        self._write()
        return answer

    # -- writing

    def _write(self) -> None:
        window = self.window
        if window is None or self.closed is not None or window.is_writing or not window.has_news:
            return
        number, change = window.begin_write()
        self._written_producer = self.letter_producer
        if self.letter_producer is not None:
            change = evolve(change, letter_producer=self.letter_producer)
        written = self._around.states.write(self.place, self._state_epoch, self.leader_epoch, change)
        written.when_settled(partial(self._written, number), partial(self._not_written, number))

    def _written(self, number: int, _: None) -> None:
        if self.closed is not None or self.window is None:
            return
        self._durable_producer = self._written_producer
        self.window.end_write(self.rules, self._around.now(), failed=False)
        for notings in self._traced.pop(number, ()):
            self.traces.note(notings)
        for answer in self._waiting.pop(number, ()):
            answer.resolve(None)
        self._after_change()

    def _not_written(self, number: int, error: BrokerError) -> None:
        if self.closed is not None or self.window is None:
            return
        if self.letter_producer is self._written_producer:
            # The next write must not tell of letters whose offsets it leaves as they are.
            self.letter_producer = self._durable_producer
        self.window.end_write(self.rules, self._around.now(), failed=True)
        self._traced.pop(number, None)
        answers = self._waiting.pop(number, ())
        if not isinstance(error, PASSING):
            # Somebody else decides what its state is.
            self.close(error)
        for answer in answers:
            answer.refuse(_told(error))
        if self.closed is None:
            self._arm(self._around.clock.monotonic() + RETRY_S)
            self._wake()

    # -- who waits, and for when

    def watch(self, waiter: ShareWaiter) -> None:
        """Wake it whenever there may be something to hand out. Whoever has waited for longest comes first."""
        if not self._waiters:
            self.partition.watch(self._grew, committed=self.rules.committed)
            self.partition.watch_promises(self._wake)
        self._waiters[waiter] = None

    def unwatch(self, waiter: ShareWaiter) -> None:
        """It does not wait any more."""
        if self._waiters.pop(waiter, self) is None and not self._waiters:
            self.partition.unwatch(self._grew)
            self.partition.unwatch_promises(self._wake)
            if self.closed is None:
                self._around.on_idle(self)

    @property
    def has_more(self) -> bool:
        """Whether anything can be handed out now, or told."""
        if self.closed is not None or self.window is None:
            return self.closed is not None
        position = self.window.next_position(self.rules.max_record_locks, self._around.clock.now_ms())
        if position is None:
            return False
        return position < self.readable_end or (self.partition.has_promises and position < self.partition.reported_end)

    def _grew(self, added_bytes: int) -> None:
        """More can be read, or, where that is nothing, something is different about the partition."""
        if not added_bytes:
            for waiter in tuple(self._waiters):
                waiter.wake(self)
        else:
            self._wake()

    def _wake(self) -> None:
        """One after the other, as long as there is something for the next: of thousands that wait most stay asleep."""
        for waiter in tuple(self._waiters):
            if not self.has_more:
                return
            if waiter in self._waiters:
                waiter.wake(self)

    def _after_change(self) -> None:
        """Offsets may be available, finished or dead since."""
        window = self.window
        assert window is not None
        if window.has_news:
            self._write()
        if window.letters:
            self._around.on_letters(self, window.take_letters())
        if window.available:
            self._arm_soonest()
        self._wake()
        if not window.acquired and not window.is_writing:
            self._around.on_idle(self)

    def _arm_soonest(self) -> None:
        now, window = self._around.now(), self.window
        wait_s = None if window is None else window.next_time(now)
        if wait_s is not None:
            self._arm(now.monotonic + max(wait_s, LEAST_WAIT_S))

    def _arm(self, deadline: float) -> None:
        timer = self._timer
        if timer is None or timer.callback is None or deadline < timer.deadline:
            if timer is not None:
                timer.cancel()
            self._timer = self._around.timers.call_at(deadline, self._due)

    def _due(self) -> None:
        self._timer = None
        if self.window is None or self.closed is not None:
            return
        told = self.traces.timed_out if self.traces.any else None
        self.window.expire_locks(self.rules, self._around.now(), told)
        self._after_change()
        if self._timer is None:
            self._arm_soonest()

    # -- looking in

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost if it were loaded anew."""
        window = self.window
        if window is None or self._waiters:
            return False
        is_settled = not (window.acquired or window.is_writing or window.has_news)
        return is_settled and not any(run.state is ARCHIVING for run in window.runs)

    def in_flight(self) -> list[OffsetRun]:
        """What members have now."""
        return [] if self.window is None else [run for run in self.window.runs if run.state is ACQUIRED]

    def lanes_in_flight(self, runs: Iterable[OffsetRun] | None = None) -> dict[str, int]:
        """What members have now, or these runs of it, by priority; only those lanes that have any."""
        held = self.in_flight() if runs is None else runs
        counts = lanes_of(self.looked, ((run.first, run.last) for run in held))
        return {name: count for name, count in zip(PRIORITIES, counts, strict=True) if count}

    def statistics(self) -> dict[str, int]:
        """Where it stands, how full it is, who waits."""
        window = self.window
        if window is None:
            return {"loaded": 0, "waiters": len(self._waiters)}
        return {
            "loaded": 1,
            "start_offset": window.start,
            "end_offset": window.end,
            "acquired": window.acquired,
            "available": window.available,
            "backed_off": window.in_backoff(self._around.clock.now_ms()),
            "complete": window.complete,
            "runs": len(window.runs),
            "waiters": len(self._waiters),
        }


def _told(error: BrokerError) -> BrokerError:
    """What members are told of it. Share consumers know few errors, and stop for the others: whatever else keeps the
    state from being read or written may pass."""
    if isinstance(error, FencedLeaderEpoch | FencedStateEpoch):
        return NotLeader(str(error))
    if isinstance(error, NotLeader | UnknownTopicId | UnknownTopicOrPartition):
        return error
    return CoordinatorNotAvailable(str(error))
