"""The broker's assignors: balance, stickiness, ranges."""

from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.consumer.assignors import Candidate, assign_range, assign_uniform
from coordinators.group.consumer.record_formats import Assignment

T, U = b"t" * 16, b"u" * 16
NOTHING: Assignment = {}


def want(*topics: bytes, had: Assignment = NOTHING, instance: str | None = None) -> Candidate:
    return Candidate(frozenset(topics), had, instance)


def sizes(shares: dict[str, Assignment]) -> dict[str, int]:
    return {member_id: sum(map(len, share.values())) for member_id, share in shares.items()}


def test_range_gives_neighbouring_partitions_of_every_topic() -> None:
    shares = assign_range({"b": want(T, U), "a": want(T, U)}, {T: 3, U: 2})
    assert shares == {"a": {T: {0, 1}, U: {0}}, "b": {T: {2}, U: {1}}}


def test_range_puts_static_members_first_by_their_names() -> None:
    shares = assign_range({"a": want(T), "z": want(T, instance="one")}, {T: 3})
    assert shares == {"z": {T: {0, 1}}, "a": {T: {2}}}


def test_more_members_than_partitions_leave_some_without() -> None:
    for assign in (assign_range, assign_uniform):
        assert sorted(sizes(assign({name: want(T) for name in "abc"}, {T: 2})).values()) == [0, 1, 1]


def test_nobody_gets_a_topic_that_it_does_not_want() -> None:
    for assign in (assign_range, assign_uniform):
        assert assign({"a": want(T), "b": want(U)}, {T: 2, U: 1}) == {"a": {T: {0, 1}}, "b": {U: {0}}}


def test_uniform_moves_only_what_balance_demands() -> None:
    before = assign_uniform({"a": want(T), "b": want(T)}, {T: 6})
    after = assign_uniform({**{name: want(T, had=before[name]) for name in "ab"}, "c": want(T)}, {T: 6})
    assert sizes(after) == {"a": 2, "b": 2, "c": 2}
    assert all(after[name][T] < before[name][T] for name in "ab")


def test_uniform_gives_the_share_of_one_who_left_to_the_others_and_moves_nothing_else() -> None:
    before = assign_uniform({name: want(T) for name in "abc"}, {T: 7})
    after = assign_uniform({name: want(T, had=before[name]) for name in "ab"}, {T: 7})
    assert all(before[name][T] <= after[name][T] for name in "ab")


def test_uniform_forgets_partitions_that_are_no_more() -> None:
    assert assign_uniform({"a": want(T, had={T: frozenset({0, 9}), U: frozenset({0})})}, {T: 2}) == {"a": {T: {0, 1}}}


_members = st.dictionaries(
    st.sampled_from("abcdef"),
    st.tuples(
        st.frozensets(st.sampled_from([T, U]), max_size=2),
        st.dictionaries(st.sampled_from([T, U]), st.frozensets(st.integers(0, 7))),
    ),
    min_size=1,
)


@given(_members, st.integers(0, 8), st.integers(0, 8))
def test_uniform_gives_every_wanted_partition_once_and_nobody_two_more_than_another_could_take(
    given_members: dict[str, tuple[frozenset[bytes], Assignment]], t_count: int, u_count: int
) -> None:
    counts = {T: t_count, U: u_count}
    members = {name: want(*topics, had=had) for name, (topics, had) in given_members.items()}
    shares = assign_uniform(members, counts)
    given_out = [(topic, index) for share in shares.values() for topic, indexes in share.items() for index in indexes]
    wanted = {topic for member in members.values() for topic in member.topics}
    assert sorted(given_out) == sorted((topic, index) for topic in wanted for index in range(counts[topic]))
    load = sizes(shares)
    for name, share in shares.items():
        assert share.keys() <= members[name].topics
        for topic in share:
            assert all(load[name] <= load[other] + 1 for other in members if topic in members[other].topics)
