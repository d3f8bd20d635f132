"""Moving a partition to other nodes: what each step does to its row. Pure functions from a row to the next one.

    begin    the replicas become the target and behind it those that are to go; who of them comes and who goes is noted
    advance  once every target is in sync: those that are to go are gone
    cancel   those that were to come are gone

The target can be told from the row all the time: it is the replicas without those to be removed, in their order. So a
second reassignment simply replaces one that is under way; what only the first wanted is dropped at once. The leader
epoch rises when the leader changes and when replicas go, so that nobody counts what a replica said that is none.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from attrs import evolve

from coordinators.cluster.elections import NO_LEADER, Electorate
from engine.catalogue.records import PartitionRecord
from engine.errors import InvalidReplicaAssignment, NoReassignmentInProgress

Eligible = Collection[int] | None
"""The nodes that may lead; None is any."""


def is_moving(row: PartitionRecord) -> bool:
    """Whether a reassignment is under way."""
    return bool(row.adding or row.removing)


def target_of(row: PartitionRecord) -> tuple[int, ...]:
    """The replicas that a partition has when nothing is under way any more."""
    return _without(row.replicas, row.removing)


def begin(row: PartitionRecord, target: Sequence[int], eligible: Eligible = None) -> PartitionRecord:
    """Have the partition lie on these nodes; the same row if it does. `InvalidReplicaAssignment` if nobody that is in
    sync would be left to copy from."""
    before = _without(row.replicas, row.adding)
    adding, removing = _without(target, before), _without(before, target)
    begun = _with_replicas(row, (*target, *removing), eligible)
    if begun is None:
        raise InvalidReplicaAssignment(
            "Of the replicas that are in sync none would be left: they were added by the reassignment under way."
        )
    begun = evolve(begun, adding=adding, removing=removing)
    if evolve(begun, partition_epoch=row.partition_epoch) == row:
        return advance(row, eligible) or row
    done = advance(begun, eligible)
    return begun if done is None else evolve(done, partition_epoch=begun.partition_epoch)


def advance(row: PartitionRecord, eligible: Eligible = None) -> PartitionRecord | None:
    """The row once a reassignment can end: every target is in sync and one of them may lead. None if there is nothing
    to do, or not yet."""
    target = target_of(row)
    if not is_moving(row) or not set(target) <= set(row.isr):
        return None
    done = _with_replicas(row, target, eligible)
    return None if done is None else evolve(done, adding=(), removing=())


def next_step(row: PartitionRecord, electorate: Electorate) -> PartitionRecord:
    """For the controller, whenever a row or a node has changed: the row that `advance` makes of it, or the same. A
    newcomer is given the lead only where no other target can have it."""
    return advance(row, electorate.eligible - electorate.newcomers) or advance(row, electorate.eligible) or row


def cancel(row: PartitionRecord, eligible: Eligible = None, *, unclean: bool = False) -> PartitionRecord:
    """The replicas of before. Where only those that were to come are in sync, and `unclean` allows it, the first that
    may lead does, whatever it lacks."""
    if not is_moving(row):
        raise NoReassignmentInProgress("No partition reassignment is in progress.")
    before = _without(row.replicas, row.adding)
    cancelled = _with_replicas(row, before, eligible)
    if cancelled is None:
        leader = next((node for node in before if eligible is None or node in eligible), None)
        if not unclean or leader is None:
            raise InvalidReplicaAssignment(
                "Unable to revert the partition assignment because it would require an unclean leader election."
            )
        cancelled = _next(row, replicas=before, isr=(leader,), leader=leader, elr=())
    return evolve(cancelled, adding=(), removing=())


def _with_replicas(row: PartitionRecord, replicas: tuple[int, ...], eligible: Eligible) -> PartitionRecord | None:
    """Who is no replica is nothing else either. None if nobody in sync would be left, or nobody to lead."""
    isr = tuple(node for node in row.isr if node in replicas)
    leader = row.leader
    if leader not in isr:
        able = (node for node in replicas if node in isr and (eligible is None or node in eligible))
        leader = next(able, NO_LEADER)
    if not isr or (leader == NO_LEADER and row.leader != NO_LEADER):
        return None
    elr = tuple(node for node in row.elr if node in replicas) if len(isr) < len(replicas) else ()
    return _next(row, replicas=replicas, isr=isr, leader=leader, elr=elr)


def _next(row: PartitionRecord, **changed: Any) -> PartitionRecord:
    after = evolve(row, **changed)
    rises = after.leader != row.leader or not set(row.replicas) <= set(after.replicas)
    return evolve(after, leader_epoch=row.leader_epoch + rises, partition_epoch=row.partition_epoch + 1)


def _without(nodes: Iterable[int], others: Collection[int]) -> tuple[int, ...]:
    return tuple(node for node in nodes if node not in others)
