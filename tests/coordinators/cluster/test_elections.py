"""Who leads and who is in sync: what every election keeps, whatever happens to nodes; and the cases by name."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from coordinators.cluster.elections import (
    NO_LEADER,
    Ballot,
    ElectionKind,
    Electorate,
    altered,
    preferred,
    settled,
)
from engine.catalogue.records import NodeRecord, PartitionRecord

NODES = range(1, 6)
SOME_NODES = st.frozensets(st.sampled_from(list(NODES)))


@st.composite
def rows(draw: st.DrawFn) -> PartitionRecord:
    replicas = tuple(draw(st.lists(st.sampled_from(list(NODES)), min_size=1, max_size=4, unique=True)))
    isr = tuple(draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True)))
    others = [node for node in replicas if node not in isr]
    elr = tuple(draw(st.lists(st.sampled_from(others), unique=True))) if others else ()
    leader = draw(st.sampled_from([NO_LEADER, *isr]))
    return PartitionRecord(replicas, isr, leader, 4, 7, elr=elr)


@st.composite
def electorates(draw: st.DrawFn) -> Electorate:
    eligible = draw(SOME_NODES)
    return Electorate(eligible, draw(SOME_NODES) - eligible, draw(SOME_NODES))


MINIMA = st.integers(1, 4)


def check(before: PartitionRecord, after: PartitionRecord) -> None:
    """What holds for every change."""
    assert after.isr
    assert after.leader == NO_LEADER or after.leader in after.isr
    assert set(after.replicas) == set(before.replicas)
    assert set(after.isr) | set(after.elr) <= set(after.replicas)
    assert set(after.isr).isdisjoint(after.elr)
    assert len(set(after.isr)) == len(after.isr)
    assert after.leader_epoch - before.leader_epoch == (after.leader != before.leader)
    assert after.partition_epoch - before.partition_epoch == (after is not before)
    assert (after == before) == (after is before)


@given(rows(), electorates(), MINIMA, st.booleans())
def test_what_every_election_keeps(row: PartitionRecord, electorate: Electorate, minimum: int, unclean: bool) -> None:
    ballot = settled(row, electorate, minimum, unclean=unclean)
    after = ballot.row
    check(row, after)
    assert (ballot.kind is not None) == (after.leader not in (row.leader, NO_LEADER))
    if ballot.kind is not None:
        assert after.leader in electorate.eligible
    if ballot.kind is ElectionKind.UNCLEAN:
        assert unclean
        assert (after.isr, after.elr) == ((after.leader,), ())
    elif ballot.kind is ElectionKind.ELIGIBLE:
        assert after.leader in row.elr
        assert after.isr == (after.leader,)
    else:
        assert set(after.isr) <= set(row.isr)
    if after.leader == NO_LEADER:
        assert after.isr == row.isr
        assert electorate.eligible.isdisjoint(row.isr)
        assert not unclean or electorate.eligible.isdisjoint(row.replicas)
    needed = min(minimum, len(row.replicas))
    if len(after.isr) >= needed and after.isr != row.isr:
        assert after.elr == ()
    if ballot.kind not in (None, ElectionKind.UNCLEAN) and len(after.isr) < needed:
        assert set(row.isr) <= set(after.isr) | set(after.elr), "who had everything is not forgotten"


@given(rows(), electorates(), MINIMA, st.booleans())
def test_an_election_is_done_once(row: PartitionRecord, electorate: Electorate, minimum: int, unclean: bool) -> None:
    once = settled(row, electorate, minimum, unclean=unclean).row
    assert settled(once, electorate, minimum, unclean=unclean) == Ballot(once)


@given(rows(), st.lists(st.tuples(electorates(), MINIMA), max_size=5))
def test_without_unclean_elections_somebody_who_had_everything_leads(
    row: PartitionRecord, life: list[tuple[Electorate, int]]
) -> None:
    """Nobody joins in between: whoever is in the ISR or eligible must have been so at the beginning."""
    complete = set(row.isr) | set(row.elr)
    for electorate, minimum in life:
        row = settled(row, electorate, minimum).row
        assert set(row.isr) | set(row.elr) <= complete
        complete = set(row.isr) | set(row.elr)


@given(rows(), electorates())
def test_the_preferred_leader_is_in_sync_and_eligible(row: PartitionRecord, electorate: Electorate) -> None:
    ballot = preferred(row, electorate)
    check(row, ballot.row)
    assert (ballot.row.isr, ballot.row.elr) == (row.isr, row.elr)
    if ballot.kind is not None:
        assert ballot.row.leader == row.replicas[0]
        assert ballot.row.leader in electorate.eligible


@given(rows(), SOME_NODES, SOME_NODES, MINIMA)
def test_a_leader_changes_only_who_is_in_sync(
    row: PartitionRecord, joining: frozenset[int], leaving: frozenset[int], minimum: int
) -> None:
    assert altered(row, row.leader, row.leader_epoch - 1, minimum, joining=joining, leaving=leaving) is None
    assert altered(row, 9, row.leader_epoch, minimum, joining=joining, leaving=leaving) is None
    if row.leader == NO_LEADER:
        return
    after = altered(row, row.leader, row.leader_epoch, minimum, joining=joining, leaving=leaving)
    assert after is not None
    check(row, after)
    assert after.leader == row.leader
    assert set(after.isr) == (set(row.isr) | (joining & set(row.replicas))) - (leaving - {row.leader})
    assert altered(after, row.leader, row.leader_epoch, minimum) is after, "there is nothing more to change"


def alive(*nodes: int, stopping: frozenset[int] = frozenset()) -> Electorate:
    return Electorate(frozenset(nodes), stopping)


THREE = PartitionRecord.on(1, 2, 3)


def test_the_next_in_the_order_of_replicas_leads() -> None:
    assert settled(THREE, alive(3, 2), 2) == Ballot(PartitionRecord((1, 2, 3), (2, 3), 2, 1, 1), ElectionKind.CLEAN)


def test_a_follower_that_goes_leaves_the_leader_alone() -> None:
    assert settled(THREE, alive(1, 3), 2) == Ballot(PartitionRecord((1, 2, 3), (1, 3), 1, 0, 1))


def test_the_last_in_sync_stays_so_and_leads_again_when_it_comes_back() -> None:
    row = evolve(THREE, isr=(2,), leader=2)
    gone = settled(row, alive(1, 3), 1)
    assert (gone.row.leader, gone.row.isr, gone.row.leader_epoch, gone.kind) == (NO_LEADER, (2,), 1, None)
    back = settled(gone.row, alive(1, 2, 3), 1)
    assert (back.row.leader, back.row.isr, back.row.leader_epoch) == (2, (2,), 2)


def test_of_those_who_go_at_once_any_may_come_back_first() -> None:
    row = evolve(THREE, isr=(1, 2))
    gone = settled(row, alive(3), 1)
    assert (gone.row.leader, gone.row.isr) == (NO_LEADER, (1, 2))
    back = settled(gone.row, alive(2, 3), 1)
    assert (back.row.leader, back.row.isr, back.row.elr) == (2, (2,), ())


def test_who_leaves_below_the_minimum_may_still_lead() -> None:
    one = settled(THREE, alive(1), 2).row
    assert (one.isr, one.elr) == ((1,), (2, 3))
    nobody = settled(one, alive(), 2).row
    assert (nobody.leader, nobody.isr, nobody.elr) == (NO_LEADER, (1,), (2, 3))
    three = settled(nobody, alive(3), 2)
    assert (three.kind, three.row.leader, three.row.isr, three.row.elr) == (ElectionKind.ELIGIBLE, 3, (3,), (1, 2))
    joined = altered(three.row, 3, three.row.leader_epoch, 2, joining={2})
    assert joined is not None
    assert (joined.isr, joined.elr) == ((2, 3), ())


LED = PartitionRecord((1, 2, 3), (1, 2, 3), 1, leader_epoch=4, partition_epoch=7)


def test_members_stand_in_the_order_of_the_replicas() -> None:
    assert altered(evolve(LED, isr=(1,)), 1, 4, 1, joining={3, 2}) == evolve(LED, partition_epoch=8)
    assert altered(LED, 1, 4, 1, joining={2}) is LED


def test_who_falls_behind_while_too_few_stay_may_still_be_elected() -> None:
    row = altered(LED, 1, 4, 2, leaving={2, 3})
    assert row is not None
    assert (row.isr, row.elr) == ((1,), (2, 3))
    row = altered(row, 1, 4, 2, joining={2})
    assert row is not None
    assert (row.isr, row.elr) == ((1, 2), ())


def test_replicas_that_are_being_brought_do_not_raise_what_is_needed() -> None:
    """The high watermark does not stand still, so whoever leaves cannot be elected."""
    row = altered(PartitionRecord((1, 2), (1, 2), 1, adding=(2,)), 1, 0, 2, leaving={2})
    assert row is not None
    assert (row.isr, row.elr) == ((1,), ())


def test_those_who_may_be_elected_are_forgotten_when_less_is_asked_for() -> None:
    row = altered(evolve(LED, isr=(1,), elr=(2,)), 1, 4, 1)
    assert row is not None
    assert (row.isr, row.elr) == ((1,), ())


def test_nobody_is_eligible_by_a_minimum_that_was_lowered_since() -> None:
    row = PartitionRecord((1, 2, 3), (1,), 1, elr=(2, 3))
    assert settled(row, alive(2, 3), 1).row.leader == NO_LEADER


def test_an_unclean_election_is_asked_for() -> None:
    row = evolve(THREE, isr=(1,))
    assert settled(row, alive(2, 3), 1).row.leader == NO_LEADER
    unclean = settled(row, alive(2, 3), 1, unclean=True)
    assert (unclean.kind, unclean.row.leader, unclean.row.isr) == (ElectionKind.UNCLEAN, 2, (2,))


def test_a_node_that_stops_hands_over_what_others_can_lead() -> None:
    stopping = alive(2, 3, stopping=frozenset({1}))
    ballot = settled(THREE, stopping, 2)
    assert (ballot.kind, ballot.row.leader, ballot.row.isr) == (ElectionKind.STOPPING, 2, (2, 3))
    alone = evolve(THREE, isr=(1,))
    assert settled(alone, stopping, 2).row is alone, "nobody else has everything: it serves until it goes"


def test_a_preferred_leader_is_one_that_stays() -> None:
    row = PartitionRecord((1, 2, 3), (1, 2, 3), 3, removing=(1,))
    assert preferred(row, alive(1, 2, 3)).row.leader == 2


def test_newcomers_lead_only_where_nobody_else_may() -> None:
    gone = alive(2, 3)
    assert settled(THREE, gone, 2).row.leader == 2
    assert settled(THREE, evolve(gone, newcomers=frozenset({2})), 2).row.leader == 3
    assert settled(THREE, evolve(gone, newcomers=frozenset({2, 3})), 2).row.leader == 2, "the order of the replicas"
    assert settled(evolve(THREE, isr=(2,)), evolve(gone, newcomers=frozenset({2})), 2).row.leader == 2


def test_an_unclean_election_takes_newcomers_last_too() -> None:
    lately = evolve(alive(2, 3), newcomers=frozenset({2}))
    assert settled(PartitionRecord((1, 2, 3), (1,), 1), lately, 1, unclean=True).row.leader == 3


def test_a_newcomer_is_not_yet_preferred() -> None:
    row = PartitionRecord((1, 2, 3), (1, 2, 3), 3)
    lately = evolve(alive(1, 2, 3), newcomers=frozenset({1}))
    assert preferred(row, lately).row is row
    assert preferred(row, lately.without_newcomers).row.leader == 1


def test_who_may_lead_by_the_rows_of_nodes() -> None:
    nodes = [
        NodeRecord(1, ()),
        NodeRecord(2, (), stopping=True),
        NodeRecord(3, (), fenced=True),
        NodeRecord(4, (), fenced=True, stopping=True),
    ]
    assert Electorate.of(nodes) == Electorate(frozenset({1}), frozenset({2}))
