"""A share fetch: what of the partitions of a session a member is given now, or when there is something.

1. Partitions take turns at being first; the bytes are split evenly among them, the records are a budget for all.
2. What is given are regions of segment files, whole batches around what the member was given of them. Of batches only
   the headers are looked at.
3. A fetch that finds nothing waits, for records, for others' acknowledgements and releases, for locks that run out and
   for back-offs that end; it asks again of that partition alone which has news.
4. A fetch at the end of a prioritised partition has the order of what comes next decided, and waits for that.
5. What is not in memory is brought there by a thread before anything is handed out.
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from coordinators.records.portions import TopicJudge
from coordinators.share.acquiring import Acquired, ShareWanted
from coordinators.share.log_batches import LogBatch, batches_of, region_of
from coordinators.share.looks import LookedFor, Looks, SpanJudge, look_at_all, look_quickly
from coordinators.share.sessions import PartitionKey
from coordinators.share.share_partition import SharePartition
from engine.deferred import Deferred
from engine.errors import BrokerError, CoordinatorNotAvailable, OffsetOutOfRange, StaleLeader, kept
from engine.files.files import FileRegion
from engine.files.page_cache import warm
from engine.log.types import LogRead
from engine.partition.partition import PartitionRead
from engine.timers import Timer

if TYPE_CHECKING:
    from coordinators.share.sharing import Sharing

T = TypeVar("T")
Steps = Generator[None, None, T]

SETTLE_S = 5.0
"""How long a fetch waits for what is under way, though it does not want to wait: loading, ordering, cold reads."""
HOLES_AT_ONCE = 50
"""So many times a fetch looks on behind offsets that hold nothing."""
ROUNDS_AT_ONCE = 20
RETRY_S = 0.1


class SharePortion(Struct):
    """What a member gets of one partition: records, or why there are none; and what became of its acknowledgements."""

    topic_id: bytes
    index: int
    records: LogRead | None = None
    acquired: Sequence[Acquired] = ()
    error: BrokerError | None = None
    ack_error: BrokerError | None = None


class ShareRead(Struct, eq=False):
    """One fetch; see the module."""

    sharing: "Sharing"
    group_id: str
    partitions: Sequence[PartitionKey]
    wanted: ShareWanted
    max_bytes: int
    min_bytes: int
    wait_s: float
    client_id: str | None = None
    address: str = ""
    refusal: TopicJudge | None = None
    """Tells of a topic why the member may not read it."""

    portions: list[SharePortion] = []
    shares: list[SharePartition] = []
    watched: list[SharePartition] = []
    size: int = 0
    records_left: int = 0
    must_answer: bool = False
    under_way: bool = False
    """Whether something will soon be there that even one who does not wait should get."""
    retries: int = 0
    """Partitions that could not be loaded, and are tried again in a moment."""
    is_looking: bool = False
    is_over: bool = False
    """Whether it is answered, or nobody wants the answer any more: nothing may be handed out to it."""
    deferred: Deferred[Any] | None = None
    timer: Timer | None = None
    until: float = 0.0
    """When it wants to be answered at the latest, if nothing is under way."""

    def begin(self) -> list[SharePortion] | Deferred[list[SharePortion]]:
        """Give what there is; wait where that is nothing."""
        for _ in self._look():
            pass
        return self._begun()

    def begin_in_steps(self) -> Steps[list[SharePortion] | Deferred[list[SharePortion]]]:
        """The same for many partitions."""
        yield from self._look()
        answer = self._begun()
        if isinstance(answer, Deferred):
            # What came to a partition that was looked at, while others were.
            for share in self.shares:
                if share.has_more:
                    self.wake(share)
        return answer

    def _begun(self) -> list[SharePortion] | Deferred[list[SharePortion]]:
        if self.is_answered:
            return self._answered()
        wait_s = max(self.wait_s, SETTLE_S) if self.under_way else self.wait_s
        if wait_s <= 0 or not (self.shares or self.retries):
            return self._answered()
        deferred = self.deferred = Deferred()
        deferred.on_abandoned(self._stop_waiting)
        reading = self.sharing.reading
        now = reading.clock.monotonic()
        self.until = now + self.wait_s
        self.timer = reading.timers.call_at(now + wait_s, self._finish)
        reading.long_polls.begin(self, self._finish)
        for share in self.shares:
            if share.window is None:
                share.loaded.when_settled(self._loaded, self._loaded)
        return deferred

    def _loaded(self, _: object) -> None:
        """Once everything is loaded it waits no longer than it wanted to, or is answered, if that is over."""
        is_waiting = self.deferred is not None and not self.is_over and not self.is_looking
        if not is_waiting or any(share.window is None for share in self.shares):
            return
        self.under_way = False
        for share in tuple(self.shares):
            self.wake(share)
        reading = self.sharing.reading
        if self.wait_s <= 0 or (reading.clock.monotonic() >= self.until and not self.under_way):
            self.end()
        elif not (self.is_over or self.under_way):
            if self.timer is not None:
                self.timer.cancel()
            self.timer = reading.timers.call_at(self.until, self._finish)

    @property
    def is_answered(self) -> bool:
        """Whether there is something to tell."""
        return self.size > 0 or self.must_answer

    # -- looking

    def _look(self) -> Steps[None]:
        """At all partitions; those that are loaded are watched from the moment that they were looked at."""
        self.records_left = self.wanted.max_records
        self.max_bytes = min(self.max_bytes, self.sharing.reading.max_bytes)
        for key in self.partitions:
            self._find(key)
            yield
        if self.min_bytes > 1 and self.wait_s > 0 and self._readable_bytes() < self.min_bytes:
            return
        for share in self.shares:
            if self.records_left <= 0 or self.size >= self.max_bytes:
                break
            self._take(share)
            yield

    def _find(self, key: PartitionKey) -> None:
        topic_id, index = key
        refusal = None if self.refusal is None else self.refusal(topic_id)
        if refusal is not None:
            self._refuse(topic_id, index, refusal)
            return
        try:
            share = self.sharing.share_partition(self.group_id, topic_id, index)
        except BrokerError as error:
            self._refuse(topic_id, index, error)
            return
        share.watch(self)
        self.watched.append(share)
        self.shares.append(share)
        if share.window is None:
            self.under_way = True

    def _refuse(self, topic_id: bytes, index: int, error: BrokerError) -> None:
        """A partition that is led elsewhere is told at once, one that does not exist does not cut short the wait."""
        self.portions.append(SharePortion(topic_id, index, error=kept(error)))
        if isinstance(error, StaleLeader):
            self.must_answer = True

    def _readable_bytes(self) -> int:
        total = 0
        for share in self.shares:
            position = self._position(share)
            read = None if position is None else self._read(share, position, self.max_bytes, at_least_one=True)
            if read is not None and read.log_read is not None:
                total += read.log_read.size
        return total

    def _position(self, share: SharePartition) -> int | None:
        window = share.window
        if window is None or share.closed is not None:
            return None
        share.pass_log_start()
        return window.next_position(share.rules.max_record_locks, self.sharing.reading.clock.now_ms())

    def _take(self, share: SharePartition) -> None:
        """As much as this partition's part of the budget allows."""
        if share.closed is not None:
            self._lost(share)
            return
        refusal = None if self.refusal is None else self.refusal(share.place.topic_id)
        if refusal is not None:
            # It was taken away while the member waited.
            self.shares = [each for each in self.shares if each is not share]
            self._refuse(share.place.topic_id, share.place.partition_index, refusal)
            self.must_answer = True
            return
        for _ in range(HOLES_AT_ONCE):
            position = self._position(share)
            if position is None:
                return
            if position >= share.readable_end and not self._ordered(share, position):
                return
            if self._take_from(share, position) or self._position(share) == position:
                return

    def _ordered(self, share: SharePartition, position: int) -> bool:
        """At the end of what can be read: whether there is more by now, because its order has just been decided."""
        partition = share.partition
        for _ in range(ROUNDS_AT_ONCE):
            if not partition.has_stage or not partition.linearise(position, self.max_bytes):
                return False
            if share.readable_end > position:
                return True
            if partition.high_watermark.offset <= position:
                self.under_way = True
                return False
        return False

    def _lost(self, share: SharePartition) -> None:
        """It was given up. What may pass is tried again; the member is told of what does not."""
        error = share.closed
        assert error is not None
        self.shares = [each for each in self.shares if each is not share]
        if isinstance(error, CoordinatorNotAvailable):
            self.under_way = True
            self.retries += 1
            clock, timers = self.sharing.reading.clock, self.sharing.reading.timers
            key = share.place.topic_id, share.place.partition_index
            timers.call_at(clock.monotonic() + RETRY_S, partial(self._try_again, key))
        else:
            self._refuse(share.place.topic_id, share.place.partition_index, error)
            self.must_answer = self.must_answer or not (self.shares or self.retries)

    def _try_again(self, key: PartitionKey) -> None:
        self.retries -= 1
        if self.deferred is not None and not self.is_over:
            self._find(key)
            for share in tuple(self.shares):
                if share.has_more:
                    self.wake(share)

    def _read(
        self, share: SharePartition, position: int, max_bytes: int, *, at_least_one: bool = True
    ) -> PartitionRead | None:
        if position >= share.readable_end:
            return None
        try:
            read = share.partition.read(position, max_bytes, at_least_one=at_least_one, committed=share.rules.committed)
        except OffsetOutOfRange:
            return None
        except BrokerError as error:
            self._refuse(share.place.topic_id, share.place.partition_index, error)
            return None
        return read if read.log_read is not None and read.log_read.size else None

    def _take_from(self, share: SharePartition, position: int) -> bool:
        """Whether it is done with this partition; False if there may be more behind what holds nothing."""
        window, topic = share.window, self.sharing.reading.directory.topics.view.by_id.get(share.place.topic_id)
        if window is None or topic is None:
            return True
        looked_for = share.looked_for(topic)
        room = min(max(self.max_bytes // max(len(self.shares), 1), 1), self.max_bytes - self.size)
        if looked_for.keys:
            # What comes before may have the same keys.
            begin, read = window.start, self._read(share, window.start, self.sharing.reading.max_bytes)
        else:
            begin, read = position, self._read(share, position, room, at_least_one=self.size == 0)
        if read is None or read.log_read is None:
            return True
        region = read.log_read.regions[0]
        batches = batches_of(read.log_read, max(position, window.end) + self.records_left - 1)
        if batches is None:
            self._warm(share, region)
            return True
        if looked_for and not self._look_into(share, looked_for, region, batches):
            return True
        now_ms = self.sharing.reading.clock.now_ms()
        has_letters = topic.dead_letter_topic is not None and share.rules.dead_letters_enabled
        judge = SpanJudge(looked_for, share.looked, read.aborted or (), now_ms, has_letters)
        spans = judge.spans(batches)
        if looked_for.keys:
            allowed = _last_within(batches, position, room)
            taken = share.acquire_in_order(spans, begin, self._still_wanted(), judge.keys(batches), allowed)
        else:
            taken = share.acquire(spans, position, self._still_wanted())
        if not taken:
            return not batches or looked_for.keys
        self._give(share, read.log_read, batches, taken)
        return True

    def _look_into(
        self, share: SharePartition, looked_for: LookedFor, region: FileRegion, batches: Sequence[LogBatch]
    ) -> bool:
        """Whether all that matters of these batches is known; if not, a thread looks, then it is tried again."""
        found, rest = look_quickly(looked_for, region, batches, share.looked)
        share.looked.update(found)
        if not rest:
            return True
        self.under_way = True

        def looked(result: dict[int, Looks], error: BaseException | None) -> None:
            if error is None:
                share.looked.update(result)
                self.wake(share)

        self.sharing.workers.submit(partial(look_at_all, looked_for, region, rest), looked)
        return False

    def _still_wanted(self) -> ShareWanted:
        wanted = self.wanted
        return ShareWanted(wanted.member_id, self.records_left, wanted.batch_size, wanted.is_strict)

    def _give(
        self, share: SharePartition, read: LogRead, batches: Sequence[LogBatch], taken: Sequence[Acquired]
    ) -> None:
        first, last = taken[0].first_offset, taken[-1].last_offset
        count = sum(each.last_offset - each.first_offset + 1 for each in taken)
        records = region_of(read, batches, first, last)
        self.records_left -= count
        self.size += records.size
        topic_id, index = share.place.topic_id, share.place.partition_index
        self.portions.append(SharePortion(topic_id, index, records, taken))
        share.partition.traffic.sent(count, records.size)
        share.traces.handed_out(taken, self.wanted.member_id, self.client_id, self.address)

    def _warm(self, share: SharePartition, region: FileRegion) -> None:
        """Have it brought into memory, then look again."""
        descriptor = region.file.fileno()
        assert descriptor is not None, "what has no descriptor is in memory"
        self.under_way = True

        def warmed(_: object, _error: BaseException | None) -> None:
            self.wake(share)

        self.sharing.workers.submit(partial(warm, descriptor, region.position, region.size), warmed)

    # -- waiting

    def wake(self, share: SharePartition) -> None:
        """There may be something in one of the partitions."""
        deferred = self.deferred
        if deferred is None or self.is_over or self.is_looking:
            return
        self.is_looking = True
        try:
            if self.min_bytes <= 1 or self.wait_s <= 0 or self._readable_bytes() >= self.min_bytes:
                self._take(share)
        except Exception as bug:
            self._stop_waiting()
            deferred.fail(bug)
            return
        finally:
            self.is_looking = False
        if self.is_answered:
            self._finish()

    def end(self) -> None:
        """Answer with what was found, unless that is done; nothing more is handed out to it."""
        if not self.is_over and self.deferred is not None:
            self.deferred.resolve_by(self._answered)

    def _finish(self) -> None:
        assert self.deferred is not None
        self.deferred.resolve_by(self._last_look)

    def _last_look(self) -> list[SharePortion]:
        """When the wait is over, fewer bytes than were wanted are given too."""
        if not self.is_answered and self.min_bytes > 1:
            for share in self.shares:
                if self.records_left > 0:
                    self._take(share)
        return self._answered()

    def _answered(self) -> list[SharePortion]:
        self._stop_waiting()
        return self.portions

    def _stop_waiting(self) -> None:
        self.is_over = True
        if self.timer is not None:
            self.timer.cancel()
        self.sharing.reading.long_polls.end(self)
        for share in self.watched:
            share.unwatch(self)
        self.watched = []


def _last_within(batches: Sequence[LogBatch], position: int, room: int) -> int:
    """Up to which offset a hand-out that begins at `position` stays within so many bytes; a batch at least."""
    ahead = [batch for batch in batches if batch.header.last_offset >= position]
    within = [batch for batch in ahead if batch.end_position - ahead[0].position <= room]
    return (within or ahead or batches)[-1 if within else 0].header.last_offset if batches else -1
