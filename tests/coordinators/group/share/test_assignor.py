"""Who reads what in a share group."""

from collections import Counter
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.group.share.assignor import Sharer, assign
from coordinators.group.share.record_formats import Assignment

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))
TOPICS = st.frozensets(st.sampled_from([A, B, C]))


def sizes(assigned: dict[str, Assignment]) -> list[int]:
    return [sum(map(len, each.values())) for each in assigned.values()]


def readers(assigned: dict[str, Assignment]) -> Counter[tuple[bytes, int]]:
    return Counter(
        (topic_id, index) for each in assigned.values() for topic_id, indexes in each.items() for index in indexes
    )


def same(names: str, *topics: bytes) -> dict[str, Sharer]:
    return {name: Sharer(frozenset(topics)) for name in names}


def again(members: dict[str, Sharer], before: dict[str, Assignment]) -> dict[str, Sharer]:
    return {name: Sharer(each.topics, before.get(name, {})) for name, each in members.items()}


def test_one_member_reads_everything() -> None:
    assert assign(same("a", A, B), {A: 2, B: 1}) == {"a": {A: {0, 1}, B: {0}}}


def test_more_members_than_partitions_read_together() -> None:
    assigned = assign(same("abcde", A), {A: 2})
    assert set(readers(assigned).values()) == {3}
    assert sorted(sizes(assigned)) == [1, 1, 1, 1, 2]


def test_members_keep_what_they_have_when_one_comes_or_goes() -> None:
    two = assign(same("ab", A), {A: 4})
    three = assign(again(same("abc", A), two), {A: 4})
    assert all(three[name][A] <= two[name][A] for name in "ab")
    assert assign(again(same("abc", A), three), {A: 4}) == three
    back = assign(again(same("ab", A), three), {A: 4})
    assert all(three[name][A] <= back[name][A] for name in "ab")


def test_who_wants_nothing_that_exists_has_nothing() -> None:
    assert assign({"a": Sharer(frozenset()), "b": Sharer(frozenset({A}))}, {A: 1}) == {"a": {}, "b": {A: {0}}}
    assert assign({}, {}) == {}


def test_what_is_gone_is_not_kept() -> None:
    held: Assignment = {A: frozenset({0, 7}), B: frozenset({0})}
    assert assign({"a": Sharer(frozenset({A}), held)}, {A: 2}) == {"a": {A: {0, 1}}}


def test_a_thousand_members_of_many_partitions_take_no_time() -> None:
    members = {f"m{number}": Sharer(frozenset({A, B})) for number in range(1_000)}
    assigned = assign(members, {A: 700, B: 333})
    assert set(readers(assigned).values()) == {1}
    assert assign(again(members, assigned), {A: 700, B: 333}) == assigned


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 5), st.randoms(use_true_random=False))
def test_members_that_want_the_same_are_balanced_whatever_they_had(count: int, a: int, b: int, random: object) -> None:
    topics = (A, B) if b else (A,)
    counts = {A: a, B: b} if b else {A: a}
    total, names = a + b, [f"m{number}" for number in range(count)]
    choose = random.random  # type: ignore[attr-defined]
    members = {
        name: Sharer(
            frozenset(topics),
            {topic: frozenset(index for index in range(counts[topic] + 2) if choose() < 0.4) for topic in topics},
        )
        for name in names
    }
    assigned = assign(members, counts)
    assert set(readers(assigned)) == {(topic, index) for topic in topics for index in range(counts[topic])}
    assert set(readers(assigned).values()) == {max(1, ceil(count / total))}
    assert max(sizes(assigned)) - min(sizes(assigned)) <= 1
    assert assign(again(members, assigned), counts) == assigned, "what is balanced stays"


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), TOPICS, max_size=9), st.data())
def test_members_that_want_different_things_all_get_something(
    wanted: dict[str, frozenset[bytes]], data: object
) -> None:
    counts = {topic: data.draw(st.integers(1, 5)) for topic in frozenset[bytes]().union(*wanted.values())}  # type: ignore[attr-defined]
    members = {name: Sharer(topics) for name, topics in wanted.items()}
    assigned = assign(members, counts)
    for name, topics in wanted.items():
        assert set(assigned[name]) <= topics
        assert bool(assigned[name]) == bool(topics)
    assert set(readers(assigned)) == {(topic, index) for topic, count in counts.items() for index in range(count)}
    following = assign(again(members, assigned), counts)
    assert all(bool(following[name]) == bool(topics) for name, topics in wanted.items())
