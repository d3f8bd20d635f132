"""The one pattern of all coordinators: event-sourced shards over the partitions of an internal topic.

A request becomes an operation on a shard's state machine. The operation checks and decides; it returns records and a
response, and changes nothing. The runtime appends the records and replays them at once, so that the next operation sees
them; it gives the response when they are durable. Because live requests and loading both go through `replay`, a shard
that was loaded after a crash is the shard that was lost.

Rules:
1. Hard state changes nowhere but in `replay`. Loading a shard is replaying its partition from the start.
2. A response is given when everything is durable that the operation wrote or could have seen.
3. If a write fails, the shard is loaded again: what was replayed too early is forgotten.
4. Timers run operations like any request; they die with the load that set them.
5. What is replayed is what was written: a batch that is damaged ends the load, and the shard refuses everything.
6. A shard belongs to one leader epoch of its partition. What an older epoch brings is ignored or refused.
7. A shard learns of a transaction's end from its own log: it does not matter which node has written the marker.
8. Who may have been replaced without knowing it tells nothing by what it remembers: an answer or a refusal then waits
   until a record that changes nothing is in the log, which takes all replicas in sync, of whom one would lead by now.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from attrs import define, evolve, field

from coordinators.state_machine import Completion, M, Machine, Operation, Record, ShardTimers, Verdict
from engine.clock import Clock
from engine.damage import DamagedFile
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeader,
    RequestTimedOut,
    StorageError,
    fresh,
)
from engine.log.replay import replayed_batches
from engine.log.transactions import EndedTransaction, EndWatcher
from engine.log.types import LogPosition, Origin
from engine.partition.partition import Partition
from engine.records.batch import made
from engine.records.layout import (
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    build_batch,
)
from engine.timers import Timers
from engine.workers import Workers

logger = logging.getLogger("tidegate.coordinator")

WRITE_TIMEOUT_S = 30.0
SETTLE_S = 0.05
RETRY_S = 1.0
DAMAGED_RETRY_S = 60.0
"""When to look again at a partition whose files are damaged: somebody may have put sound ones there."""
ANSWERED_AT_ONCE = 200
LOAD_CHUNK_BYTES = 512 * 1024
"""What is replayed in one go, while nothing else runs on the loop."""
NO_EPOCH = -1


P = ParamSpec("P")
R = TypeVar("R")
Chunk = list[tuple[BatchHeader, list[Record]]]


@define(eq=False)
class Shard(Generic[M]):
    """One partition of the internal topic and the state it holds."""

    index: int
    partition: Partition
    leader_epoch: int
    machine: M
    timers: ShardTimers[M]
    watch_end: EndWatcher
    is_loaded: bool = False
    last_written: int = -1
    damage: DamagedFile | None = None
    """Why it cannot be loaded: until that is mended nobody is told anything of its state."""


NewMachine = Callable[[int, int, ShardTimers[Any]], M]
"""Of a shard's number, the leader epoch in which this node has it, and its timers."""


@define(eq=False)
class Runtime(Generic[M]):
    """The shards of one internal topic that this node leads."""

    name: str
    new_machine: NewMachine[M]
    clock: Clock
    timers: Timers
    workers: Workers
    doubts: list[Callable[[], bool]] = field(factory=list, init=False)
    """Each may tell that others may lead by now what this node believes to lead."""
    _shards: dict[int, Shard[M]] = field(factory=dict, init=False)
    _epochs: dict[int, int] = field(factory=dict, init=False)
    """The latest leader epoch that was heard of, by shard."""
    _damages: dict[int, DamagedFile] = field(factory=dict, init=False)
    """Of shards that could not be loaded the last time."""

    # -- leadership

    def load(self, index: int, partition: Partition, leader_epoch: int) -> None:
        """This node leads a partition in this epoch: replay it, then serve. `partition` is opened."""
        if leader_epoch > self._epochs.get(index, NO_EPOCH):
            self._epochs[index] = leader_epoch
            self._load(index, partition, leader_epoch)

    def unload(self, index: int, leader_epoch: int | None = None) -> None:
        """Another node leads the partition in this epoch, or this one has given it up in its own; where it is None the
        partition is gone. Operations on its shard are refused from now on, and whoever waits is told."""
        if leader_epoch is None:
            self._epochs.pop(index, None)
        elif leader_epoch < self._epochs.get(index, NO_EPOCH):
            return
        else:
            self._epochs[index] = leader_epoch
        self._drop(index)

    def _drop(self, index: int) -> None:
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.timers.cancel_all()
            shard.partition.log.unwatch_ends(shard.watch_end)
            shard.machine.unloaded()

    def _load(self, index: int, partition: Partition, leader_epoch: int) -> None:
        self._drop(index)
        timers: ShardTimers[M] = ShardTimers(
            self.timers, self.clock, lambda operation: self._run_timer(index, operation)
        )
        watch_end = partial(self._transaction_ended, index)
        shard = Shard(index, partition, leader_epoch, self.new_machine(index, leader_epoch, timers), timers, watch_end)
        self._shards[index] = shard
        partition.log.watch_ends(watch_end)
        if partition.offline is not None or partition.log.end_offset != partition.high_watermark.offset:
            # What is written and not yet durable may still count: the log has to settle first.
            self._retry_later(shard, SETTLE_S)
        elif partition.high_watermark.offset == partition.log.start_offset:
            self._finish_load(shard)
        else:
            self._read_on(shard, None)

    def _load_again(self, shard: Shard[M]) -> None:
        if self._shards.get(shard.index) is shard:
            self._load(shard.index, shard.partition, shard.leader_epoch)

    def _read_on(self, shard: Shard[M], start: LogPosition | None) -> None:
        """Read the partition in a thread, chunk by chunk, and replay each on the loop."""
        end = shard.partition.log.end
        batches = opened_batches(shard.partition, end, start)

        def done(chunk: Any, error: BaseException | None) -> None:
            if self._shards.get(shard.index) is not shard:
                return
            if error is not None:
                self._load_failed(shard, error)
                return
            try:
                for header, records in chunk:
                    replay_batch(shard.machine, header, records)
            except Exception as refusal:
                # Sound bytes that the state machine cannot take: written by a later version, or a bug.
                logger.exception("%s-%d cannot be replayed", self.name, shard.index)
                self._load_failed(shard, _unreadable(shard.partition, header, refusal))
                return
            if chunk:
                self.workers.submit(partial(_next_chunk, batches), done)
            elif shard.partition.log.end_offset != end.offset:
                # Markers of transactions came meanwhile.
                self._read_on(shard, end)
            else:
                self._finish_load(shard)

        self.workers.submit(partial(_next_chunk, batches), done)

    def _load_failed(self, shard: Shard[M], error: BaseException) -> None:
        logger.error("%s-%d cannot be loaded: %s", self.name, shard.index, error)
        if isinstance(error, DamagedFile):
            shard.damage = self._damages[shard.index] = error
            shard.partition.note_damage(error)
        self._retry_later(shard, RETRY_S if shard.damage is None else DAMAGED_RETRY_S)

    def _retry_later(self, shard: Shard[M], delay_s: float) -> None:
        def retry() -> None:
            if not shard.partition.removed:
                self._load_again(shard)

        self.timers.call_at(self.clock.monotonic() + delay_s, retry)

    def _finish_load(self, shard: Shard[M]) -> None:
        shard.is_loaded = True
        shard.last_written = shard.partition.log.end_offset - 1
        mended = self._damages.pop(shard.index, None)
        if mended is not None:
            shard.partition.note_mended(mended)
        shard.machine.loaded()

    # -- operations

    @property
    def is_doubtful(self) -> bool:
        """Whether somebody tells so."""
        return any(doubt() for doubt in self.doubts)

    def machines(self) -> Iterator[M]:
        """The state of every shard that can be used, to read from."""
        return (shard.machine for shard in self._shards.values() if shard.is_loaded)

    def all_machines(self) -> list[M]:
        """The same; refused while any shard of this node cannot be used."""
        return [self._ready(index).machine for index in self._shards]

    def indexes(self) -> tuple[int, ...]:
        """The shards of this node, whether they can be used or not."""
        return tuple(self._shards)

    def loaded(self) -> Iterator[tuple[int, M]]:
        """The same with their numbers."""
        return ((index, shard.machine) for index, shard in self._shards.items() if shard.is_loaded)

    def machine(self, index: int) -> M:
        """The state of one shard, to read from where nothing has to be durable."""
        return self._ready(index).machine

    def run(
        self,
        index: int,
        operation: Callable[Concatenate[M, P], Verdict[R]],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Deferred[R]:
        """Carry an operation out on a shard's machine; gives its response, or the refusal."""
        return self._run(index, lambda machine: operation(machine, *arguments, **options), is_asked=True)

    def _run(self, index: int, operation: Operation[M, R], *, is_asked: bool) -> Deferred[R]:
        try:
            shard = self._ready(index)
        except BrokerError as error:
            return Deferred.refused(_told(error))
        try:
            verdict = operation(shard.machine)
        except BrokerError as error:
            if not (is_asked and self.is_doubtful):
                return Deferred.refused(_told(error))
            verdict = Verdict(refusal=_told(error))
        if is_asked and not verdict.records and not isinstance(verdict.response, Deferred) and self.is_doubtful:
            verdict = evolve(verdict, records=[shard.machine.nothing()])
        return self._write(shard, verdict)

    def _write(self, shard: Shard[M], verdict: Verdict[R]) -> Deferred[R]:
        answer: Deferred[R] = verdict.response if isinstance(verdict.response, Deferred) else Deferred()
        try:
            if verdict.records:
                self._append(shard, verdict)
        except BrokerError as error:
            refusal = _told(error)
            answer.refuse(refusal)
            if verdict.reload_if_refused:
                self._reload(shard)
            for complete in verdict.completions:
                complete(refusal)
            return answer

        def durable(error: BrokerError | None) -> None:
            if error is not None:
                error = _told(error)
                answer.refuse(error)
                self._reload(shard)
            elif verdict.refusal is not None:
                answer.refuse(verdict.refusal)
            if verdict.completions:
                self._complete(verdict.completions, error)
            if not isinstance(verdict.response, Deferred):
                answer.resolve(verdict.response)

        shard.partition.when_durable_to(shard.last_written, self.clock.monotonic() + WRITE_TIMEOUT_S, durable)
        return answer

    def forget_before(self, index: int, offset: int) -> Deferred[int]:
        """Cut a shard's log off: what lies before the offset is not needed to load it. Gives where the log begins."""
        try:
            return self._ready(index).partition.delete_records(offset)
        except BrokerError as error:
            return Deferred.refused(_told(error))

    def _complete(self, completions: Sequence[Completion], error: BrokerError | None) -> None:
        """Give others their answers; when there are very many, others go on in between."""
        for complete in completions[:ANSWERED_AT_ONCE]:
            complete(error)
        left = completions[ANSWERED_AT_ONCE:]
        if left:
            self.timers.call_at(self.clock.monotonic(), lambda: self._complete(left, error))

    def _transaction_ended(self, index: int, ended: EndedTransaction) -> None:
        """A marker was appended to the shard's partition; one that comes while it is loaded is read with the rest."""
        shard = self._shards[index]
        if not shard.is_loaded:
            return
        shard.last_written = ended.last_offset
        try:
            shard.machine.replay_marker(ended.producer_id, ended.committed)
        except Exception:
            # A bug: the state is half changed, the log is the truth.
            logger.exception("%s-%d cannot take the end of a transaction", self.name, index)
            self._load_again(shard)

    def _run_timer(self, index: int, operation: Operation[M, Any]) -> None:
        def failed(error: BrokerError) -> None:
            logger.warning("a timer of %s-%d failed: %s", self.name, index, error)

        self._run(index, operation, is_asked=False).when_settled(_nothing, failed)

    def _ready(self, index: int) -> Shard[M]:
        shard = self._shards.get(index)
        if shard is None or shard.partition.leader_epoch != shard.leader_epoch:
            raise NotCoordinator(f"this node does not coordinate {self.name}-{index}")
        if shard.damage is not None:
            raise StorageError(str(shard.damage))
        if not shard.is_loaded:
            raise CoordinatorLoadInProgress(f"{self.name}-{index} is being loaded")
        return shard

    def _append(self, shard: Shard[M], verdict: Verdict[Any]) -> None:
        now_ms = self.clock.now_ms()
        producer = verdict.producer
        data = build_batch(
            [(record.key, record.value) for record in verdict.records],
            timestamp_ms=now_ms,
            producer_id=producer.producer_id if producer else NO_PRODUCER_ID,
            producer_epoch=producer.epoch if producer else -1,
            attributes=TRANSACTIONAL_FLAG if producer else 0,
        )
        if shard.partition.replicas.shortage is not None:
            raise fresh(shard.partition.replicas.shortage)
        result = shard.partition.write(made(data, Origin.COORDINATOR))
        shard.last_written = result.last_offset
        try:
            shard.machine.replays_at(result.last_offset - len(verdict.records) + 1)
            for record in verdict.records:
                shard.machine.replay(record, producer.producer_id if producer else NO_PRODUCER_ID)
        except Exception:
            # A bug: the state is half changed, the log is the truth.
            self._reload(shard)
            raise

    def _reload(self, shard: Shard[M]) -> None:
        if self._shards.get(shard.index) is shard:
            logger.warning("%s-%d is loaded again after a failed write", self.name, shard.index)
            self._load_again(shard)


def _told(error: BrokerError) -> BrokerError:
    """A refusal as clients are told it. A log that cannot be written, its disk being full for instance, is for them a
    coordinator that is not there now: they come again, where another error would be the end of their transaction."""
    if isinstance(error, NotLeader):
        return NotCoordinator(str(error))
    passing = NotEnoughReplicas | NotEnoughReplicasAfterAppend | StorageError | RequestTimedOut
    return CoordinatorNotAvailable(str(error)) if isinstance(error, passing) else error


def _nothing(_: object) -> None:
    """Nobody waits for it."""


def replay_batch(machine: Machine, header: BatchHeader, records: Sequence[Record]) -> None:
    """Replay what a batch holds: records, or the end of a transaction."""
    if header.is_control:
        committed = records[0].key[2:4] == b"\x00\x01"
        machine.replay_marker(header.producer_id, committed)
        return
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
    machine.replays_at(header.base_offset)
    for record in records:
        machine.replay(record, producer_id)


def opened_batches(
    partition: Partition, upto: LogPosition, start: LogPosition | None = None
) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """[thread] What the partition holds, from its beginning if `start` is None, each batch vouched for; `DamagedFile`
    where one cannot be."""
    # Imported late: the package brings a whole client along, a tenth of the broker's start.
    from aiokafka.record.default_records import DefaultRecordBatch

    log = partition.log
    segments = log.segments
    if start is None:
        start = LogPosition(log.start_offset, segments[0].base_offset if segments else upto.segment, 0)
    for header, batch, _segment, _position in replayed_batches(segments, start, upto, gaps_allowed=True):
        try:
            # The compiled reader: a coordinator's load is little else than this.
            records = [Record(record.key or b"", record.value) for record in DefaultRecordBatch(batch)]
        except Exception as error:
            raise _unreadable(partition, header, error) from error
        yield header, records


def _next_chunk(batches: Iterator[tuple[BatchHeader, list[Record]]]) -> Chunk:
    """[thread] Some of them; none at the end."""
    chunk: Chunk = []
    size = 0
    for header, records in batches:
        chunk.append((header, records))
        size += header.size
        if size >= LOAD_CHUNK_BYTES:
            break
    return chunk


def _unreadable(partition: Partition, header: BatchHeader, error: Exception) -> DamagedFile:
    return DamagedFile(partition.log.directory, 0, header.base_offset, f"its records cannot be replayed: {error}")
