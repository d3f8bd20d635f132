"""Who leads a partition, and who is in sync: what becomes of its row when something happens to nodes.

Pure functions from a row to the next one; who calls them commits the outcome if nobody has changed the row meanwhile.
They keep to this:

1. A leader is a member of the ISR that it is elected with.
2. The ISR never loses its last member, but for an unclean election, and for a copy that was lost where others are
   eligible (repairs.py). Where none of its members may lead, the partition
   has no leader and the ISR stays as it is: whoever of them comes back first has everything that was acknowledged.
3. Members that leave the ISR while it is below its minimum stay eligible (KIP-966): the high watermark stands still
   from then on, so they miss nothing below it. They are forgotten once the ISR has its minimum.
4. The leader epoch rises with every change of the leader, the partition epoch with every change.
5. Whoever is neither gone nor fenced nor about to stop, and may lead, does so before nobody does.
6. Of those that may lead, newcomers come last: clients may not have found them again yet.
"""

from collections.abc import Collection, Iterable
from enum import Enum

from attrs import evolve, frozen

from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.partition.replicas import needed_in_sync

NO_LEADER = -1


class ElectionKind(Enum):
    """By what right a node was elected."""

    CLEAN = "clean"
    """In sync, after the leader had gone or while there was none."""
    STOPPING = "stopping"
    """In sync, while the leader is about to stop."""
    ELIGIBLE = "elr"
    """Not in sync, and yet it has everything that was acknowledged."""
    UNCLEAN = "unclean"
    """Not known to have everything: records may be lost."""
    PREFERRED = "preferred"
    """In sync, and the first of the replicas."""


@frozen
class Electorate:
    """Which nodes may lead, and which go on with what they lead until they stop. All others are gone or fenced."""

    eligible: frozenset[int]
    stopping: frozenset[int] = frozenset()
    newcomers: frozenset[int] = frozenset()
    """Those of the eligible that have been here for a moment only."""

    @classmethod
    def of(cls, nodes: Iterable[NodeRecord], newcomers: Collection[int] = ()) -> "Electorate":
        """As their rows tell; who came lately they do not."""
        alive = [node for node in nodes if not node.fenced]
        return cls(
            frozenset(node.node_id for node in alive if not node.stopping),
            frozenset(node.node_id for node in alive if node.stopping),
            frozenset(newcomers),
        )

    @property
    def without_newcomers(self) -> "Electorate":
        """The same nodes, as if all had been here for long."""
        return evolve(self, newcomers=frozenset())

    def first(self, row: PartitionRecord, candidates: Collection[int]) -> int:
        """Which of some that may lead does, by the order of the replicas."""
        ordered = [node for node in row.replicas if node in candidates]
        return next((node for node in ordered if node not in self.newcomers), ordered[0])


@frozen
class Ballot:
    """A row after an election. `kind` is None if nobody was elected: only members left, or there is no leader now."""

    row: PartitionRecord
    kind: ElectionKind | None = None


# -- what nodes' coming and going does


def settled(row: PartitionRecord, electorate: Electorate, min_insync: int, *, unclean: bool = False) -> Ballot:
    """The row as it should be with these nodes. `unclean` lets any replica lead where nobody else may."""
    staying = [node for node in row.isr if node in electorate.eligible]
    if staying:
        if row.leader in staying:
            return Ballot(_with_isr(row, staying, row.leader, min_insync))
        kind = ElectionKind.STOPPING if row.leader in electorate.stopping else ElectionKind.CLEAN
        return Ballot(_with_isr(row, staying, electorate.first(row, staying), min_insync), kind)
    if row.leader in electorate.stopping:
        # There is nobody else: it serves until it goes.
        serving = [node for node in row.isr if node in electorate.stopping]
        return Ballot(_with_isr(row, serving, row.leader, min_insync))
    eligible = [node for node in _elr(row, min_insync) if node in electorate.eligible]
    if eligible:
        leader = electorate.first(row, eligible)
        return Ballot(_with_isr(row, [leader], leader, min_insync), ElectionKind.ELIGIBLE)
    alive = [node for node in row.replicas if node in electorate.eligible]
    if unclean and alive:
        # Whoever was in sync before may have what this one has not: it is as far behind as any other now.
        leader = electorate.first(row, alive)
        return Ballot(_next(row, isr=(leader,), leader=leader, elr=()), ElectionKind.UNCLEAN)
    return Ballot(_next(row, leader=NO_LEADER))


def withdrawn(row: PartitionRecord, node: int, electorate: Electorate, min_insync: int) -> Ballot:
    """A replica's log has failed: it may neither lead nor be in sync until it has caught up again. Where no other
    member may lead, the row stays: what it has is the best there is."""
    if electorate.eligible.isdisjoint(set(row.isr) - {node}):
        return Ballot(row)
    others = evolve(electorate, eligible=electorate.eligible - {node}, stopping=electorate.stopping - {node})
    ballot = settled(row, others, min_insync)
    elr = tuple(each for each in ballot.row.elr if each != node)
    return Ballot(_next(row, isr=ballot.row.isr, leader=ballot.row.leader, elr=elr), ballot.kind)


def preferred_leader(row: PartitionRecord) -> int:
    """The first of the replicas that are to stay."""
    return next((node for node in row.replicas if node not in row.removing), NO_LEADER)


def preferred(row: PartitionRecord, electorate: Electorate) -> Ballot:
    """The first of the replicas leads, if it may and is no newcomer."""
    first = preferred_leader(row)
    if row.leader == first or first not in row.isr or first not in electorate.eligible - electorate.newcomers:
        return Ballot(row)
    return Ballot(_next(row, leader=first), ElectionKind.PREFERRED)


# -- what a leader changes


def altered(
    row: PartitionRecord,
    leader: int,
    leader_epoch: int,
    min_insync: int,
    *,
    joining: Collection[int] = (),
    leaving: Collection[int] = (),
) -> PartitionRecord | None:
    """Some replicas have caught up, some members have fallen behind; the members stand in the order of the replicas.
    The same row if that changes nothing, None if it is no longer of that leader and epoch."""
    if (row.leader, row.leader_epoch) != (leader, leader_epoch):
        return None
    left = set(leaving) - {leader}
    isr = [node for node in row.replicas if (node in row.isr or node in joining) and node not in left]
    return _with_isr(row, row.isr if set(isr) == set(row.isr) else isr, leader, min_insync)


# -- rows


def _with_isr(row: PartitionRecord, isr: Collection[int], leader: int, min_insync: int) -> PartitionRecord:
    left: list[int] = []
    if len(isr) < needed_in_sync(row, min_insync):
        known = {*row.isr, *_elr(row, min_insync)}.difference(isr)
        left = [node for node in row.replicas if node in known]
    return _next(row, isr=tuple(isr), leader=leader, elr=tuple(left))


def _elr(row: PartitionRecord, min_insync: int) -> tuple[int, ...]:
    """Those that are eligible by it: with an ISR that has its minimum, such as after that was lowered, nobody is."""
    return row.elr if len(row.isr) < needed_in_sync(row, min_insync) else ()


def _next(
    row: PartitionRecord,
    *,
    leader: int,
    isr: tuple[int, ...] | None = None,
    elr: tuple[int, ...] | None = None,
) -> PartitionRecord:
    """The row with these changes, and with its epochs risen as they ask for; the same row if they are none."""
    isr, elr = row.isr if isr is None else isr, row.elr if elr is None else elr
    if (leader, isr, elr) == (row.leader, row.isr, row.elr):
        return row
    return evolve(
        row,
        leader=leader,
        isr=isr,
        elr=elr,
        leader_epoch=row.leader_epoch + (leader != row.leader),
        partition_epoch=row.partition_epoch + 1,
    )
