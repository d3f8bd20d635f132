"""What the tests of the stage share: clients' batches with extension headers, a partition and its stage on a disk in
memory, and one who leads it and says when what was written becomes durable."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from attrs import define, evolve, field

from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.errors import BrokerError, StorageError
from engine.files.memory import MemoryFiles
from engine.log.jobs import Job
from engine.log.log import Log, LogConfig
from engine.log.transactions import EndMarker
from engine.log.types import Origin, Receipt
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.release_life import ReleaseState
from engine.partition.replicas import Replicas
from engine.partition.staging import Staging
from engine.partition.sync import SyncRounds
from engine.records.batch import whole
from engine.records.compression import compress
from engine.records.layout import (
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_record,
    parse_header,
    record_section,
    seal_batch,
    split_batches,
    walk_records,
)
from engine.stage import checkpoint
from engine.stage.config import ExtensionConfig
from engine.stage.events import Intent
from engine.stage.headers import NO_DIRECTIVE, OpenedRecord, open_records, sniff
from engine.stage.opening import load_state, stage_log_config
from engine.stage.pending import PendingRow
from engine.stage.repack import ONE_SHOT_HEADERS, RENAMED_PREFIX
from engine.stage.stage import Stage
from engine.stage.state import StageState
from engine.stage.steady_clock import SteadyClock
from engine.stage.tidying import Tidying, bound_bytes
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.engine.logs import DIRECTORY, NOW_MS, memory_files

STAGE_DIRECTORY = f"{DIRECTORY}/stage"
LOG_CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=200, timestamp_after_max_ms=2**60)
STAGE_SEGMENT_BYTES = 4000
STAGE_FLOOR_BYTES = 500
LEADER, FOLLOWER = 1, 2
RELEASED_BYTES = 160
"""Of one released batch: so small that an intent has several, of which a crash may leave some."""


class Record(NamedTuple):
    """A client's record; the header values of extensions are text."""

    value: bytes
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    key: bytes | None = b"k"
    created_ms: int = NOW_MS


def record(value: str | bytes = b"v", *, key: bytes | None = b"k", created_ms: int = NOW_MS, **asked: object) -> Record:
    """`record("v", delay=5)` asks for `tide-delay: 5`; an underscore stands for a dash."""
    headers = tuple((b"tide-" + name.replace("_", "-").encode(), str(value).encode()) for name, value in asked.items())
    return Record(value.encode() if isinstance(value, str) else value, headers, key, created_ms)


def client_batch(
    records: Sequence[Record],
    *,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    codec: int = 0,
) -> bytes:
    """The batch that a client would send."""
    base_ms = records[0].created_ms
    section = b"".join(
        pack_record(index, one.created_ms - base_ms, one.key, one.value, one.headers)
        for index, one in enumerate(records)
    )
    header = BatchHeader(
        0, 0, -1, MAGIC, 0, codec | (TRANSACTIONAL_FLAG if transactional else 0), len(records) - 1, base_ms,
        max(one.created_ms for one in records), producer_id, epoch, sequence, len(records),
    )  # fmt: skip
    return seal_batch(header, compress(codec, section))


def parse(batch: bytes) -> list[Record]:
    """The records of a batch."""
    header = parse_header(batch)
    return [
        Record(
            bytes(span.value or b""),
            tuple((bytes(name), None if value is None else bytes(value)) for name, value in span.headers),
            None if span.key is None else bytes(span.key),
            header.base_timestamp + span.timestamp_delta,
        )
        for span in walk_records(record_section(header, memoryview(batch)), header.record_count)
    ]


def as_released(one: Record) -> Record:
    """What a consumer gets of a staged record."""
    headers = tuple((RENAMED_PREFIX + name if name in ONE_SHOT_HEADERS else name, value) for name, value in one.headers)
    return one._replace(headers=headers)


def opened(batch: bytes, config: ExtensionConfig, now_ms: int) -> list[OpenedRecord] | None:
    """As the produce path has it: None for a batch that asks for nothing that needs the stage."""
    header = parse_header(batch)
    section = record_section(header, memoryview(batch))
    if not sniff(section):
        return None
    found = open_records(section, header.record_count, config.header_rules, now_ms)
    asks = any(one.directive._replace(ttl_ms=None, expires_at_ms=None) != NO_DIRECTIVE for one in found)
    return found if asks else None


def read_batches(log: Log, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """Every batch of a log from `offset` on."""
    while offset < log.end_offset:
        found = log.read(offset, 1 << 20, log.end, at_least_one=True)
        data = b"".join(region.read() for region in found.regions)
        for header, view in split_batches(data):
            yield header, bytes(view)
            offset = header.next_offset


@define(eq=False)
class Node:
    """One broker's disk, and the logs of one partition on it."""

    clock: ManualClock
    files: MemoryFiles = field(factory=memory_files)
    log: Log = field(init=False)
    store: Log = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Recover both logs from disk."""
        stage_config = stage_log_config(2**60, STAGE_SEGMENT_BYTES)
        self.log = Log.open(DIRECTORY, files=self.files, clock=self.clock, config=LOG_CONFIG, name="log")
        self.store = Log.open(STAGE_DIRECTORY, files=self.files, clock=self.clock, config=stage_config, name="stage")

    def load(self, config: ExtensionConfig) -> StageState:
        """The stage's state from checkpoint and log."""
        now_ms = self.clock.now_ms()
        return load_state(self.store, self.files, config.lane_rules, now_ms, now_ms)


@define(eq=False)
class Leader:
    """Leads the partition on one node: the real one, with its real stage, told step by step when what it has written
    becomes durable."""

    node: Node
    config: ExtensionConfig = field(factory=ExtensionConfig)
    epoch: int = 0
    follower: Node | None = None
    checkpoint_between: bool = False
    """Whether a checkpoint falls between the next intent and its batches."""
    workers: InlineWorkers = field(factory=lambda: InlineWorkers(hold=True))
    timers: Timers = field(factory=Timers)
    rounds: SyncRounds = field(init=False)
    partition: Partition = field(init=False)
    staging: Staging = field(init=False)

    def __attrs_post_init__(self) -> None:
        node = self.node
        self.rounds = SyncRounds(self.workers, lambda: None)
        row = PartitionRecord((LEADER, FOLLOWER), (LEADER,), LEADER, self.epoch)
        self.partition = Partition(b"\1" * 16, 0, node.log, self.rounds, replicas=Replicas(LEADER, row))
        store = DurableLog(b"\1" * 16, 0, node.store, self.rounds, replicas=Replicas(LEADER, row))
        state = node.load(self.config)
        stage = Stage(store, state, SteadyClock(node.clock, state.ahead_ms, state.anchor), self.config)
        self.staging = self.partition.open_stage(stage, self.timers, InlineWorkers(), node.clock, self)
        self.keep_in_sync(self.follower)

    def keep_in_sync(self, follower: Node | None) -> None:
        """This other replica is in the in-sync set from now on; or none is."""
        self.follower = follower
        before = self.partition.replicas.row
        isr = (LEADER,) if follower is None else (LEADER, FOLLOWER)
        self.partition.assume(evolve(before, isr=isr, partition_epoch=before.partition_epoch + 1))
        self._note_follower()

    def _note_follower(self) -> None:
        if self.follower is not None:
            self.partition.replica_durable(FOLLOWER, self.follower.log.durable_end.offset)
            if self.partition.stage_log is not None:
                self.partition.stage_log.replica_durable(FOLLOWER, self.follower.store.durable_end.offset)

    @property
    def stage(self) -> Stage:
        return self.staging.stage

    @property
    def store(self) -> DurableLog:
        return self.staging.store

    @property
    def state(self) -> StageState:
        return self.stage.state

    @property
    def log_end(self) -> int:
        return self.partition.log.end_offset

    @property
    def promised_end(self) -> int:
        """What readers are told."""
        return self.partition.reported_end

    # -- as the keeper of the stage

    def check_room(self, staging: Staging, size: int, record_count: int) -> None:
        """There is room."""

    def make_room(self) -> bool:
        return False

    def load(self, _staging: Staging) -> StageState:
        return self.node.load(self.config)

    def changed(self, staging: Staging) -> None:
        """The tests say when it is looked after."""

    def has_dead_letters(self, staging: Staging) -> None:
        """The tests say when they are sent."""

    # -- durability

    def sync(self) -> None:
        """What is written is synced here."""
        self.rounds.start_round()
        self.workers.run_held()
        for one in self.partition.logs:
            if one.offline is not None:
                raise one.offline
            run_jobs(one.log.maintenance())

    def replicate(self, batches: int | None = None, *, log: bool = True) -> None:
        """The follower fetches so many batches of the stage, and of the log, and syncs them."""
        if self.follower is None:
            return
        copy_batches(self.store.log, self.follower.store, batches)
        if log:
            copy_batches(self.partition.log, self.follower.log, batches)
        self._note_follower()

    def make_durable(self, *, log: bool = True) -> None:
        """Everything is under the high watermark; with `log=False` the stage alone."""
        if log:
            self.sync()
        else:
            self._sync_stage()
        self.replicate(log=log)

    def _sync_stage(self) -> None:
        ticket = self.store.capture_sync()
        try:
            ticket.run()
        except OSError as error:
            self.store.sync_failed(error)
            raise StorageError(str(error)) from error
        if self.checkpoint_between and self.staging.life.state is ReleaseState.INTENDING:
            self.checkpoint_between = False
            if self.follower is not None:
                copy_batches(self.store.log, self.follower.store, None)
            self._write_checkpoint()
        self.store.synced(ticket)

    def go_on(self) -> None:
        """Let what was begun come to its end: the intent is durable, its batches are written."""
        life = self.staging.life
        with self._small_batches():
            while life.state in (ReleaseState.INTENDING, ReleaseState.WRITING):
                self.make_durable(log=False)
        for one in self.partition.logs:
            if one.offline is not None:
                raise one.offline
        if life.reason is not None:
            raise life.reason

    @contextmanager
    def _small_batches(self) -> Iterator[None]:
        log = self.partition.log
        usual, log.config = log.config, evolve(log.config, max_message_bytes=RELEASED_BYTES)
        try:
            yield
        finally:
            log.config = usual

    # -- operations

    def append(self, data: bytes, *, wait: bool = True, is_letter: bool = False) -> Receipt:
        """A client's batch. `wait`: it is durable then."""
        batch = whole(data, Origin.LETTER if is_letter else Origin.CLIENT)
        batch.asked = None if is_letter else opened(data, self.config, self.node.clock.now_ms())
        batch.hold, batch.shows_lanes = batch.asked is not None, self.config.priority_enable != "false"
        receipt = self.partition.append(batch, deadline=math.inf)
        assert isinstance(receipt, Receipt), "nothing is in the way"
        self.go_on()
        if wait:
            told: list[BrokerError | None] = []
            self.partition.when_durable(receipt, math.inf, told.append)
            self.make_durable()
            assert told == [None], "everything is durable"
            self.go_on()
        return receipt

    def end_transaction(self, producer_id: int, committed: bool, epoch: int = 0) -> None:
        """A marker, where it belongs, durable."""
        marker, now_ms = EndMarker(committed, 0), self.node.clock.now_ms()
        told: list[BrokerError | None] = []
        ended = self.partition.end_transaction(producer_id, epoch, marker, now_ms=now_ms, deadline=math.inf)
        ended.when_settled(told.append, told.append)
        self.go_on()
        self.make_durable()
        (refusal,) = told
        if refusal is not None:
            raise refusal
        self.go_on()

    def change(self, operation: Callable[[], object]) -> None:
        """What upkeep or an administrator does with the stage."""
        self.staging.life.take(operation)
        self.go_on()

    def resume(self) -> None:
        """After a restart or failover."""
        self.staging.resume()
        self.go_on()

    def settle(self) -> list[Intent]:
        return self.stage.settle(self.partition.high_watermark.offset)

    def run_timers(self) -> None:
        """What was to be done by now."""
        self.timers.run_due(self.node.clock.monotonic())
        self.go_on()

    def run_due(self) -> bool:
        """Release what is due, for one call; whether that was anything."""
        before = self.store.log.end_offset
        self.staging.submit(self.staging.due.look)
        self.go_on()
        return self.store.log.end_offset > before

    def linearise(self, offset: int, limit_records: int = 500, limit_bytes: int = 1 << 20) -> Intent | None:
        """A Fetch at `offset`, which is at the log's end or beyond; None if one is under way, or it failed."""
        before = self.store.log.end_offset
        assert self.log_end <= offset <= self.promised_end
        self.stage.configure(evolve(self.config, priority_fetch_max_records=limit_records))
        assert self.partition.linearise(offset, limit_bytes)
        intent = self.state.intents[-1] if self.store.log.end_offset > before else None
        self.go_on()
        return intent

    # -- keeping it small

    def checkpoint(self) -> int:
        """Write the state as it is, once it is durable; drop the segments that it does not need."""
        self.make_durable(log=False)
        return self._write_checkpoint()

    def _write_checkpoint(self) -> int:
        log, state = self.store.log, self.state
        offset, pieces = log.end_offset, checkpoint.encode(state)
        live = state.live_segments()
        checkpoint.write(self.node.files, log.directory, offset, pieces)
        dead = []
        for segment, following in zip(log.segments, log.segments[1:], strict=False):
            if following.base_offset > offset or segment.base_offset in live:
                break
            dead.append(segment)
        if dead:
            # The snapshot first: what the stage knows of its producers must not go with the segments.
            run_jobs([*log.maintenance(), log.delete_segments_job(dead)])
        return len(dead)

    def move(self) -> int:
        """Copy what waits in the oldest segment to the end."""
        oldest = self.store.log.segments[0].base_offset
        rows = [row for row in self.state.table.rows() if row.segment == oldest]
        if rows:
            self.change(lambda: self.stage.move(rows))
        return len(rows)

    def tidy(self) -> None:
        """Bring the stage under its bound, if it is above."""
        tidying = Tidying.begin(self.stage, STAGE_FLOOR_BYTES)
        while tidying is not None and not tidying.done:
            self.change(lambda: tidying.move(tidying.next_rows()))
        self.checkpoint()
        if not any(row.segment < self.store.log.segments[-1].base_offset for row in self.state.intended.values()):
            assert self.store.log.size_bytes <= bound_bytes(self.stage, STAGE_FLOOR_BYTES)

    # -- reading

    def row(self, number: int) -> PendingRow:
        found = self.state.table.get(number)
        assert found is not None
        return found

    def records(self) -> list[Record]:
        """All that the log holds, holes and markers left out."""
        return [
            one
            for header, batch in read_batches(self.partition.log, self.partition.log.start_offset)
            if not header.is_control
            for one in parse(batch)
        ]

    def values(self) -> list[str]:
        return [one.value.decode() for one in self.records()]


def run_jobs(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.run()
        job.finish()
        if job.error is not None:
            raise StorageError(str(job.error))


def copy_batches(source: Log, target: Log, count: int | None) -> None:
    """What a follower's fetch does: the leader's batches as they are."""
    # The leader's log may start in the middle of a batch.
    for header, batch in read_batches(source, max(target.end_offset, source.start_offset)):
        if count is not None and count <= 0:
            break
        target.append(batch, header.leader_epoch, origin=Origin.REPLICA)
        count = None if count is None else count - 1
    ticket = target.capture_sync()
    ticket.run()
    target.synced(ticket)


def follow_from(follower: Node, leader: Node, common: tuple[int, int]) -> None:
    """Drop what lies beyond the common ends of stage and log, and copy all that the leader has."""
    for own, theirs, end in ((follower.store, leader.store, common[0]), (follower.log, leader.log, common[1])):
        own.truncate_to(min(end, theirs.end_offset))
        if own.end_offset < theirs.start_offset:
            first = next((header.base_offset for header, _ in read_batches(theirs, theirs.start_offset)), None)
            own.truncate_fully_and_start_at(theirs.start_offset if first is None else first)
        copy_batches(theirs, own, None)


def reopened(leader: Leader) -> Leader:
    """The same disk after a restart."""
    node = Node(leader.node.clock, leader.node.files)
    after = Leader(node, leader.config, leader.epoch + 1)
    after.resume()
    return after


def dump(state: StageState) -> Mapping[str, object]:
    """Everything that a state holds, to be compared; wheels by what they will still give."""
    lanes = state.lanes
    numbers = {row.number for row in state.table.rows()}
    return {
        "rows": list(state.table.rows()),
        "ids": sorted((row.id_hash, state.table.by_id(row.id_hash)) for row in state.table.rows() if row.id_hash),
        "lanes": b"".join(lanes.encode()),
        "intents": [(intent.first_offset, intent.pieces) for intent in state.intents],
        "transactions": {
            key: (one.numbers, one.holds) for key, one in state.transactions.items() if one != type(one)()
        },
        "held_by": {number: holders for number, holders in state.held_by.items() if holders},
        "dead_letters": list(state.dead_letters),
        "prioritised": state.prioritised,
        "ahead_ms": state.ahead_ms,
        "anchor": state.anchor,
        "pending": numbers,
    }
