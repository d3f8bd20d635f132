"""OffsetCommit, OffsetFetch, OffsetDelete and the administrators' requests by hand, in every version."""

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.consumer import OffsetFetchRequest

from compat_tests import admin
from compat_tests.groups.administration import all_offsets, deleted, described, listed, offset_deleted
from compat_tests.groups.member import Member, subscription
from compat_tests.waiting import eventually
from compat_tests.wire.batches import build
from compat_tests.wire.requests import produce, produced, topic_id

UNKNOWN_TOPIC_OR_PARTITION, OFFSET_METADATA_TOO_LARGE, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID = 3, 12, 22, 25
REBALANCE_IN_PROGRESS, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC = 27, 68, 69, 86
INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_ID = 17, 100
NOWHERE = "6f9c2a44-1111-4222-8333-123456789abc"

MakeMember = Callable[..., Member]
MakeTopic = Callable[..., str]


def told(answer: Any) -> tuple[int, int, str]:
    return answer.error_code, answer.committed_offset, answer.metadata


# -- who only keeps offsets


@pytest.mark.parametrize("version", range(2, 11))
def test_an_offset_is_committed(make_member: MakeMember, make_topic: MakeTopic, bootstrap: str, version: int) -> None:
    topic, member = make_topic(), make_member()
    identity = topic_id(bootstrap, topic)
    assert member.commit(topic, 42, version=version, identity=identity, metadata="note", leader_epoch=3) == 0
    answer = member.fetch(topic)
    assert told(answer) == (0, 42, "note")
    assert answer.committed_leader_epoch == (3 if version >= 6 else -1)


@pytest.mark.parametrize("version", range(1, 11))
def test_an_offset_is_fetched(make_member: MakeMember, make_topic: MakeTopic, bootstrap: str, version: int) -> None:
    topic, member = make_topic(partitions=2), make_member()
    identity = topic_id(bootstrap, topic)
    member.commit(topic, 7, partition=1, metadata="here")
    assert told(member.fetch(topic, partition=1, version=version, identity=identity)) == (0, 7, "here")
    assert told(member.fetch(topic, partition=0, version=version, identity=identity)) == (0, -1, "")


@pytest.mark.parametrize("version", range(2, 8))
def test_all_offsets_of_a_group_are_fetched(make_member: MakeMember, make_topic: MakeTopic, version: int) -> None:
    topic, member = make_topic(partitions=2), make_member()
    member.commit(topic, 1, partition=0)
    member.commit(topic, 2, partition=1)
    request = OffsetFetchRequest(version=version, group_id=member.group, topics=None, require_stable=False, groups=[])
    answer = member.wire.ask(request)
    assert answer.error_code == 0
    assert {each.partition_index: each.committed_offset for each in answer.topics[0].partitions} == {0: 1, 1: 2}


@pytest.mark.parametrize("version", [8, 9, 10])
def test_offsets_of_several_groups_are_fetched(
    make_member: MakeMember, make_topic: MakeTopic, bootstrap: str, version: int
) -> None:
    topic, member = make_topic(), make_member()
    name = topic if version < 10 else topic_id(bootstrap, topic)
    member.commit(topic, 5)
    other = f"{member.group}-other"
    member.commit(topic, 6, group_id=other)
    assert all_offsets(member.wire, member.group, other, f"{member.group}-none", version=version) == {
        member.group: {(name, 0): 5},
        other: {(name, 0): 6},
        f"{member.group}-none": {},
    }


def test_a_later_commit_replaces_an_earlier_one(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.commit(topic, 10, metadata="first")
    member.commit(topic, 4)
    assert told(member.fetch(topic)) == (0, 4, "")


@pytest.mark.parametrize("version", [2, 9])
def test_a_topic_that_does_not_exist(make_member: MakeMember, make_topic: MakeTopic, version: int) -> None:
    topic, member = make_topic(), make_member()
    assert member.commit("nowhere", 1, version=version) == UNKNOWN_TOPIC_OR_PARTITION
    assert member.commit(topic, 1, partition=1, version=version) == UNKNOWN_TOPIC_OR_PARTITION
    assert told(member.fetch("nowhere")) == (0, -1, "")


def test_a_topic_id_that_does_not_exist(make_member: MakeMember) -> None:
    member = make_member()
    assert member.commit("", 1, version=10, identity=NOWHERE) == UNKNOWN_TOPIC_ID
    assert member.fetch("", version=10, identity=NOWHERE).error_code == UNKNOWN_TOPIC_ID


def test_metadata_has_a_greatest_length(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    assert member.commit(topic, 1, metadata="x" * 4096) == 0
    assert member.commit(topic, 2, metadata="x" * 4097) == OFFSET_METADATA_TOO_LARGE
    assert member.fetch(topic).committed_offset == 1


@pytest.mark.parametrize(("version", "error"), [(8, ILLEGAL_GENERATION), (9, GROUP_ID_NOT_FOUND)])
def test_a_generation_of_a_group_that_does_not_exist(
    make_member: MakeMember, make_topic: MakeTopic, version: int, error: int
) -> None:
    topic, member = make_topic(), make_member(generation=1, member_id="m")
    assert member.commit(topic, 1, version=version) == error


# -- members


def test_a_member_commits_in_its_generation(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.settle()
    assert member.commit(topic, 3) == 0
    assert member.commit(topic, 4, generation_id_or_member_epoch=0) == ILLEGAL_GENERATION
    assert member.commit(topic, 4, member_id="stranger") == UNKNOWN_MEMBER_ID
    assert member.fetch(topic).committed_offset == 3


def test_only_members_commit_where_there_are_some(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.settle()
    assert make_member().commit(topic, 1) == UNKNOWN_MEMBER_ID


def test_a_member_commits_before_it_joins_the_next_round(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, one, two = make_topic(), make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    assert one.commit(topic, 1) == 0


def test_no_commit_before_the_assignment(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.join()
    assert member.commit(topic, 1) == REBALANCE_IN_PROGRESS


def test_offsets_stay_when_the_last_member_leaves(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.settle()
    member.commit(topic, 3)
    member.leave()
    assert member.fetch(topic).committed_offset == 3
    assert make_member().commit(topic, 4) == 0


# -- administration


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described(make_member: MakeMember, version: int) -> None:
    member = make_member(instance="static")
    member.settle(b"assigned")
    (group,) = described(member.wire, member.group, version=version)
    assert (group.error_code, group.group_state) == (0, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (one,) = group.members
    assert (one.member_id, one.client_id, one.client_host) == (member.member_id, "compat", "/127.0.0.1")
    assert (bytes(one.member_metadata), bytes(one.member_assignment)) == (subscription("t"), b"assigned")
    if version >= 4:
        assert one.group_instance_id == "static"


def test_every_state_is_described(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()

    def state() -> tuple[str, str, int]:
        (group,) = described(one.wire, one.group)
        return group.group_state, group.protocol_data, len(group.members)

    one.join()
    assert state() == ("CompletingRebalance", "", 1)
    one.sync()
    assert state() == ("Stable", "range", 1)
    two.start_join()
    eventually(state, ("PreparingRebalance", "", 2))
    one.leave()
    two.joined()
    two.leave()
    assert state() == ("Empty", "", 0)


@pytest.mark.parametrize("version", range(7))
def test_a_group_that_does_not_exist_is_described(make_member: MakeMember, version: int) -> None:
    member = make_member()
    (group,) = described(member.wire, member.group, version=version)
    assert (group.group_state, group.protocol_type, group.members) == ("Dead", "", [])
    if version >= 6:
        assert (group.error_code, group.error_message) == (GROUP_ID_NOT_FOUND, f"Group {member.group} not found.")
    else:
        assert group.error_code == 0


def test_what_may_be_done_with_a_group(make_member: MakeMember) -> None:
    member = make_member()
    member.settle()
    (group,) = described(member.wire, member.group, authorized_operations=True)
    assert group.authorized_operations == {3, 6, 8, 10, 11}


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(make_member: MakeMember, make_topic: MakeTopic, version: int) -> None:
    member = make_member()
    member.settle()
    simple = f"{member.group}-simple"
    make_member().commit(make_topic(), 1, group_id=simple)
    found = listed(member.wire, version=version)
    assert (found[member.group].protocol_type, found[simple].protocol_type) == ("consumer", "")
    if version >= 4:
        assert (found[member.group].group_state, found[simple].group_state) == ("Stable", "Empty")
    if version >= 5:
        assert (found[member.group].group_type, found[simple].group_type) == ("classic", "classic")


def test_groups_are_listed_by_state_and_type(make_member: MakeMember) -> None:
    member = make_member()
    member.settle()
    name, wire = member.group, member.wire
    assert name in listed(wire, states=("stable", "Empty"))
    assert name not in listed(wire, states=("Empty",))
    assert name in listed(wire, types=("Classic",))
    assert name not in listed(wire, types=("consumer",))


@pytest.mark.parametrize("version", range(3))
def test_an_empty_group_is_deleted(make_member: MakeMember, make_topic: MakeTopic, version: int) -> None:
    topic, member = make_topic(), make_member()
    member.settle()
    member.commit(topic, 3)
    assert deleted(member.wire, member.group, version=version) == [(member.group, NON_EMPTY_GROUP)]
    member.leave()
    assert deleted(member.wire, member.group, version=version) == [(member.group, 0)]
    assert deleted(member.wire, member.group, version=version) == [(member.group, GROUP_ID_NOT_FOUND)]
    assert member.fetch(topic).committed_offset == -1
    assert member.group not in listed(member.wire)


def test_offsets_of_a_topic_that_is_read_are_not_deleted(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, other = make_topic(), make_topic()
    member = make_member(protocols=(("range", subscription(topic)),))
    member.settle()
    member.commit(topic, 1)
    member.commit(other, 2)
    assert offset_deleted(member.wire, member.group, topic) == (0, GROUP_SUBSCRIBED_TO_TOPIC)
    assert offset_deleted(member.wire, member.group, other) == (0, 0)
    assert (member.fetch(topic).committed_offset, member.fetch(other).committed_offset) == (1, -1)


def test_offsets_of_an_empty_group_are_deleted(make_member: MakeMember, make_topic: MakeTopic) -> None:
    topic, member = make_topic(), make_member()
    member.commit(topic, 1)
    assert offset_deleted(member.wire, member.group, topic) == (0, 0)
    assert offset_deleted(member.wire, member.group, "nowhere") == (0, UNKNOWN_TOPIC_OR_PARTITION)
    assert member.fetch(topic).committed_offset == -1


def test_offsets_of_a_group_that_does_not_exist(make_member: MakeMember, make_topic: MakeTopic) -> None:
    member = make_member()
    assert offset_deleted(member.wire, member.group, make_topic())[0] == GROUP_ID_NOT_FOUND


def test_offsets_of_a_deleted_topic_are_forgotten(
    make_member: MakeMember, make_topic: MakeTopic, bootstrap: str
) -> None:
    topic, other, member = make_topic(), make_topic(), make_member()
    member.commit(topic, 9)
    member.commit(other, 1)
    admin.delete_topic(bootstrap, topic)
    eventually(lambda: all_offsets(member.wire, member.group), {member.group: {(other, 0): 1}})
    admin.create_topic(bootstrap, topic)
    assert member.fetch(topic).committed_offset == -1


def test_clients_do_not_write_to_the_topic_of_the_offsets(make_member: MakeMember, bootstrap: str) -> None:
    make_member()
    assert produced(bootstrap, produce("__consumer_offsets", build([b"x"]))).error_code == INVALID_TOPIC_EXCEPTION
