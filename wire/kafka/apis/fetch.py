"""Fetch (1), versions 4-18: record batches from an offset on, waiting for them if there are too few.

Sessions from version 7 (KIP-227), topic ids from 13 (KIP-516). The answer names regions of segment files that
are sent without being read. At least one batch is returned even if it is larger than the limits (KIP-74), and
an answer may end inside a batch. An incremental fetch with nothing new waits like any other. Under read_committed
the answer ends at the last stable offset and names the aborted transactions in it (KIP-98). Fetching as a replica is
refused: there is no cluster whose member the client could be.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from attrs import define, field

from engine.errors import BrokerError, NotLeader, OffsetOutOfRange
from engine.files.files import FileRegion
from engine.log.types import LogRead
from engine.partition.partition import Partition, PartitionRead, Watcher
from engine.timers import Timer
from wire.kafka.errors import error_code
from wire.kafka.fetch_sessions import NO_SESSION, FetchedPartition, FetchSession
from wire.kafka.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.steps import Steps

KEY = 1
VERSIONS = (4, 18)

FIRST_SESSION_VERSION = 7
FIRST_TOPIC_ID_VERSION = 13
READ_COMMITTED = 1
SETTLE_S = 1.0
ROUNDS_AT_ONCE = 20
FEW_PARTITIONS = 200
"""So many are read at once; more, in steps."""


def handle(request: FetchRequest, context: Context) -> FetchResponse | Deferred | Steps[FetchResponse | Deferred]:
    """Answer at once if there is enough, an error, or no wish to wait; else when there is enough or it is time."""
    by_topic_id = context.version >= FIRST_TOPIC_ID_VERSION
    sessions = context.node.fetch_sessions
    try:
        session, partitions, incremental = sessions.begin(request, by_topic_id=by_topic_id)
    except BrokerError as error:
        return FetchResponse(error_code=error_code(error), session_id=NO_SESSION)
    peer = context.peer
    if peer.reader is None:
        peer.reader = context.node.tracing.begins_to_read(context.client_id, peer.address)
    fetch = Fetch(request, context, session, partitions, incremental)
    if len(partitions) > FEW_PARTITIONS:
        return _fetch_many(fetch)
    fetch.read()
    if fetch.puts_in_order():
        return fetch.wait_for_order()
    if fetch.is_enough():
        return fetch.settle() if fetch.may_miss_own_writes() else fetch.response()
    return fetch.wait(fetch.max_wait_s, committed=fetch.committed)


def _fetch_many(fetch: "Fetch") -> Steps[FetchResponse | Deferred]:
    """The same in steps. What becomes readable of a partition that has been read, while others are, counts too."""
    fetch.is_large = True
    has_grown = False

    def grow(_: int) -> None:
        nonlocal has_grown
        has_grown = True

    try:
        yield from fetch.read_in_steps(grow)
    finally:
        for partition in fetch.found:
            partition.unwatch(grow)
    is_ordered = fetch.order()
    if is_ordered and not fetch.is_order_awaited():
        yield from fetch.read_in_steps()
    if is_ordered and fetch.is_order_awaited():
        answer = fetch.wait_for_order()
    elif not fetch.is_enough():
        answer = fetch.wait(fetch.max_wait_s, committed=fetch.committed)
    elif fetch.may_miss_own_writes():
        answer = fetch.settle()
    else:
        return (yield from fetch.respond_in_steps())
    if has_grown:
        fetch.look_again()
    return answer


@define(eq=False)
class Fetch:
    """One fetch under way."""

    request: FetchRequest
    context: Context
    session: FetchSession | None
    partitions: list[FetchedPartition]
    incremental: bool
    deferred: Deferred = field(factory=Deferred)
    needed_bytes: int = field(init=False)
    committed: bool = field(init=False)
    size: int = 0
    found: list[Partition] = field(factory=list)
    """The partitions that exist."""
    failed: bool = False
    answers: list[tuple[FetchedPartition, PartitionData]] = field(factory=list)
    sent: list[tuple[Partition, int, LogRead]] = field(factory=list)
    watched: list[Partition] = field(factory=list)
    unordered: list[tuple[Partition, int, int]] = field(factory=list)
    """Prioritised partitions that were read to the log's end: where, and how many bytes are wanted."""
    hollow_size: int = 0
    """Bytes of what was read that are nothing but holes."""
    is_ordering: bool = False
    timer: Timer | None = None
    is_large: bool = False
    """Whether it is read in steps."""

    def __attrs_post_init__(self) -> None:
        self.needed_bytes = self.request.min_bytes
        self.committed = self.request.isolation_level == READ_COMMITTED

    @property
    def max_wait_s(self) -> float:
        """How long the client is ready to wait."""
        return self.request.max_wait_ms / 1000

    # -- reading

    def read(self) -> None:
        """Read every partition within the byte budget."""
        budget = self._begin()
        for fetched in self.partitions:
            data = self._read_one(fetched, budget - self.size)
            if data is not None:
                self.answers.append((fetched, data))

    def read_in_steps(self, watcher: Watcher | None = None) -> Steps[None]:
        """The same for many partitions; `watcher` is told of what becomes readable later."""
        budget, found = self._begin(), 0
        for fetched in self.partitions:
            data = self._read_one(fetched, budget - self.size)
            if data is not None:
                self.answers.append((fetched, data))
            if watcher is not None and len(self.found) > found:
                found += 1
                self.found[-1].watch(watcher, committed=self.committed)
            yield

    def _begin(self) -> int:
        self.size = self.hollow_size = 0
        self.answers = []
        self.sent = []
        self.found = []
        self.unordered = []
        return min(self.request.max_bytes, self.context.node.limits.max_fetch_bytes)

    def _read_one(self, fetched: FetchedPartition, budget: int) -> PartitionData | None:
        """None if there is nothing to read or to say, as of most partitions of a consumer at the end of its topic."""
        try:
            partition = self._partition(fetched)
        except BrokerError as error:
            # As in Kafka, a partition that does not exist does not cut short the wait for the others.
            return _refusal(fetched, error, aborted_transactions=[])
        self.found.append(partition)
        if self.incremental and fetched.is_quiet(partition):
            return None
        try:
            return self._data(fetched, partition, budget)
        except BrokerError as error:
            self.failed = True
            return _refusal(fetched, error, aborted_transactions=None)

    def _partition(self, fetched: FetchedPartition) -> Partition:
        node = self.context.node
        by_id = self.context.version >= FIRST_TOPIC_ID_VERSION
        topic = node.topic(fetched.topic, fetched.topic_id, by_id=by_id)
        return node.partition(topic, fetched.request.partition)

    def _data(self, fetched: FetchedPartition, partition: Partition, budget: int) -> PartitionData:
        wanted = fetched.request
        if self._replica_id() >= 0:
            raise NotLeader("this node has no replicas to serve")
        partition.check_leader_epoch(wanted.current_leader_epoch)
        data = PartitionData(
            partition_index=wanted.partition,
            aborted_transactions=None,
            records=b"",
        )
        data.diverging_epoch = _divergence(partition, wanted.last_fetched_epoch, wanted.fetch_offset)
        max_bytes = 0 if data.diverging_epoch else max(0, min(wanted.partition_max_bytes, budget))
        at_least_one = self.size == 0 and not data.diverging_epoch
        offset = wanted.fetch_offset
        promised = partition.reported_end
        beyond = partition.high_watermark.offset < offset <= promised
        read = partition.read(
            partition.high_watermark.offset if beyond else offset,
            max_bytes,
            at_least_one=at_least_one,
            committed=self.committed,
        )
        if partition.staged is not None and read.log_read is not None and read.log_read.size:
            read = self._past_holes(partition, offset, read, max_bytes, at_least_one=at_least_one)
        data.high_watermark = promised
        data.last_stable_offset = (
            promised if read.last_stable_offset == read.high_watermark else read.last_stable_offset
        )
        if read.high_watermark <= offset and max_bytes and partition.staged is not None:
            self.unordered.append((partition, offset, max_bytes))
        data.log_start_offset = read.start_offset
        if read.aborted is not None:
            data.aborted_transactions = [AbortedTransaction(one.producer_id, one.first_offset) for one in read.aborted]
        if read.log_read is not None and read.log_read.size:
            data.records = read.log_read.regions
            self.size += read.log_read.size
            self.sent.append((partition, wanted.fetch_offset, read.log_read))
        if data.diverging_epoch:
            self.failed = True
        return data

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

    def _replica_id(self) -> int:
        state = self.request.replica_state
        return self.request.replica_id if state is None else state.replica_id

    # -- prioritised partitions

    def order(self) -> bool:
        """Have the order fixed of what can be read next; whether anything is on its way. It becomes readable as
        anything that is appended does."""
        waiting = False
        for partition, offset, wanted in self._still_unordered():
            waiting = partition.staged.linearise(offset, wanted) or waiting
        return waiting

    def puts_in_order(self) -> bool:
        """Have it fixed until there is something to give; whether that takes a while. With `flush.mode=os` it does not:
        then it is read at once, but for very many that have expired, of which the reader gets the rest."""
        for _ in range(ROUNDS_AT_ONCE):
            if not self.order():
                return False
            if self.is_order_awaited():
                return True
            self.read()
            if self.size > self.hollow_size:
                return False
        return False

    def is_order_awaited(self) -> bool:
        """Whether what was put in order cannot be read yet."""
        return any(True for _ in self._still_unordered())

    def _still_unordered(self) -> Iterator[tuple[Partition, int, int]]:
        return (entry for entry in self.unordered if entry[0].high_watermark.offset <= entry[1])

    def wait_for_order(self) -> Deferred:
        """Answer once what was ready is readable."""
        self.needed_bytes = 1
        return self.wait(max(SETTLE_S, self.request.max_wait_ms / 1000), committed=False)

    def _promise_grew(self) -> None:
        self.order()

    # -- waiting

    def is_enough(self) -> bool:
        """Whether the answer goes out now."""
        has_time = self.request.max_wait_ms > 0
        return self.failed or self.size >= self.needed_bytes or not self.found or not has_time

    def may_miss_own_writes(self) -> bool:
        """Whether nothing was found although records lie ahead that were acknowledged (acks=1) and not yet synced."""
        if self.size or self.failed:
            return False
        return any(partition.has_unsynced for partition in self.found)

    def settle(self) -> Deferred:
        """Answer after the next sync: who does not want to wait for records still finds those acknowledged before."""
        self.needed_bytes = 1
        return self.wait(SETTLE_S, committed=False)

    def wait(self, duration_s: float, *, committed: bool) -> Deferred:
        """Answer when enough bytes became readable, or when the wait is over."""
        node = self.context.node
        self.deferred.on_abandoned = self._stop_waiting
        for partition in self.found:
            partition.watch(self._more_readable, committed=committed)
            if partition.staged is not None:
                partition.staged.watch(self._promise_grew)
        self.watched = self.found
        # What was read is read again: until then it would only keep files open.
        self.answers, self.sent = [], []
        deadline = node.clock.monotonic() + duration_s
        self.timer = node.timers.call_at(deadline, self._finish)
        node.long_polls.begin(self, self._finish)
        return self.deferred

    def _more_readable(self, added_bytes: int) -> None:
        self.size += added_bytes
        if self.unordered and self._goes_on():
            return
        if self.size >= self.needed_bytes or added_bytes == 0:
            self._finish()

    def _goes_on(self) -> bool:
        """Whether more is being put in order: of this partition and others, or behind what has expired."""
        if self.is_ordering:
            return True
        self.is_ordering = True
        try:
            if self.order():
                return True
            if self.is_large or self.size < self.needed_bytes:
                return False
            self.read()
            return 0 < self.size == self.hollow_size and self.puts_in_order()
        finally:
            self.is_ordering = False

    def look_again(self) -> None:
        """There may be enough by now."""
        if not self.deferred.resolved:
            self._finish()

    def _finish(self) -> None:
        self._stop_waiting()
        if self.is_large:
            self.deferred.resolve(self._read_again_in_steps())
        else:
            self.deferred.resolve_by(self._read_again)

    def _read_again_in_steps(self) -> Steps[FetchResponse]:
        yield from self.read_in_steps()
        return (yield from self.respond_in_steps())

    def _read_again(self) -> FetchResponse:
        self.read()
        return self.response()

    def _stop_waiting(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.context.node.long_polls.end(self)
        for partition in self.watched:
            partition.unwatch(self._more_readable)
            if partition.staged is not None:
                partition.staged.unwatch(self._promise_grew)
        self.watched = []

    # -- answering

    def response(self) -> FetchResponse:
        """What was read; in an incremental session only what the client does not know."""
        response = self._begin_response()
        for fetched, data in self.answers:
            self._add(response, fetched, data)
        return response

    def respond_in_steps(self) -> Steps[FetchResponse]:
        """The same for many partitions."""
        response = self._begin_response()
        for fetched, data in self.answers:
            self._add(response, fetched, data)
            yield
        return response

    def _begin_response(self) -> FetchResponse:
        for partition, offset, log_read in self.sent:
            partition.count_sent(offset, log_read, committed=self.committed)
        return FetchResponse(session_id=self.session.session_id if self.session else NO_SESSION)

    def _add(self, response: FetchResponse, fetched: FetchedPartition, data: PartitionData) -> None:
        session, topics = self.session, response.responses
        if session is not None:
            must_answer = fetched.must_answer(data)
            if self.incremental and not must_answer:
                return
            if data.records and fetched.key in session.partitions:
                session.move_to_end(fetched)
        if not topics or topics[-1].topic_id != fetched.topic_id or topics[-1].topic != fetched.topic:
            topics.append(FetchableTopicResponse(topic_id=fetched.topic_id, topic=fetched.topic))
        topics[-1].partitions.append(data)
        if data.records:
            self._trace(fetched, data)

    def _trace(self, fetched: FetchedPartition, data: PartitionData) -> None:
        node, wanted = self.context.node, fetched.request
        topic = fetched.topic or node.topics.by_id[fetched.topic_id].name
        client_id, address = self.context.client_id, self.context.peer.address
        regions = cast("Sequence[FileRegion]", data.records)
        node.tracing.answered(topic, wanted.partition, wanted.fetch_offset, regions, client_id, address)


def _refusal(
    fetched: FetchedPartition, error: BrokerError, aborted_transactions: list[AbortedTransaction] | None
) -> PartitionData:
    return PartitionData(
        partition_index=fetched.request.partition,
        error_code=error_code(error),
        high_watermark=-1,
        aborted_transactions=aborted_transactions,
        records=b"",
    )


def _divergence(partition: Partition, last_fetched_epoch: int, fetch_offset: int) -> EpochEndOffset | None:
    """Where the fetcher's log left ours (KIP-595); None where it did not or did not say."""
    if last_fetched_epoch < 0:
        return None
    epoch, end_offset = partition.log.end_offset_for_epoch(last_fetched_epoch)
    if end_offset < 0:
        raise OffsetOutOfRange(f"no records of leader epoch {last_fetched_epoch} or before are held")
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return None
