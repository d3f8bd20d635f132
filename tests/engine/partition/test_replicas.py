"""Replicas: how far the high watermark may go, who may write and read, whose word counts."""

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.catalogue.records import PartitionRecord
from engine.errors import BrokerError, NotEnoughReplicasAfterAppend, NotLeader, RequestTimedOut, StorageError
from engine.log.log import Log
from engine.partition.partition import Partition
from engine.partition.replicas import Replicas, Role
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import batch, memory_files, open_log, read_all

THREE = PartitionRecord((1, 2, 3), (1, 2, 3), 1, leader_epoch=4, partition_epoch=7)


class Bench:
    """Node 1 and its copy of a partition; what is written becomes durable by `sync`."""

    def __init__(self, row: PartitionRecord = THREE, min_insync: int = 1, log: Log | None = None) -> None:
        self.workers = InlineWorkers(hold=True)
        self.rounds = SyncRounds(self.workers, lambda: None)
        self.log = open_log(memory_files()) if log is None else log
        self.partition = Partition(b"\1" * 16, 0, self.log, self.rounds, replicas=Replicas(1, row, min_insync))

    def write(self, *, sync: bool = True) -> None:
        self.partition.write(batch())
        if sync:
            self.sync()

    def sync(self) -> None:
        self.rounds.start_round()
        self.workers.run_held()

    def isr(self, *members: int, leader: int = 1, leader_epochs: int = 0) -> bool:
        row = self.partition.replicas.row
        return self.partition.assume(
            evolve(
                row,
                isr=members,
                leader=leader,
                leader_epoch=row.leader_epoch + leader_epochs,
                partition_epoch=row.partition_epoch + 1,
            )
        )

    @property
    def high_watermark(self) -> int:
        return self.partition.high_watermark.offset

    def outcomes(self, offset: int) -> list[BrokerError | None]:
        """Those of a producer that waits for this record, as they come."""
        found: list[BrokerError | None] = []
        self.partition.when_durable_to(offset, 10.0, found.append)
        return found

    def produce(self, *, deadline: float = 10.0) -> list[BrokerError | None]:
        """Those of a producer that has just written a batch here."""
        found: list[BrokerError | None] = []
        receipt = self.partition.write(batch())
        self.sync()
        self.partition.when_durable(receipt, deadline, found.append)
        return found

    def resign(self, *replicas: int) -> None:
        """Node 2 leads from now on."""
        row = self.partition.replicas.row
        here = replicas or row.replicas
        self.partition.assume(evolve(row, replicas=here, isr=here, leader=2, leader_epoch=row.leader_epoch + 1))

    def cut_to(self, offset: int) -> None:
        """As the new leader has asked."""
        self.partition.set_apart()
        self.log.truncate_to(offset)
        self.partition.put_back()


def test_the_high_watermark_is_the_least_durable_end_of_the_isr() -> None:
    bench = Bench()
    bench.write()
    waits = bench.outcomes(0)
    bench.partition.replica_durable(2, 1)
    assert (bench.high_watermark, waits) == (0, []), "nothing is known of node 3"
    bench.partition.replica_durable(3, 1)
    assert (bench.high_watermark, waits) == (1, [None])


def test_a_record_that_the_leader_has_not_synced_is_not_readable_however_many_have() -> None:
    bench = Bench()
    bench.write(sync=False)
    for node in (2, 3):
        bench.partition.replica_durable(node, 1)
    assert bench.high_watermark == 0
    bench.sync()
    assert bench.high_watermark == 1


def test_who_leaves_the_isr_is_no_longer_waited_for() -> None:
    bench = Bench()
    bench.write()
    bench.partition.replica_durable(2, 1)
    assert bench.isr(1, 2)
    assert bench.high_watermark == 1


def test_who_is_about_to_join_counts_until_a_row_says_otherwise() -> None:
    bench = Bench(evolve(THREE, isr=(1,)))
    bench.partition.let_join([2])
    bench.write()
    assert bench.high_watermark == 0
    bench.partition.replica_durable(2, 1)
    assert bench.high_watermark == 1
    assert bench.isr(1, 2)
    bench.write()
    assert bench.high_watermark == 1, "it is a member now"


def test_with_too_few_in_sync_nothing_becomes_readable() -> None:
    bench = Bench(evolve(THREE, isr=(1, 2)), min_insync=2)
    bench.partition.replica_durable(2, 0)
    assert bench.isr(1)
    bench.write()
    assert bench.high_watermark == 0
    assert bench.partition.replicas.shortage is not None
    bench.partition.ask_for(1)
    assert bench.partition.replicas.shortage is None
    assert bench.high_watermark == 1


def test_nothing_becomes_readable_while_others_may_be_elected_that_do_not_have_it() -> None:
    """They left when more was asked for than now."""
    bench = Bench(evolve(THREE, isr=(1,), elr=(2,)), min_insync=2)
    bench.partition.ask_for(1)
    bench.write()
    assert bench.high_watermark == 0
    bench.partition.assume(evolve(bench.partition.replicas.row, elr=(), partition_epoch=8))
    assert bench.high_watermark == 1


def test_a_stage_that_is_made_while_somebody_joins_waits_for_it_too() -> None:
    bench = Bench(evolve(THREE, isr=(1,)))
    bench.partition.let_join([2])
    twin = bench.partition.replicas.twin()
    assert (twin.decides_alone, twin.least_end(5)) == (False, None)


def test_a_partition_of_one_replica_never_lacks_any() -> None:
    alone = Replicas(1, PartitionRecord.on(1), min_insync=3)
    assert alone.shortage is None
    assert alone.decides_alone


def test_replicas_that_are_still_to_come_do_not_raise_what_is_asked_for() -> None:
    row = PartitionRecord((1, 2, 3), (1,), 1, adding=(2, 3))
    assert Replicas(1, row, min_insync=2).shortage is None
    assert Replicas(1, evolve(row, adding=()), min_insync=2).shortage is not None


def test_an_older_row_counts_for_nothing() -> None:
    bench = Bench()
    for row in (THREE, evolve(THREE, partition_epoch=6, isr=(1,)), evolve(THREE, leader_epoch=3, partition_epoch=9)):
        assert not bench.partition.assume(row)
    assert bench.partition.replicas.row is THREE


def test_a_follower_refuses_clients_and_tells_who_leads() -> None:
    bench = Bench(evolve(THREE, leader=2))
    assert bench.partition.role is Role.FOLLOWER
    with pytest.raises(NotLeader) as refused:
        bench.partition.write(batch())
    assert (refused.value.leader, refused.value.leader_epoch) == (2, 4)
    with pytest.raises(NotLeader):
        bench.partition.read(0, 1000, at_least_one=True)
    assert isinstance(bench.outcomes(0)[0], NotLeader)


def test_whoever_waits_is_told_when_the_leader_resigns() -> None:
    bench = Bench()
    bench.write()
    waits = bench.outcomes(0)
    looks: list[int] = []
    bench.partition.watch(looks.append)
    bench.isr(2, 3, leader=2, leader_epochs=1)
    assert [type(outcome) for outcome in waits] == [NotLeader]
    assert looks, "who waits for records looks again, and is refused"


def test_a_producer_hears_from_a_leader_that_was_replaced_that_its_successor_has_the_record() -> None:
    bench = Bench()
    told = bench.produce()
    bench.resign()
    assert told == [], "NOT_LEADER_OR_FOLLOWER would say that it is stored nowhere"
    bench.partition.follow_high_watermark(1)
    assert told == [None]


def test_a_producer_hears_that_its_record_was_cut_off_by_the_next_leader() -> None:
    bench = Bench()
    first, second = bench.produce(), bench.produce()
    bench.resign()
    bench.cut_to(1)
    assert (first, [type(error) for error in second]) == ([], [NotLeader])
    assert isinstance(second[0], NotLeader)
    assert second[0].leader == 2
    bench.partition.follow_high_watermark(1)
    assert first == [None]


def test_what_takes_the_place_of_a_record_that_was_cut_off_is_not_taken_for_it() -> None:
    bench, leader = Bench(), Bench()
    for each in (bench, leader):
        each.write()
    told = bench.produce()
    leader.produce()
    bench.resign()
    bench.cut_to(1)
    bench.partition.follow(read_all(leader.log)[1])
    bench.sync()
    bench.partition.follow_high_watermark(2)
    assert [type(error) for error in told] == [NotLeader]


@pytest.mark.parametrize("offset", [0, 5])
def test_a_log_that_begins_anew_leaves_open_whether_a_record_is_stored(offset: int) -> None:
    bench = Bench()
    told = bench.produce()
    bench.resign()
    bench.partition.set_apart()
    bench.log.truncate_fully_and_start_at(offset)
    bench.partition.put_back()
    assert [type(error) for error in told] == [RequestTimedOut]


def test_a_producer_hears_after_a_while_that_nobody_knows_what_became_of_its_record() -> None:
    bench = Bench()
    told = bench.produce(deadline=30.0)
    late = RequestTimedOut("late")
    bench.resign()
    bench.partition.expire_waiters(5.0, late)
    bench.partition.expire_waiters(5.9, late)
    assert told == []
    bench.partition.expire_waiters(6.0, late)
    assert [type(error) for error in told] == [RequestTimedOut]


def test_where_the_partition_leaves_this_node_nobody_knows_here_what_becomes_of_the_record() -> None:
    bench = Bench()
    told = bench.produce()
    bench.resign(2, 3)
    assert [type(error) for error in told] == [RequestTimedOut]


def test_a_disk_that_fails_leaves_open_what_became_of_a_producers_record() -> None:
    bench = Bench()
    told, others = bench.produce(), bench.outcomes(0)
    bench.partition.take_offline(OSError("broken"))
    assert [type(error) for error in (*told, *others)] == [NotEnoughReplicasAfterAppend, StorageError]


def test_a_leader_that_comes_back_with_the_record_commits_it() -> None:
    bench = Bench(evolve(THREE, isr=(1, 2)))
    told = bench.produce()
    bench.resign()
    bench.isr(1, 2, leader=1, leader_epochs=1)
    assert told == []
    bench.partition.replica_durable(2, 1)
    assert told == [None]


def test_a_new_leader_counts_nothing_that_was_told_before() -> None:
    bench = Bench()
    for node in (2, 3):
        bench.partition.replica_durable(node, 1)
    bench.isr(1, 2, 3, leader=2, leader_epochs=1)
    bench.isr(1, 2, 3, leader=1, leader_epochs=1)
    bench.write()
    assert bench.high_watermark == 0
    assert bench.partition.role is Role.LEADER


def test_a_followers_high_watermark_follows_the_leaders_within_what_it_has() -> None:
    log = open_log(memory_files())
    leader = Bench(evolve(THREE, isr=(1,)), log=log)
    for _ in range(3):
        leader.write()
    follower = Bench(evolve(THREE, leader=2), log=log)
    assert follower.high_watermark == 0
    follower.partition.follow_high_watermark(2)
    assert follower.high_watermark == 2
    follower.partition.follow_high_watermark(9)
    assert follower.high_watermark == 3


def test_a_replica_may_join_once_it_has_what_was_readable_and_what_this_leader_began_with() -> None:
    bench = Bench(evolve(THREE, isr=(1,)))
    bench.write()
    bench.isr(1, 2, leader=2, leader_epochs=1)
    bench.isr(1, leader=1, leader_epochs=1)
    bench.write()
    for end, caught_up in ((0, False), (1, False), (2, True)):
        bench.partition.replica_durable(2, end)
        assert bench.partition.has_caught_up(2) is caught_up
    assert not bench.partition.has_caught_up(3), "it has told nothing"


SOME = st.sets(st.sampled_from([2, 3]))


class ReplicasModel(RuleBasedStateMachine):
    """The high watermark of a real partition against the rule, whatever comes in which order."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(min_insync=2)
        self.ends = {2: 0, 3: 0}
        self.told: dict[int, int] = {}
        self.joining: set[int] = set()
        self.seen = 0
        self.waits: list[tuple[int, list[BrokerError | None]]] = []

    @property
    def row(self) -> PartitionRecord:
        return self.bench.partition.replicas.row

    @rule(synced=st.booleans())
    def write(self, synced: bool) -> None:
        if self.row.leader == 1:
            self.bench.write(sync=False)
            offset = self.bench.log.end_offset - 1
            self.waits.append((offset, self.bench.outcomes(offset)))
        if synced:
            self.bench.sync()

    @rule(nodes=st.sets(st.sampled_from([2, 3]), min_size=1), records=st.integers(1, 3))
    def replicate(self, nodes: set[int], records: int) -> None:
        if self.row.leader == 1:
            for node in nodes:
                self.ends[node] = self.told[node] = min(self.bench.log.end_offset, self.ends[node] + records)
                self.bench.partition.replica_durable(node, self.told[node])

    @rule(others=SOME)
    def change_isr(self, others: set[int]) -> None:
        if self.row.leader == 1:
            self.bench.isr(1, *sorted(others))
            self.joining -= others

    @rule(others=SOME)
    def propose(self, others: set[int]) -> None:
        if self.row.leader == 1:
            self.joining = set(others)
            self.bench.partition.let_join(others)

    @rule(least=st.integers(1, 3))
    def ask_for(self, least: int) -> None:
        self.bench.partition.ask_for(least)

    @rule(leader=st.sampled_from([1, 2]), happens=st.integers(0, 3))
    def elect(self, leader: int, happens: int) -> None:
        if self.row.leader == 2 or not happens:
            self.bench.isr(1, 2, 3, leader=1 if self.row.leader == 2 else leader, leader_epochs=1)
            self.told, self.joining = {}, set()

    @invariant()
    def never_past_a_member_never_back(self) -> None:
        now = self.bench.high_watermark
        assert now >= self.seen
        if now > self.seen:
            members = (set(self.row.isr) | self.joining) - {1}
            assert now <= self.bench.log.durable_end.offset
            assert all(now <= self.told.get(node, -1) for node in members)
            assert len(self.row.isr) >= min(self.bench.partition.replicas.min_insync, 3)
        self.seen = now

    @invariant()
    def as_far_as_it_may_go(self) -> None:
        row, replicas = self.row, self.bench.partition.replicas
        if row.leader != 1 or len(row.isr) < min(replicas.min_insync, 3):
            return
        members = (set(row.isr) | self.joining) - {1}
        may = min([self.bench.log.durable_end.offset, *(self.told.get(node, -1) for node in members)])
        assert self.bench.high_watermark == max(self.seen, may)

    @invariant()
    def producers_are_answered_once_and_rightly(self) -> None:
        for offset, outcomes in self.waits:
            assert len(outcomes) <= 1
            if offset < self.bench.high_watermark and self.row.leader == 1 and self.row.leader_epoch == 4:
                # Who was told that too few are in sync may find its records readable later.
                (outcome,) = outcomes
                assert outcome is None or isinstance(outcome, NotEnoughReplicasAfterAppend)
            if self.row.leader != 1:
                assert outcomes, "a waiter outlived its leader"


TestReplicasModel = ReplicasModel.TestCase
TestReplicasModel.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("members", [(1,), (1, 2), (1, 2, 3)])
def test_who_decides_alone_is_alone_in_sync(members: Sequence[int]) -> None:
    assert Replicas(1, evolve(THREE, isr=tuple(members))).decides_alone is (members == (1,))


def test_a_leader_that_has_lost_its_end_leads_only_in_a_new_epoch() -> None:
    """Followers may have what it lost: in one epoch an offset is given to one record."""
    bench = Bench()
    bench.write()
    bench.write()
    bench.partition.take_offline(OSError("the disk"))
    bench.log.truncate_to(1)
    bench.partition.bring_online()
    assert bench.partition.lost_end
    with pytest.raises(NotLeader):
        bench.partition.write(batch())
    bench.isr(1, 2, 3)
    with pytest.raises(NotLeader):
        bench.partition.write(batch())
    bench.isr(1, 2, 3, leader_epochs=1)
    assert not bench.partition.lost_end
    assert bench.partition.write(batch()).base_offset == 1


def test_a_leader_whose_end_is_whole_goes_on() -> None:
    bench = Bench()
    bench.write()
    bench.partition.take_offline(OSError("the disk"))
    bench.partition.bring_online()
    assert bench.partition.write(batch()).base_offset == 1
