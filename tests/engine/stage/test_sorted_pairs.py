"""Sorted pairs against a sorted list."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage.sorted_pairs import LEAF_PAIRS, SortedPairs

VALUES = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)


def encoded(pairs: SortedPairs) -> bytes:
    return b"".join(pairs.encode())


class SortedPairsMachine(RuleBasedStateMachine):
    """Pairs in leaves of four, and the list."""

    @initialize()
    def start(self) -> None:
        self.pairs = SortedPairs(leaf_pairs=4)
        self.model: list[tuple[int, int]] = []

    @rule(added=st.lists(st.tuples(VALUES, VALUES), max_size=10))
    def add(self, added: list[tuple[int, int]]) -> None:
        for first, second in added:
            self.pairs.add(first, second)
        self.model = sorted([*self.model, *added])

    @rule(greatest=VALUES, limit=st.integers(0, 12))
    def take(self, greatest: int, limit: int) -> None:
        expected = [pair for pair in self.model if pair[0] <= greatest][:limit]
        assert self.pairs.take(greatest, limit) == expected
        self.model = self.model[len(expected) :]

    @rule(first=VALUES)
    def count(self, first: int) -> None:
        assert self.pairs.count_below(first) == sum(pair[0] < first for pair in self.model)

    @rule()
    def restart(self) -> None:
        data = encoded(self.pairs)
        self.pairs, end = SortedPairs.decode(b"?" + data, 1)
        self.pairs.leaf_pairs = 4
        assert end == len(data) + 1

    @invariant()
    def is_the_list(self) -> None:
        if hasattr(self, "pairs"):
            assert list(self.pairs) == self.model
            assert len(self.pairs) == len(self.model)
            assert self.pairs.first() == (self.model[0][0] if self.model else None)


TestSortedPairs = SortedPairsMachine.TestCase
TestSortedPairs.settings = settings(max_examples=80, stateful_step_count=30)


@pytest.mark.parametrize("step", [1, -1])
def test_a_pile_of_one_first_value_is_kept_in_leaves(step: int) -> None:
    pairs = SortedPairs()
    for second in range(20_000)[::step]:
        pairs.add(7, second)
    assert max(len(leaf.firsts) for leaf in pairs._leaves) <= LEAF_PAIRS
    assert len(pairs._leaves) <= 20_000 // LEAF_PAIRS * 2 + 1
    assert pairs.take(7, 20_000) == [(7, second) for second in range(20_000)]


@given(st.lists(st.tuples(VALUES, VALUES), max_size=4), st.data())
def test_damage_is_refused_or_gives_other_pairs(added: list[tuple[int, int]], data: st.DataObject) -> None:
    pairs = SortedPairs()
    for pair in added:
        pairs.add(*pair)
    damaged = bytearray(encoded(pairs))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            decoded, end = SortedPairs.decode(each, 0)
        except ValueError:
            continue
        assert end <= len(each)
        assert list(decoded) == sorted(decoded)


@pytest.mark.parametrize("data", [b"", b"\1", b"\xff" * 8, b"\xff" * 40, struct.pack("<Q4q", 2, 5, 5, 2, 1)])
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        SortedPairs.decode(data, 0)
