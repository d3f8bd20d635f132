"""Reading: records of partitions from offsets on, waiting for them where there are too few.

A door says what it wants of which partitions, and gets a portion of each: regions of segment files, which nobody has
read yet, and where the partition begins and ends. The rules:
1. At least one batch is given although it is larger than the bounds (KIP-74); a portion may end inside a batch.
2. Who asks for committed records gets those up to the last stable offset, and learns which transactions among them were
   aborted (KIP-98).
3. A read that finds less than it wants waits for more. It is answered when enough has become readable, when its time is
   over, or when so many others wait that the oldest has to give way (`long_polls.py`). An error is told at once, but a
   partition that does not exist does not cut short the wait for the others, as in Kafka.
4. No read misses what its client knows to be written. Where records are acknowledged (acks=1) and not yet synced, a
   read that found nothing waits for the sync, however little time it has.
5. A read that reaches the end of a prioritised partition has the order of what comes next there decided, and waits for
   that.
6. A read of many partitions is done in steps, so that it does not keep the loop.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from coordinators.records.directory import PartitionDirectory
from coordinators.records.long_polls import LongPolls
from coordinators.records.nearest import NearestReplicas
from coordinators.records.portions import NO_EPOCH, Portion, TopicJudge, Wanted
from coordinators.tracing.members import Client
from coordinators.tracing.tracing import Tracing
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import BrokerError, OffsetNotAvailable, OffsetOutOfRange, kept
from engine.log.types import LogRead
from engine.partition.durable_log import Watcher
from engine.partition.partition import Partition, PartitionRead
from engine.timers import Timer, Timers

T = TypeVar("T")
Steps = Generator[None, None, T]

SETTLE_S = 1.0
ROUNDS_AT_ONCE = 20


class Reading:
    """What every read needs of the broker around it."""

    def __init__(
        self,
        directory: PartitionDirectory,
        tracing: Tracing,
        clock: Clock,
        timers: Timers,
        long_polls: LongPolls,
        max_bytes: int,
        nearest: NearestReplicas | None = None,
    ) -> None:
        self.directory = directory
        self.tracing = tracing
        self.clock = clock
        self.timers = timers
        self.long_polls = long_polls
        self.max_bytes = max_bytes
        """Of one read, however much it asks for."""
        self.nearest = nearest

    def begins(self, client_id: str | None, address: str) -> Client | None:
        """A connection is about to read for the first time. Tracing wants to know when it ends."""
        return self.tracing.begins_to_read(client_id, address)


class Read(Struct, eq=False):
    """One read: what is asked for, and how far it has come."""

    reading: Reading
    wanted: Sequence[Wanted]
    max_bytes: int
    min_bytes: int
    wait_s: float
    """How long the reader is ready to wait for `min_bytes`."""
    committed: bool = False
    only_news: bool = False
    """Leave out partitions of which the reader knows everything."""
    client_id: str | None = None
    address: str = ""
    rack: str = ""
    """Where the reader stands, if it says so."""
    reads_followers: bool = False
    """Whether it may be given what a follower has (KIP-392)."""
    refusal: TopicJudge | None = None
    """Asked whenever the partition is looked at, so that a right that was taken away meanwhile is not used."""
    gives: Callable[[int], bool] | None = None
    """Asked before so many bytes are given: who has read too much is given nothing for now."""

    portions: list[Portion] = []
    found: list[Partition] = []
    """The partitions that exist."""
    size: int = 0
    failed: bool = False
    unordered: list[tuple[Partition, int, int]] = []
    """Prioritised partitions that were read to the log's end: where, and how many bytes are wanted."""
    hollow_size: int = 0
    """Bytes of what was read that are nothing but holes."""
    is_ordering: bool = False
    is_large: bool = False
    """Whether it is done in steps."""
    deferred: Deferred[Any] | None = None
    watched: list[Partition] = []
    timer: Timer | None = None

    def begin(self) -> list[Portion] | Deferred[list[Portion]]:
        """Read, and answer at once if there is enough, an error, or no wish to wait."""
        self.max_bytes = min(self.max_bytes, self.reading.max_bytes)
        for wanted in self.wanted:
            self._look_at(wanted)
        if self.unordered and self._puts_in_order():
            return self._wait_for_order()
        if not self._is_enough():
            return self._wait(self.wait_s, committed=self.committed)
        if not self.size and self._may_miss_own_writes():
            return self._settle()
        return self._sent()

    def begin_in_steps(self) -> Steps[list[Portion] | Deferred[Steps[list[Portion]]]]:
        """The same for many partitions; here a Deferred brings further steps. What becomes readable of a partition that
        was looked at, while others are, counts too."""
        self.max_bytes = min(self.max_bytes, self.reading.max_bytes)
        self.is_large = True
        has_grown = False

        def grow(_: int) -> None:
            nonlocal has_grown
            has_grown = True

        try:
            yield from self._look_in_steps(grow)
        finally:
            for partition in self.found:
                partition.unwatch(grow)
        is_ordered = self._order()
        if is_ordered and not self._is_order_awaited():
            yield from self._look_in_steps()
        if is_ordered and self._is_order_awaited():
            answer = self._wait_for_order()
        elif not self._is_enough():
            answer = self._wait(self.wait_s, committed=self.committed)
        elif not self.size and self._may_miss_own_writes():
            answer = self._settle()
        else:
            return (yield from self._sent_in_steps())
        if has_grown and not answer.settled:
            self._finish()
        return answer

    # -- looking at every partition, within the byte budget

    def _look_again(self) -> None:
        self._forget()
        for wanted in self.wanted:
            self._look_at(wanted)

    def _look_in_steps(self, watcher: Watcher | None = None) -> Steps[None]:
        """`watcher` is told of what becomes readable later."""
        self._forget()
        for wanted in self.wanted:
            count = len(self.found)
            self._look_at(wanted)
            if watcher is not None and len(self.found) > count:
                self.found[-1].watch(watcher, committed=self.committed)
            yield

    def _forget(self) -> None:
        self.size = self.hollow_size = 0
        self.portions, self.found, self.unordered = [], [], []

    def _look_at(self, wanted: Wanted) -> None:
        """Adds no portion if there is nothing to read and nothing new, as of most partitions of a reader at the end of
        its topic."""
        directory = self.reading.directory
        if self.refusal is not None:
            refusal = self.refusal(wanted.topic)
            if refusal is not None:
                self.portions.append(Portion(wanted, aborted=(), error=refusal))
                return
        try:
            topic = directory.topic(wanted.topic)
            if self.reads_followers:
                partition = directory.readable(topic, wanted.index)
            else:
                partition = directory.partition(topic, wanted.index)
        except BrokerError as error:
            self.portions.append(Portion(wanted, aborted=(), error=kept(error)))
            return
        self.found.append(partition)
        if self.only_news and wanted.is_quiet(partition):
            return
        try:
            self.portions.append(self._portion(wanted, topic.name, partition))
        except BrokerError as error:
            self.failed = True
            is_beyond = isinstance(error, OffsetOutOfRange) and wanted.offset > partition.reported_end
            if is_beyond and (partition.is_settling or not partition.replicas.leads):
                # The reader knows of it from the leader, or from the one before.
                error = OffsetNotAvailable(str(error))
            self.portions.append(Portion(wanted, topic.name, partition, error=kept(error)))

    def _portion(self, wanted: Wanted, topic: str, partition: Partition) -> Portion:
        if wanted.leader_epoch not in (NO_EPOCH, partition.leader_epoch):
            partition.check_leader_epoch(wanted.leader_epoch)
        offset = wanted.offset
        max_bytes, at_least_one = min(wanted.max_bytes, self.max_bytes - self.size), self.size == 0
        divergence = None
        if wanted.last_epoch >= 0:
            divergence = _divergence(partition, wanted.last_epoch, offset)
            if divergence is not None:
                self.failed, max_bytes, at_least_one = True, 0, False
        if self.rack and self.reading.nearest is not None and partition.replicas.leads:
            nearest = self.reading.nearest.of(partition, self.rack, offset)
            if nearest >= 0:
                self.failed = True
                ends = partition.high_watermark.offset, partition.last_stable_offset, partition.log.start_offset
                return Portion(wanted, topic, partition, *ends, nearest=nearest)
        if not partition.has_stage:
            read = partition.read(
                offset,
                max(0, max_bytes),
                at_least_one=at_least_one,
                committed=self.committed,
                as_follower=self.reads_followers,
            )
            end, stable = read.high_watermark, read.last_stable_offset
        else:
            read, end, stable = self._read_staged(partition, offset, max(0, max_bytes), at_least_one=at_least_one)
        records = read.log_read
        if records is not None:
            self.size += records.size
            if not records.size:
                records = None
        return Portion(wanted, topic, partition, end, stable, read.start_offset, records, read.aborted, divergence)

    def _read_staged(
        self, partition: Partition, offset: int, max_bytes: int, *, at_least_one: bool
    ) -> tuple[PartitionRead, int, int]:
        """What is read of a partition with a stage, and the ends that readers of all and of committed records are told.
        An offset between the log's end and the promised one is not an error."""
        written, promised = partition.high_watermark.offset, partition.reported_end
        start = written if written < offset <= promised else offset
        read = partition.read(start, max_bytes, at_least_one=at_least_one, committed=self.committed)
        if read.log_read is not None and read.log_read.size:
            read = self._past_holes(partition, offset, read, max_bytes, at_least_one=at_least_one)
        if read.high_watermark <= offset and max_bytes:
            self.unordered.append((partition, offset, max_bytes))
        is_stable = read.last_stable_offset == read.high_watermark
        return read, promised, promised if is_stable else read.last_stable_offset

    def _past_holes(
        self, partition: Partition, offset: int, read: PartitionRead, max_bytes: int, *, at_least_one: bool
    ) -> PartitionRead:
        """The same from the first batch on that gives its reader anything. Where nothing but holes is left, they are
        given, so that the reader's position passes them; but what waits in the lanes behind them comes first."""
        assert read.log_read is not None
        upto = partition.stable_end if self.committed else partition.high_watermark
        filled = partition.past_holes(offset, read.log_read, upto)
        if filled is None:
            self.hollow_size += read.log_read.size
            if max_bytes:
                self.unordered.append((partition, read.high_watermark, max_bytes))
            return read
        if filled == offset:
            return read
        return partition.read(filled, max_bytes, at_least_one=at_least_one, committed=self.committed)

    # -- prioritised partitions

    def _order(self) -> bool:
        """Have the order decided of what can be read next; whether anything is on its way. It becomes readable as
        anything that is appended does."""
        waiting = False
        for partition, offset, wanted in self._still_unordered():
            waiting = partition.linearise(offset, wanted) or waiting
        return waiting

    def _puts_in_order(self) -> bool:
        """Have it decided until there is something to give; whether that takes a while. With `flush.mode=os` it does
        not: then it is read at once, but for very many that have expired, of which the reader gets the rest."""
        for _ in range(ROUNDS_AT_ONCE):
            if not self._order():
                return False
            if self._is_order_awaited():
                return True
            self._look_again()
            if self.size > self.hollow_size:
                return False
        return False

    def _is_order_awaited(self) -> bool:
        """Whether what was put in order cannot be read yet."""
        return any(True for _ in self._still_unordered())

    def _still_unordered(self) -> Iterator[tuple[Partition, int, int]]:
        return (entry for entry in self.unordered if entry[0].high_watermark.offset <= entry[1])

    def _wait_for_order(self) -> Deferred[Any]:
        """Answer once what was ready is readable."""
        self.min_bytes = 1
        return self._wait(max(SETTLE_S, self.wait_s), committed=False)

    # -- waiting

    def _is_enough(self) -> bool:
        return self.size >= self.min_bytes or self.failed or not self.found or self.wait_s <= 0

    def _may_miss_own_writes(self) -> bool:
        """Whether nothing was found although records lie ahead that were acknowledged (acks=1) and not yet synced."""
        return not self.failed and any(partition.has_unsynced for partition in self.found)

    def _settle(self) -> Deferred[Any]:
        """Answer after the next sync: who does not want to wait for records still finds those acknowledged before."""
        self.min_bytes = 1
        return self._wait(SETTLE_S, committed=False)

    def _wait(self, duration_s: float, *, committed: bool) -> Deferred[Any]:
        """Answer when enough bytes have become readable, or when the wait is over."""
        reading = self.reading
        deferred = self.deferred = Deferred()
        deferred.on_abandoned(self._stop_waiting)
        for partition in self.found:
            partition.watch(self._more_readable, committed=committed)
            partition.watch_promises(self._promise_grew)
        self.watched = self.found
        # What was read is read again: until then it would only keep files open.
        self.portions = []
        self.timer = reading.timers.call_at(reading.clock.monotonic() + duration_s, self._finish)
        reading.long_polls.begin(self, self._finish)
        return deferred

    def _promise_grew(self) -> None:
        self._order()

    def _more_readable(self, added_bytes: int) -> None:
        self.size += added_bytes
        if self.unordered and self._goes_on():
            return
        if self.size >= self.min_bytes or added_bytes == 0:
            self._finish()

    def _goes_on(self) -> bool:
        """Whether more is being put in order: of this partition and others, or behind what has expired."""
        if self.is_ordering:
            return True
        self.is_ordering = True
        try:
            if self._order():
                return True
            if self.is_large or self.size < self.min_bytes:
                return False
            self._look_again()
            return 0 < self.size == self.hollow_size and self._puts_in_order()
        finally:
            self.is_ordering = False

    def _finish(self) -> None:
        self._stop_waiting()
        assert self.deferred is not None
        if self.is_large:
            self.deferred.resolve(self._read_again_in_steps())
        else:
            self.deferred.resolve_by(self._read_again)

    def _read_again(self) -> list[Portion]:
        self._look_again()
        return self._sent()

    def _read_again_in_steps(self) -> Steps[list[Portion]]:
        yield from self._look_in_steps()
        return (yield from self._sent_in_steps())

    def _stop_waiting(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.reading.long_polls.end(self)
        for partition in self.watched:
            partition.unwatch(self._more_readable)
            partition.unwatch_promises(self._promise_grew)
        self.watched = []

    # -- answering

    def _sent(self) -> list[Portion]:
        """The portions, which are on their way to the reader."""
        if self.gives is not None and not self.gives(self._given_bytes()):
            return []
        for portion in self.portions:
            if portion.records is not None:
                self._note_sent(portion, portion.records)
        return self.portions

    def _given_bytes(self) -> int:
        return sum(portion.records.size for portion in self.portions if portion.records is not None)

    def _sent_in_steps(self) -> Steps[list[Portion]]:
        if self.gives is not None and not self.gives(self._given_bytes()):
            return []
        for portion in self.portions:
            if portion.records is not None:
                self._note_sent(portion, portion.records)
            yield
        return self.portions

    def _note_sent(self, portion: Portion, records: LogRead) -> None:
        """They are counted, and noted where they are traced."""
        wanted, partition = portion.wanted, portion.partition
        assert partition is not None
        partition.count_sent(wanted.offset, records, committed=self.committed)
        self.reading.tracing.answered(
            portion.topic, wanted.index, wanted.offset, records.regions, self.client_id, self.address
        )


def _divergence(partition: Partition, last_epoch: int, offset: int) -> tuple[int, int] | None:
    """Where the reader's log left ours; None where it did not."""
    epoch, end_offset = partition.log.end_offset_for_epoch(last_epoch)
    if end_offset < 0:
        raise OffsetOutOfRange(f"no records of leader epoch {last_epoch} or before are held")
    return (epoch, end_offset) if epoch < last_epoch or end_offset < offset else None
