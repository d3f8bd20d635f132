"""Plans move as little as they can, and keep replicas on different racks."""

from collections import Counter

import pytest

from tools.cli.clusters.layout import Layout, LayoutNode, PartitionLayout
from tools.cli.clusters.plans import balanced, drained, onto, read, with_factor, written
from tools.cli.errors import UsageMistake


def layout(*replicas: tuple[int, ...], nodes: int = 3, racks: str = "", size_bytes: int = 10) -> Layout:
    """Partitions of one topic that lie there; `racks` has a letter for each node."""
    known = {
        number: LayoutNode(number, "h", 9092, racks[number - 1] if racks else None) for number in range(1, nodes + 1)
    }
    partitions = [
        PartitionLayout("t", index, each[0], each, each, size_bytes=size_bytes) for index, each in enumerate(replicas)
    ]
    return Layout("c", 1, known, partitions)


def after(before: Layout, moves: list[object]) -> dict[int, tuple[int, ...]]:
    """Where all partitions lie with the moves."""
    found = {each.partition: each.target for each in before.partitions}
    return found | {move.partition: move.after for move in moves}  # type: ignore[attr-defined]


def test_a_drained_node_holds_nothing_and_only_its_replicas_move() -> None:
    before = layout((1, 2), (2, 3), (3, 1), (1, 3), nodes=4)
    moves = drained(before, 3)
    found = after(before, list(moves))
    assert all(3 not in each for each in found.values())
    assert sorted(move.partition for move in moves) == [1, 2, 3]
    assert all(len(set(each)) == 2 for each in found.values())
    # The one that holds least takes most.
    assert Counter(node for move in moves for node in move.adding)[4] >= 2


def test_what_a_drained_node_led_is_led_by_who_leads_fewest() -> None:
    moves = drained(layout((3, 1, 2), (1, 2, 3), nodes=4), 3)
    assert {move.partition: move.after[0] for move in moves} == {0: 2, 1: 1}


def test_a_drained_nodes_replicas_go_to_other_racks() -> None:
    (move,) = drained(layout((1, 2), nodes=4, racks="abac"), 2)
    assert move.after == (1, 4), "node 3 stands where node 1 does"


def test_a_node_cannot_be_drained_where_too_few_are_left() -> None:
    with pytest.raises(UsageMistake, match="only 2 nodes can hold them"):
        drained(layout((1, 2, 3)), 3)
    with pytest.raises(UsageMistake, match="no node 9"):
        drained(layout((1, 2, 3)), 9)


def test_a_node_that_is_away_can_be_drained() -> None:
    before = layout((1, 2), (9, 1))
    (move,) = drained(before, 9)
    assert move.after == (3, 1), "node 1 leads another already"


def test_a_new_node_gets_its_share_with_as_few_moves_as_that_takes() -> None:
    before = layout(*[(1, 2, 3), (2, 3, 1), (3, 1, 2)] * 4, nodes=4)
    moves = balanced(before)
    found = after(before, list(moves))
    held = Counter(node for each in found.values() for node in each)
    led = Counter(each[0] for each in found.values())
    assert set(held.values()) == {9}
    assert set(led.values()) == {3}
    assert sum(len(move.adding) for move in moves) == 9
    assert balanced(Layout("c", 1, before.nodes, [_lying(before, index, found) for index in found])) == []


def _lying(before: Layout, index: int, found: dict[int, tuple[int, ...]]) -> PartitionLayout:
    return PartitionLayout("t", index, found[index][0], found[index], found[index], size_bytes=10)


def test_what_is_even_stays_as_it_is() -> None:
    assert balanced(layout((1, 2), (2, 3), (3, 1))) == []


def test_racks_are_not_given_up_for_evenness() -> None:
    before = layout((1, 3), (1, 3), (2, 3), (2, 3), nodes=3, racks="aab")
    assert all(3 in each for each in after(before, list(balanced(before))).values())


def test_leaders_are_evened_out_without_copying() -> None:
    moves = balanced(layout((1, 2), (1, 2), (1, 2), (1, 2), nodes=2))
    assert [move.adding for move in moves] == [(), ()]
    assert {move.after for move in moves} == {(2, 1)}
    assert sum(move.copied_bytes for move in moves) == 0


def test_factors_are_raised_from_other_racks_and_lowered_without_the_leader() -> None:
    before = layout((1,), (2,), nodes=4, racks="aabc")
    raised = after(before, list(with_factor(before, before.partitions, 3)))
    assert {index: set(each) for index, each in raised.items()} == {0: {1, 3, 4}, 1: {2, 3, 4}}
    assert (raised[0][0], raised[1][0]) == (1, 2)
    many = layout((1, 2, 3), (2, 3, 1))
    assert [move.after[0] for move in with_factor(many, many.partitions, 1)] == [1, 2]
    with pytest.raises(UsageMistake, match="only 4 nodes"):
        with_factor(before, before.partitions, 5)


def test_partitions_go_onto_the_nodes_that_are_named() -> None:
    before = layout((1, 2), (2, 3), nodes=4)
    found = after(before, list(onto(before, before.partitions, [3, 4])))
    assert [set(each) for each in found.values()] == [{3, 4}, {3, 4}]
    assert {each[0] for each in found.values()} == {3, 4}
    with pytest.raises(UsageMistake, match="no node 7"):
        onto(before, before.partitions, [7])


def test_a_plan_is_read_as_it_was_written() -> None:
    before = layout((1, 2), (2, 3), nodes=4)
    moves = drained(before, 2)
    assert read(written(moves), before) == moves
    assert read('{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}', before) == []


@pytest.mark.parametrize("text", ["", "[]", '{"partitions": [{"topic": "t"}]}', '{"partitions": 3}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(UsageMistake, match="no plan"):
        read(text, layout((1,)))


def test_a_plan_of_a_partition_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageMistake, match="gone-0"):
        read('{"partitions": [{"topic": "gone", "partition": 0, "replicas": [1]}]}', layout((1,)))
