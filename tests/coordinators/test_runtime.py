"""The coordinators' pattern: records decide, answers wait for the disk, loading is replaying."""

import errno
from typing import Any

import pytest
from attrs import define, field

from coordinators.runtime import ANSWERED_AT_ONCE, Runtime
from coordinators.state_machine import Effects, Producer, Record, ShardTimers, Verdict
from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.damage import DamagedFile
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    InvalidRequest,
    NotCoordinator,
    StorageError,
)
from engine.files.memory import MemoryFiles
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from engine.partition.durable_log import DurableLog, Unattended
from engine.partition.partition import Partition
from engine.partition.replicas import THIS_NODE
from engine.partition.sync import SyncRounds
from engine.records.layout import build_batch
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.engine.logs import memory_files, open_log


class Counters:
    """A machine that counts by name; a record under a transaction counts once it is committed."""

    def __init__(self, timers: ShardTimers[Any]) -> None:
        self.timers = timers
        self.counts: dict[bytes, int] = {}
        self.pending: dict[int, list[bytes]] = {}
        self.is_loaded = False
        self.offsets: list[int] = []

    def replays_at(self, base_offset: int) -> None:
        self.offsets.append(base_offset)

    def replay(self, record: Record, producer_id: int) -> None:
        if producer_id != -1:
            self.pending.setdefault(producer_id, []).append(record.key)
        else:
            self.counts[record.key] = int(record.value or b"0")

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        for key in self.pending.pop(producer_id, []) if committed else []:
            self.counts[key] = self.counts.get(key, 0) + 1

    def nothing(self) -> Record:
        return Record(b"nothing", None)

    def loaded(self) -> None:
        self.is_loaded = True

    def unloaded(self) -> None:
        self.is_loaded = False


def increment(name: bytes) -> Any:
    def operation(machine: Counters) -> Verdict:
        value = machine.counts.get(name, 0) + 1
        return Verdict([Record(name, b"%d" % value)], value)

    return operation


def look(name: bytes) -> Any:
    return lambda machine: Verdict(response=machine.counts.get(name, 0))


def refuse(_: Counters) -> Verdict[None]:
    raise GroupIdNotFound("nobody knows it")


@define(slots=False)
class Bench:
    """One shard on a disk in memory; syncs, loads and time move when told."""

    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=ManualClock)
    timers: Timers = field(factory=Timers)
    disk: InlineWorkers = field(factory=lambda: InlineWorkers(hold=True))
    readers: InlineWorkers = field(factory=InlineWorkers)
    runtime: Runtime[Counters] = field(init=False)
    partition: Partition = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rounds = SyncRounds(self.disk, lambda: None)
        self.runtime = Runtime(
            "counters", lambda _index, _leader_epoch, timers: Counters(timers), self.clock, self.timers, self.readers
        )
        self.open()

    def open(self) -> None:
        self.partition = Partition(b"\1" * 16, 0, open_log(self.files), self.rounds)
        self.reload()

    def reload(self) -> None:
        self.runtime.unload(0)
        self.runtime.load(0, self.partition, self.partition.leader_epoch)

    def end(self, producer_id: int, *, committed: bool) -> None:
        marker = build_marker(producer_id, 0, EndMarker(committed, 0), 0)
        self.partition.write(marker, origin=Origin.COORDINATOR)

    def run(self, operation: Any) -> list[Any]:
        heard: list[Any] = []
        self.runtime.run(0, operation).when_settled(heard.append, heard.append)
        return heard

    def sync(self) -> None:
        self.rounds.start_round()
        self.disk.run_held()

    def pass_time(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.timers.run_due(self.clock.monotonic())


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_next_operation_sees_what_is_not_durable_yet_and_both_answers_wait(bench: Bench) -> None:
    first, second = bench.run(increment(b"a")), bench.run(increment(b"a"))
    assert (first, second) == ([], [])
    bench.sync()
    assert (first, second) == ([1], [2])


def test_a_read_that_saw_unsynced_records_waits_for_them(bench: Bench) -> None:
    bench.run(increment(b"a"))
    seen = bench.run(look(b"a"))
    assert seen == []
    bench.sync()
    assert seen == [1]
    assert bench.run(look(b"a")) == [1], "nothing is left to wait for"


def test_loading_replays_what_was_written(bench: Bench) -> None:
    for name in (b"a", b"b", b"a"):
        bench.run(increment(name))
    bench.sync()
    bench.open()
    machine = bench.runtime.machine(0)
    assert machine.counts == {b"a": 2, b"b": 1}
    assert machine.is_loaded


def test_a_shard_is_told_where_its_records_lie(bench: Bench) -> None:
    bench.run(lambda _: Verdict([Record(b"a", b"1"), Record(b"b", b"2")]))
    bench.run(increment(b"a"))
    bench.sync()
    assert bench.runtime.machine(0).offsets == [0, 2]
    bench.open()
    assert bench.runtime.machine(0).offsets == [0, 2]


def test_a_log_is_cut_off_before_what_its_shard_needs(bench: Bench) -> None:
    for name in (b"a", b"b", b"a"):
        bench.run(increment(name))
    bench.sync()
    heard: list[Any] = []
    bench.runtime.forget_before(0, 2).when_settled(heard.append, heard.append)
    bench.sync()
    assert heard == [2]
    bench.open()
    assert bench.runtime.machine(0).counts == {b"a": 2}
    bench.runtime.unload(0)
    refused = bench.runtime.forget_before(0, 3).refusal
    assert isinstance(refused, NotCoordinator)


def test_while_it_loads_the_client_is_told_to_come_back(bench: Bench) -> None:
    bench.run(increment(b"a"))
    bench.sync()
    bench.readers.hold = True
    bench.open()
    (refusal,) = bench.run(look(b"a"))
    assert isinstance(refusal, CoordinatorLoadInProgress)
    bench.readers.run_held()
    assert bench.run(look(b"a")) == [1]


def test_a_shard_that_is_not_here_is_somebody_elses(bench: Bench) -> None:
    heard: list[Any] = []
    bench.runtime.run(7, look(b"a")).when_settled(heard.append, heard.append)
    assert isinstance(heard[0], NotCoordinator)


def test_a_refused_operation_writes_nothing(bench: Bench) -> None:
    def refuse(_: Counters) -> Verdict:
        raise InvalidRequest("no")

    (refusal,) = bench.run(refuse)
    assert isinstance(refusal, InvalidRequest)
    assert bench.partition.log.end_offset == 0


def test_after_a_failed_sync_the_state_is_what_the_log_turns_out_to_hold(bench: Bench) -> None:
    bench.run(increment(b"a"))
    bench.sync()
    lost = bench.run(increment(b"a"))
    bench.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    bench.sync()
    assert isinstance(lost[0], BrokerError)
    assert isinstance(bench.run(look(b"a"))[0], CoordinatorLoadInProgress), "the log has not settled"
    bench.partition.log.reverify()
    bench.partition.bring_online()
    bench.pass_time(100)
    assert bench.run(look(b"a")) == [2], "the tail was verified and counts"


def test_a_write_that_is_refused_changes_nothing_and_may_be_asked_for_again(bench: Bench) -> None:
    """librdkafka ends a transaction for good when adding partitions to it meets an error of storage."""
    bench.run(increment(b"a"))
    bench.sync()
    bench.files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    (refusal,) = bench.run(increment(b"a"))
    assert isinstance(refusal, CoordinatorNotAvailable)
    assert bench.run(look(b"a")) == [1]


def test_answers_of_others_are_given_with_the_records_that_settle_them(bench: Bench) -> None:
    waiting, refused, heard = Deferred[str](), Deferred[str](), list[object]()
    for each in (waiting, refused):
        each.when_settled(heard.append, lambda error: heard.append(type(error)))
    effects = Effects([Record(b"a", b"1")])
    effects.answer(waiting, "other")
    effects.answer(None, "nobody hears it")
    effects.refuse(refused, StorageError("no"))
    own = bench.run(lambda _: effects.verdict("own"))
    assert (own, heard) == ([], [])
    bench.sync()
    assert (own, heard) == (["own"], ["other", StorageError])


def test_an_answer_may_wait_for_more_than_the_disk(bench: Bench) -> None:
    event = Deferred()
    heard = bench.run(lambda _: Verdict([Record(b"a", b"1")], event))
    bench.sync()
    assert heard == []
    event.resolve("now")
    assert heard == ["now"]


def test_a_timer_is_an_operation_and_dies_with_its_load(bench: Bench) -> None:
    bench.runtime.machine(0).timers.set("tick", 1000, increment(b"a"))
    bench.pass_time(1000)
    bench.sync()
    assert bench.run(look(b"a")) == [1]
    bench.runtime.machine(0).timers.set("tick", 1000, increment(b"a"))
    bench.open()
    bench.pass_time(2000)
    assert bench.run(look(b"a")) == [1]


@pytest.mark.parametrize(("committed", "expected"), [(True, 1), (False, 0)])
def test_records_of_a_transaction_count_when_it_ends(bench: Bench, committed: bool, expected: int) -> None:
    bench.run(lambda _: Verdict([Record(b"a", b"")], producer=Producer(9, 0)))
    bench.sync()
    assert bench.run(look(b"a")) == [0]
    bench.end(9, committed=committed)
    seen = bench.run(look(b"a"))
    assert seen == [], "the marker is not durable yet"
    bench.sync()
    assert seen == [expected]


def _written(bench: Bench) -> dict[bytes, int]:
    """A log of plain records and of a transaction that was committed."""
    for name in (b"alpha", b"beta", b"alpha"):
        bench.run(increment(name))
    bench.run(lambda _: Verdict([Record(b"gamma", b"1")], producer=Producer(9, 0)))
    bench.end(9, committed=True)
    bench.sync()
    return dict(bench.runtime.machine(0).counts)


def test_a_bit_that_turned_over_in_its_log_is_refused_or_does_no_harm(bench: Bench) -> None:
    expected = _written(bench)
    (segment,) = bench.partition.log.segments
    refused = 0
    for position in range(segment.size):
        bench.files.flip_bit(segment.path, position, position % 8)
        bench.reload()
        (answer,) = bench.run(look(b"alpha"))
        if isinstance(answer, CoordinatorNotAvailable):
            assert segment.path in str(answer)
            refused += 1
        else:
            assert bench.runtime.machine(0).counts == expected
        bench.files.flip_bit(segment.path, position, position % 8)
    assert refused > segment.size * 0.8
    bench.reload()
    assert bench.runtime.machine(0).counts == expected


def test_damage_is_reported_with_its_place_and_looked_at_again(bench: Bench) -> None:
    expected = _written(bench)
    (segment,) = bench.partition.log.segments
    found: list[DamagedFile] = []

    class Keeper(Unattended):
        def damage_found(self, _log: DurableLog, damage: DamagedFile) -> None:
            found.append(damage)

    bench.partition = Partition(b"\1" * 16, 0, bench.partition.log, bench.rounds, keeper=Keeper())
    bench.files.flip_bit(segment.path, 70)
    bench.reload()
    assert [(damage.path, damage.position, damage.offset) for damage in found] == [(segment.path, 0, 0)]
    bench.files.flip_bit(segment.path, 70)
    bench.pass_time(59_000)
    assert isinstance(bench.run(look(b"alpha"))[0], CoordinatorNotAvailable)
    bench.pass_time(2_000)
    assert bench.runtime.machine(0).counts == expected


def test_what_a_machine_cannot_replay_is_refused(bench: Bench) -> None:
    bench.run(increment(b"a"))
    batch = build_batch([(b"b", b"not a number")], timestamp_ms=0)
    bench.partition.write(batch, origin=Origin.COORDINATOR)
    bench.sync()
    bench.reload()
    (refusal,) = bench.run(look(b"a"))
    assert isinstance(refusal, CoordinatorNotAvailable)
    assert "offset 1" in str(refusal)


def test_a_marker_that_comes_while_it_loads_is_replayed(bench: Bench) -> None:
    bench.run(lambda _: Verdict([Record(b"a", b"1")], producer=Producer(9, 0)))
    bench.sync()
    bench.readers.hold = True
    bench.reload()
    bench.end(9, committed=True)
    bench.readers.run_held()
    bench.readers.hold = False
    bench.readers.run_held()
    seen = bench.run(look(b"a"))
    assert seen == [], "the marker is not durable yet"
    bench.sync()
    assert seen == [1]


def led_by(node: int, epoch: int) -> PartitionRecord:
    return PartitionRecord((THIS_NODE, 2), (THIS_NODE,), node, epoch)


def test_a_shard_is_led_in_one_epoch_and_older_news_of_it_do_nothing(bench: Bench) -> None:
    bench.run(increment(b"a"))
    bench.sync()
    partition, runtime = bench.partition, bench.runtime
    partition.assume(led_by(2, 5))
    assert isinstance(bench.run(increment(b"a"))[0], NotCoordinator), "written in an older epoch"
    runtime.unload(0, 5)
    runtime.load(0, partition, 4)
    assert runtime.indexes() == ()
    partition.assume(led_by(THIS_NODE, 6))
    runtime.load(0, partition, 6)
    runtime.unload(0, 5)
    machine = runtime.machine(0)
    runtime.load(0, partition, 6)
    assert runtime.machine(0) is machine, "there is nothing new to load"
    assert bench.run(look(b"a")) == [1]


def test_a_write_under_way_is_refused_when_the_leader_changes(bench: Bench) -> None:
    written = bench.run(increment(b"a"))
    bench.partition.assume(led_by(2, 1))
    bench.runtime.unload(0, 1)
    assert [type(each) for each in written] == [NotCoordinator]
    bench.sync()
    assert isinstance(bench.run(look(b"a"))[0], NotCoordinator)


def test_a_shard_that_is_given_up_in_its_own_epoch_ends_and_comes_back_in_another_only(bench: Bench) -> None:
    """A node whose session has ended gives up what it leads, before anybody has been elected."""
    partition, runtime = bench.partition, bench.runtime
    partition.assume(led_by(THIS_NODE, 6))
    runtime.load(0, partition, 6)
    machine = runtime.machine(0)
    runtime.unload(0, 6)
    assert (machine.is_loaded, runtime.indexes()) == (False, ()), "whoever waits for it is told so"
    runtime.load(0, partition, 6)
    assert runtime.indexes() == ()
    partition.assume(led_by(THIS_NODE, 7))
    runtime.load(0, partition, 7)
    assert runtime.indexes() == (0,)


def test_in_doubt_what_is_remembered_is_told_once_all_replicas_confirm_it(bench: Bench) -> None:
    bench.run(increment(b"a"))
    bench.sync()
    bench.runtime.doubts.append(lambda: True)
    found, refused = bench.run(look(b"a")), bench.run(refuse)
    assert (found, refused) == ([], [])
    bench.sync()
    assert found == [1]
    assert [type(each) for each in refused] == [GroupIdNotFound]


def test_in_doubt_nothing_old_is_told_by_who_was_replaced(bench: Bench) -> None:
    bench.run(increment(b"a"))
    bench.sync()
    bench.runtime.doubts.append(lambda: True)
    told = bench.run(look(b"a")), bench.run(refuse)
    bench.partition.assume(led_by(2, 1))
    assert [type(heard[0]) for heard in told] == [NotCoordinator] * 2


def test_in_doubt_timers_that_have_nothing_to_write_write_nothing(bench: Bench) -> None:
    heard: list[int] = []

    def look_later(machine: Counters) -> Verdict[None]:
        def fire(_: Counters) -> Verdict[None]:
            heard.append(1)
            return Verdict()

        machine.timers.set("look", 5, fire)
        return Verdict()

    bench.run(look_later)
    end = bench.partition.log.end_offset
    bench.runtime.doubts.append(lambda: True)
    bench.pass_time(5)
    assert heard == [1]
    assert bench.partition.log.end_offset == end


def test_a_shard_that_is_given_up_hears_no_more_of_its_log(bench: Bench) -> None:
    bench.run(lambda _: Verdict([Record(b"a", b"1")], producer=Producer(9, 0)))
    machine = bench.runtime.machine(0)
    bench.runtime.unload(0)
    bench.end(9, committed=True)
    assert (machine.counts, machine.is_loaded) == ({}, False)


def test_very_many_answers_are_given_in_slices() -> None:
    bench = Bench()
    waiting = [Deferred() for _ in range(2 * ANSWERED_AT_ONCE + 1)]
    effects = Effects([Record(b"a", b"1")])
    for each in waiting:
        effects.answer(each, "now")
    bench.runtime.run(0, lambda _: effects.verdict())
    bench.rounds.start_round()
    bench.disk.run_held()
    assert sum(each.settled for each in waiting) == ANSWERED_AT_ONCE
    bench.timers.run_due(bench.clock.monotonic())
    assert all(each.settled for each in waiting)
