"""Where new partitions are put: spread over racks and nodes, as far as there are such."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.cluster.placement import place
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import InvalidReplicationFactor
from engine.ids import RandomBytes


def nodes(racks: Sequence[str | None], fenced: Sequence[int] = ()) -> list[NodeRecord]:
    return [NodeRecord(i + 1, ("PLAINTEXT://h:1",), rack, fenced=i + 1 in fenced) for i, rack in enumerate(racks)]


def lots(seed: int) -> RandomBytes:
    return Random(seed).randbytes


def spread(counts: Counter[int], known: Sequence[NodeRecord]) -> int:
    each = [counts[node.node_id] for node in known]
    return max(each) - min(each)


def loads(placed: Sequence[Sequence[int]]) -> tuple[Counter[int], Counter[int]]:
    return Counter(node for each in placed for node in each), Counter(each[0] for each in placed)


seeds = st.integers(0, 2**32)
counts = st.integers(1, 40)


@given(st.integers(1, 9), counts, st.data(), seeds)
def test_replicas_and_leaders_are_within_one_of_each_other(
    size: int, count: int, data: st.DataObject, seed: int
) -> None:
    known = nodes([None] * size)
    factor = data.draw(st.integers(1, size))
    placed = place(known, count, factor, lots(seed))
    replicas, leaders = loads(placed)
    assert len(placed) == count
    assert all(len(set(each)) == len(each) == factor for each in placed)
    assert spread(replicas, known) <= 1
    assert spread(leaders, known) <= 1


@given(st.integers(1, 4), st.integers(1, 4), counts, st.data(), seeds)
def test_equal_racks_do_not_cost_any_balance(racks: int, size: int, count: int, data: st.DataObject, seed: int) -> None:
    known = nodes([f"r{i % racks}" for i in range(racks * size)])
    factor = data.draw(st.integers(1, racks))
    placed = place(known, count, factor, lots(seed))
    replicas, leaders = loads(placed)
    assert spread(replicas, known) <= 1
    assert spread(leaders, known) <= 1


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9), counts, st.data(), seeds)
def test_a_rack_is_shared_only_if_all_others_are_used(
    racks: list[str | None], count: int, data: st.DataObject, seed: int
) -> None:
    fenced = data.draw(st.sets(st.integers(2, max(2, len(racks))), max_size=len(racks) - 1))
    known = nodes(racks, sorted(fenced))
    factor = data.draw(st.integers(1, len(known)))
    rack_of = {node.node_id: node.rack or f"alone {node.node_id}" for node in known}
    eligible = {node.node_id for node in known if node.is_eligible}
    for each in place(known, count, factor, lots(seed)):
        assert len(set(each)) == factor
        assert each[0] in eligible
        assert len(eligible.intersection(each)) == min(factor, len(eligible))
        taken = Counter(rack_of[node] for node in each if node in eligible)
        room = Counter(rack_of[node] for node in eligible - set(each))
        # Wherever an eligible node is left over, its rack has no fewer replicas than any other, or one fewer.
        assert all(taken[rack] >= max(taken.values()) - 1 for rack in room)


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=2, max_size=6), st.integers(1, 30), seeds)
def test_the_same_randomness_places_alike(racks: list[str | None], count: int, seed: int) -> None:
    assert place(nodes(racks), count, 2, lots(seed)) == place(nodes(racks), count, 2, lots(seed))


def test_single_partitions_begin_anywhere() -> None:
    known = nodes([None] * 3)
    first = {place(known, 1, 3, lots(seed))[0][0] for seed in range(40)}
    assert first == {1, 2, 3}


def test_what_a_lost_node_led_goes_to_all_others() -> None:
    placed = place(nodes([None] * 5), 100, 3, lots(1))
    assert {each[1] for each in placed if each[0] == 1} == {2, 3, 4, 5}


def test_more_partitions_go_where_the_topic_has_fewest() -> None:
    held = [PartitionRecord.on(1, 2), PartitionRecord.on(2, 1)]
    assert place(nodes([None] * 3), 2, 1, lots(5), held) == [(3,), (3,)]


@pytest.mark.parametrize(
    ("known", "factor", "message"),
    [
        (nodes([None] * 2), 3, r"3 time\(s\): The target replication factor of 3 .* only 2 broker\(s\) are registered"),
        (nodes([None], [1]), 1, "All brokers are currently fenced"),
    ],
)
def test_too_few_nodes_are_told(known: list[NodeRecord], factor: int, message: str) -> None:
    with pytest.raises(InvalidReplicationFactor, match=message):
        place(known, 1, factor, lots(0))
