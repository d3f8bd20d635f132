"""The steps of a reassignment: whatever is asked for and whoever is in sync, no step loses what was acknowledged."""

from collections.abc import Collection

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from coordinators.cluster.elections import Electorate
from coordinators.cluster.reassignments import advance, begin, cancel, is_moving, next_step, target_of
from engine.catalogue.records import PartitionRecord
from engine.errors import BrokerError, InvalidReplicaAssignment, NoReassignmentInProgress

NODES = range(1, 7)
lists = st.lists(st.sampled_from(NODES), min_size=1, max_size=4, unique=True).map(tuple)


def joined(row: PartitionRecord, *nodes: int) -> PartitionRecord:
    return evolve(row, isr=(*row.isr, *nodes), partition_epoch=row.partition_epoch + 1)


def test_new_replicas_come_first_and_old_ones_go_when_all_are_in_sync() -> None:
    row = PartitionRecord.on(1, 2, 3)
    moving = begin(row, (4, 5, 1))
    assert (moving.replicas, moving.adding, moving.removing) == ((4, 5, 1, 2, 3), (4, 5), (2, 3))
    assert (moving.isr, moving.leader, moving.leader_epoch, moving.partition_epoch) == ((1, 2, 3), 1, 0, 1)
    assert advance(moving) is None
    assert advance(joined(moving, 4)) is None
    done = advance(joined(moving, 4, 5))
    assert done == PartitionRecord((4, 5, 1), (1, 4, 5), 1, leader_epoch=1, partition_epoch=3)


def test_a_leader_that_goes_is_followed_by_the_first_target_that_may_lead() -> None:
    moving = joined(begin(PartitionRecord.on(1), (2, 3)), 2, 3)
    done = advance(moving, eligible={3})
    assert done is not None
    assert (done.leader, done.leader_epoch, done.replicas) == (3, 1, (2, 3))


def test_nobody_goes_while_nobody_else_may_lead() -> None:
    moving = joined(begin(PartitionRecord.on(1), (2, 3)), 2, 3)
    assert advance(moving, eligible={1}) is None


def test_a_newcomer_is_given_the_lead_only_where_no_other_target_can_have_it() -> None:
    moving = joined(begin(PartitionRecord.on(1), (2, 3)), 2, 3)
    everybody = frozenset({1, 2, 3})
    assert next_step(moving, Electorate(everybody)).leader == 2
    assert next_step(moving, Electorate(everybody, newcomers=frozenset({2}))).leader == 3
    assert next_step(moving, Electorate(everybody, newcomers=frozenset({2, 3}))).leader == 2


def test_fewer_replicas_or_another_order_need_no_copying() -> None:
    row = PartitionRecord.on(1, 2, 3)
    fewer = begin(row, (3, 1))
    assert (fewer.replicas, fewer.isr, fewer.leader, is_moving(fewer)) == ((3, 1), (1, 3), 1, False)
    assert begin(row, (2, 1, 3)) == PartitionRecord((2, 1, 3), (1, 2, 3), 1, 0, 1)
    assert begin(row, (1, 2, 3)) is row


def test_without_its_replicas_in_sync_a_partition_does_not_get_fewer() -> None:
    row = PartitionRecord((1, 2, 3), (2,), 2)
    moving = begin(row, (1,))
    assert (moving.replicas, moving.removing, moving.leader) == ((1, 2, 3), (2, 3), 2)
    assert advance(moving) is None


def test_another_target_replaces_the_first_and_drops_what_only_that_wanted() -> None:
    moving = joined(begin(PartitionRecord.on(1, 2), (3, 4)), 3)
    again = begin(moving, (4, 5))
    assert (again.replicas, again.adding, again.removing) == ((4, 5, 1, 2), (4, 5), (1, 2))
    assert (again.isr, again.leader_epoch) == ((1, 2), 1)


def test_the_first_replicas_as_a_new_target_are_a_cancellation() -> None:
    row = PartitionRecord.on(1, 2)
    back = begin(begin(row, (3, 4)), (1, 2))
    assert (back.replicas, back.isr, is_moving(back)) == ((1, 2), (1, 2), False)


def test_cancelling_takes_away_what_was_to_come() -> None:
    moving = joined(begin(PartitionRecord.on(1, 2), (2, 3, 4)), 3)
    back = cancel(moving)
    assert (set(back.replicas), back.isr, back.leader, is_moving(back)) == ({1, 2}, (1, 2), 1, False)
    assert back.leader_epoch == moving.leader_epoch + 1


def test_only_what_is_under_way_can_be_cancelled() -> None:
    with pytest.raises(NoReassignmentInProgress):
        cancel(PartitionRecord.on(1, 2))


def test_what_only_new_replicas_have_is_given_up_only_where_that_is_allowed() -> None:
    moving = evolve(joined(begin(PartitionRecord.on(1), (2, 3)), 2), isr=(2,), leader=2)
    with pytest.raises(InvalidReplicaAssignment, match="unclean"):
        cancel(moving)
    lost = cancel(moving, {1, 2, 3}, unclean=True)
    assert (lost.replicas, lost.isr, lost.leader) == ((1,), (1,), 1)
    with pytest.raises(InvalidReplicaAssignment):
        begin(moving, (1, 3))


@given(lists, st.data())
def test_whatever_happens_rows_stay_whole_and_acknowledged_records_stay_somewhere(
    first: tuple[int, ...], data: st.DataObject
) -> None:
    row = PartitionRecord.on(*first)
    for _ in range(data.draw(st.integers(1, 8))):
        eligible = data.draw(st.sets(st.sampled_from(NODES)))
        before = row
        row = data.draw(st.sampled_from([_began, _advanced, _cancelled, _shrunk, _grown]))(row, eligible, data)
        _check(before, row)
    # Whoever is asked for comes in the end, if all nodes are well.
    target = data.draw(lists)
    row = evolve(row, isr=tuple(dict.fromkeys((*row.isr, *row.replicas))))
    row = begin(row, target)
    row = evolve(row, isr=tuple(dict.fromkeys((*row.isr, *row.replicas))))
    row = advance(row) or row
    assert (row.replicas, set(row.isr), is_moving(row)) == (target, set(target), False)


def _began(row: PartitionRecord, eligible: Collection[int], data: st.DataObject) -> PartitionRecord:
    target = data.draw(lists)
    try:
        after = begin(row, target, eligible)
    except BrokerError:
        return row
    assert target_of(after) == target
    return after


def _advanced(row: PartitionRecord, eligible: Collection[int], _: st.DataObject) -> PartitionRecord:
    return advance(row, eligible) or row


def _cancelled(row: PartitionRecord, eligible: Collection[int], _: st.DataObject) -> PartitionRecord:
    try:
        after = cancel(row, eligible)
    except BrokerError:
        return row
    assert not is_moving(after)
    return after


def _shrunk(row: PartitionRecord, _: Collection[int], data: st.DataObject) -> PartitionRecord:
    """The leader takes a member out."""
    others = [node for node in row.isr if node != row.leader]
    gone = data.draw(st.sampled_from(others)) if others else None
    isr = tuple(node for node in row.isr if node != gone)
    return evolve(row, isr=isr, partition_epoch=row.partition_epoch + 1)


def _grown(row: PartitionRecord, _: Collection[int], data: st.DataObject) -> PartitionRecord:
    others = [node for node in row.replicas if node not in row.isr]
    return joined(row, data.draw(st.sampled_from(others))) if others else row


def _check(before: PartitionRecord, row: PartitionRecord) -> None:
    assert len(set(row.replicas)) == len(row.replicas) > 0
    assert set(row.isr) <= set(row.replicas)
    assert row.isr
    assert row.leader in row.isr
    assert set(row.adding) | set(row.removing) <= set(row.replicas)
    assert not set(row.adding) & set(row.removing)
    # Somebody who had everything before has it still, and leads.
    assert set(row.isr) & set(before.isr)
    assert row == before or row.partition_epoch > before.partition_epoch
    if row.leader != before.leader or not set(before.replicas) <= set(row.replicas):
        assert row.leader_epoch > before.leader_epoch
