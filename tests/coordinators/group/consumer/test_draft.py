"""A group as an operation would have it: replaying its records makes the same."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.consumer.draft import Draft, Overlay
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember
from coordinators.group.consumer.record_formats import SubscriptionValue
from coordinators.group.consumer.replay import ConsumerReplay
from coordinators.group.offsets import Offsets
from coordinators.topic_view import TopicView
from tests.coordinators.group.consumer_shard import topic_id, topic_of


def topics(**counts: int) -> TopicView:
    view = TopicView()
    for name, count in counts.items():
        view.add(topic_of(name, count))
    return view


def member(member_id: str, *names: str, regex: str | None = None, instance: str | None = None) -> ConsumerMember:
    return ConsumerMember(member_id, SubscriptionValue(instance, topics=names, regex=regex))


def drafted(view: TopicView, *members: ConsumerMember) -> Draft:
    draft = Draft(ConsumerGroup("g"), view, 1_000)
    for each in members:
        draft.subscribe(each)
    draft.resolve_regexes(again=False)
    draft.raise_epoch()
    draft.compute_target("uniform")
    return draft


def replayed(draft: Draft) -> ConsumerGroup:
    groups: dict[str, ConsumerGroup] = {}
    replays = ConsumerReplay(groups, {}, Offsets()).by_key()
    for record in draft.records:
        replays[int.from_bytes(record.key[:2], "big")](record, -1)
    return groups["g"]


def test_its_records_say_what_it_holds() -> None:
    draft = drafted(topics(t=2, x1=1), member("a", "t"), member("b", regex="x."))
    group = replayed(draft)
    assert (group.epoch, group.metadata_hash, group.assignment_epoch) == (1, draft.metadata_hash, 1)
    assert (group.members, group.targets, group.regexes) == (draft.members, draft.targets, draft.regexes)
    assert group.targets == {"a": {topic_id("t"): {0, 1}}, "b": {topic_id("x1"): {0}}}


def test_a_target_is_written_only_for_those_whose_share_changes() -> None:
    group = replayed(drafted(topics(t=4), member("a", "t"), member("b", "t")))
    again = Draft(group, topics(t=4), 2_000)
    again.raise_epoch()
    again.compute_target("uniform")
    assert len(again.records) == 2, "the two epochs"


def test_the_hash_tells_whether_topics_are_others() -> None:
    def hash_of(**counts: int) -> int:
        return drafted(topics(**counts), member("a", "t")).metadata_hash

    assert hash_of(t=1) == hash_of(t=1, unread=5)
    assert len({hash_of(t=1), hash_of(t=2), hash_of(unread=1)}) == 3


def test_a_static_member_under_another_id_has_the_place_of_the_former() -> None:
    group = replayed(drafted(topics(t=2), member("a", "t", instance="i")))
    held = evolve(group.members["a"], assigned={topic_id("t"): {0: 1}})
    group.replay_current("a", held.current)
    draft = Draft(group, topics(t=2), 2_000)
    draft.replace(group.members["a"], "b")
    assert draft.owner(topic_id("t"), 0) == "b"
    assert (set(draft.members), draft.targets["b"]) == ({"b"}, group.targets["a"])


KEYS = st.integers(0, 5)


@given(
    st.dictionaries(KEYS, st.integers()),
    st.lists(st.tuples(st.booleans(), KEYS, st.integers())),
)
def test_it_is_what_a_changed_copy_would_be(beneath: dict[int, int], changes: list[tuple[bool, int, int]]) -> None:
    before = dict(beneath)
    overlay, copy = Overlay(beneath), dict(beneath)
    for is_set, key, value in changes:
        if is_set:
            overlay[key] = copy[key] = value
        else:
            assert overlay.pop(key, None) == copy.pop(key, None)
    assert dict(overlay) == copy
    assert len(overlay) == len(copy)
    assert [overlay.get(key) for key in range(6)] == [copy.get(key) for key in range(6)]
    assert beneath == before


def test_what_is_not_there_cannot_be_read_or_taken_out() -> None:
    overlay = Overlay({"a": 1})
    del overlay["a"]
    for call in (lambda: overlay["a"], lambda: overlay["b"], lambda: overlay.pop("a")):
        with pytest.raises(KeyError):
            call()


def test_it_tells_what_was_and_what_is() -> None:
    overlay = Overlay({"a": 1, "b": 2, "c": 3})
    overlay["a"], overlay["d"] = 10, 4
    del overlay["b"]
    assert set(overlay.changed()) == {(1, 10), (None, 4), (2, None)}
