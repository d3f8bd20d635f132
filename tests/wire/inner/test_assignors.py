"""Whatever members want and have, every partition that somebody wants is dealt once, to one who wants it."""

from hypothesis import given
from hypothesis import strategies as st

from wire.inner.assignors import ASSIGNORS, Claimant, by_range, by_round_robin, cooperative_sticky, sticky

TOPICS = ("a", "b", "c")
counts_of_topics = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 7), min_size=1)


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[Claimant], dict[str, int]]:
    counts = draw(counts_of_topics)
    places = st.tuples(st.sampled_from(TOPICS), st.integers(0, 8))
    members = [
        Claimant(
            f"m{number}",
            draw(st.frozensets(st.sampled_from(TOPICS), min_size=1)),
            draw(st.frozensets(places, max_size=6)),
            draw(st.integers(-1, 3)),
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    return members, counts


@given(groups())
def test_every_wanted_partition_has_one_reader_who_wants_it(case: tuple[list[Claimant], dict[str, int]]) -> None:
    members, counts = case
    wanted = {topic for each in members for topic in each.topics}
    expected = {(topic, index) for topic in counts if topic in wanted for index in range(counts[topic])}
    by_id = {each.member_id: each for each in members}
    for name, assign in ASSIGNORS.items():
        dealt = assign(members, counts)
        assert dealt.keys() == by_id.keys()
        places = [place for each in dealt.values() for place in each]
        assert len(places) == len(set(places))
        assert all(topic in by_id[member].topics for member, each in dealt.items() for topic, _ in each)
        held = {place for each in members for place in each.owned} if name == "cooperative-sticky" else set()
        assert expected - held <= set(places) <= expected


@given(groups())
def test_what_moves_is_let_go_before_it_is_dealt(case: tuple[list[Claimant], dict[str, int]]) -> None:
    members, counts = case
    dealt = cooperative_sticky(members, counts)
    for each in members:
        for other in members:
            if other.member_id != each.member_id:
                holds_too = each.owned & other.owned
                assert not set(dealt[each.member_id]) & (other.owned - holds_too)


@given(groups())
def test_nobody_has_two_more_than_one_who_wants_the_same(case: tuple[list[Claimant], dict[str, int]]) -> None:
    members, counts = case
    dealt = sticky(members, counts)
    by_id = {each.member_id: each for each in members}
    for member, places in dealt.items():
        for topic, _ in places:
            eligible = [len(dealt[other]) for other in by_id if topic in by_id[other].topics]
            assert len(dealt[member]) - min(eligible) <= 1


def test_rounds_of_cooperation_end_where_everything_is_dealt() -> None:
    counts = {"a": 6}
    owned = frozenset(("a", index) for index in range(6))
    members = [Claimant("m1", frozenset("a"), owned, 1), Claimant("m2", frozenset("a"))]
    first = cooperative_sticky(members, counts)
    assert {member: len(places) for member, places in first.items()} == {"m1": 3, "m2": 0}
    members = [Claimant(each.member_id, each.topics, frozenset(first[each.member_id]), 2) for each in members]
    second = cooperative_sticky(members, counts)
    assert second["m1"] == first["m1"]
    assert len(second["m2"]) == 3


def test_ranges_are_neighbours_and_turns_alternate_as_in_kafka() -> None:
    members = [Claimant("m2", frozenset("ab")), Claimant("m1", frozenset("ab"))]
    assert by_range(members, {"a": 3, "b": 2}) == {
        "m1": [("a", 0), ("a", 1), ("b", 0)],
        "m2": [("a", 2), ("b", 1)],
    }
    assert by_round_robin(members, {"a": 3, "b": 2}) == {
        "m1": [("a", 0), ("a", 2), ("b", 1)],
        "m2": [("a", 1), ("b", 0)],
    }
