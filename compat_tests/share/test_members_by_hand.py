"""Members of share groups, heartbeat by heartbeat: who is let in, who gets what, and what is refused how."""

import pytest

from compat_tests.groups.administration import deleted, listed
from compat_tests.groups.member import Member
from compat_tests.share.asking import ask
from compat_tests.share.conftest import GROUP_MAX_SIZE, MakeMember, MakeTopic
from compat_tests.share.member import ShareMember
from compat_tests.waiting import eventually
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.share_group_describe import ShareGroupDescribeRequest

UNKNOWN_MEMBER_ID, INVALID_REQUEST = 25, 42
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, FENCED_MEMBER_EPOCH = 68, 69, 81, 110


def settle(*members: ShareMember, partitions: int) -> None:
    """Heartbeats in turn until every partition of the one topic is somebody's and everybody has something."""

    def is_settled() -> bool:
        for member in members:
            member.beat()
        held = [set(*member.assigned.values()) if member.assigned else set() for member in members]
        return set().union(*held) == set(range(partitions)) and all(held)

    eventually(is_settled, True)


def describe(member: ShareMember) -> object:
    return ask(member.wire, ShareGroupDescribeRequest(group_ids=[member.group])).groups[0]


# -- joining


def test_the_first_member_gets_everything(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(3)
    member = make_member()
    answer = member.join(topic)
    assert (answer.error_code, answer.member_id, answer.assignment is not None) == (0, member.member_id, True)
    assert answer.member_epoch > 0
    assert 0 < answer.heartbeat_interval_ms <= 5000
    eventually(lambda: (member.beat(), member.assigned)[1], {member.topic_id(topic): [0, 1, 2]})


def test_a_settled_member_is_told_nothing_new(make_topic: MakeTopic, make_member: MakeMember) -> None:
    member = make_member()
    member.join(make_topic())
    settle(member, partitions=1)
    epoch = member.epoch
    eventually(lambda: member.beat().assignment, None)
    assert member.epoch == epoch
    assert member.beat(subscribed_topic_names=None).assignment is None


def test_members_outnumber_partitions(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(2)
    members = [make_member() for _ in range(4)]
    for member in members:
        member.join(topic)
    settle(*members, partitions=2)

    def holders() -> list[int]:
        for member in members:
            member.beat()
        held = [index for member in members for partitions in member.assigned.values() for index in partitions]
        return [held.count(0), held.count(1)]

    eventually(holders, [2, 2])


def test_partitions_are_shared_out(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(4)
    one, two = make_member(), make_member()
    one.join(topic)
    two.join(topic)

    def counts() -> list[int]:
        for member in (one, two):
            member.beat()
        return [sum(map(len, member.assigned.values())) for member in (one, two)]

    eventually(counts, [2, 2])
    assert sorted(index for member in (one, two) for at in member.assigned.values() for index in at) == [0, 1, 2, 3]


def test_partitions_that_are_added_are_assigned(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(1)
    member = make_member()
    member.join(topic)
    settle(member, partitions=1)
    wanted = CreatePartitionsTopic(name=topic, count=3, assignments=None)
    assert ask(member.wire, CreatePartitionsRequest([wanted], 10_000), 3).results[0].error_code == 0
    settle(member, partitions=3)


def test_what_a_member_had_goes_to_the_others_when_it_leaves(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(2)
    one, two = make_member(), make_member()
    one.join(topic)
    two.join(topic)
    settle(one, two, partitions=2)
    answer = two.leave()
    assert (answer.error_code, answer.member_epoch) == (0, -1)
    settle(one, partitions=2)
    assert two.beat(5).error_code == UNKNOWN_MEMBER_ID


# -- refusals


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, INVALID_REQUEST),
        ({"member_id": ""}, INVALID_REQUEST),
        ({"member_id": "m" * 37}, INVALID_REQUEST),
        ({"epoch": -2}, INVALID_REQUEST),
        ({"subscribed_topic_names": None}, INVALID_REQUEST),
        ({"subscribed_topic_names": []}, INVALID_REQUEST),
        ({"rack_id": ""}, INVALID_REQUEST),
        ({"epoch": 5}, GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, GROUP_ID_NOT_FOUND),
    ],
)
def test_requests_that_make_no_sense(
    make_topic: MakeTopic, make_member: MakeMember, fields: dict[str, object], error: int
) -> None:
    given = {"subscribed_topic_names": [make_topic()], "epoch": 0, **fields}
    assert make_member().beat(**given).error_code == error  # type: ignore[arg-type]


def test_an_id_of_36_characters_is_taken(make_topic: MakeTopic, make_member: MakeMember) -> None:
    assert make_member(member_id="m" * 36).join(make_topic()).error_code == 0


def test_epochs(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic()
    member = make_member()
    member.join(topic)
    settle(member, partitions=1)
    current = member.epoch
    assert member.beat(current).error_code == 0
    assert member.beat(current + 1).error_code == FENCED_MEMBER_EPOCH
    assert make_member().beat(1).error_code == UNKNOWN_MEMBER_ID
    assert make_member().leave().error_code == UNKNOWN_MEMBER_ID
    assert member.join(topic).error_code == 0, "it may join again"
    assert member.epoch >= current
    assert member.assigned


def test_the_previous_epoch_is_taken(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(2)
    one, two = make_member(), make_member()
    one.join(topic)
    settle(one, partitions=2)
    before = one.epoch
    two.join(topic)
    eventually(lambda: (two.beat(), one.beat(), one.epoch > before)[2], True)
    assert one.beat(before).error_code == 0


def test_a_classic_group_takes_no_share_members(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    classic = Member(bootstrap, group)
    classic.settle()
    sharing = ShareMember(bootstrap, group)
    try:
        assert sharing.join(make_topic()).error_code == GROUP_ID_NOT_FOUND
    finally:
        sharing.close()
        classic.close()


def test_a_full_group(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic()
    for _ in range(GROUP_MAX_SIZE):
        assert make_member().join(topic).error_code == 0
    assert make_member().join(topic).error_code == GROUP_MAX_SIZE_REACHED


# -- to be seen


def test_a_group_is_described_and_listed(make_topic: MakeTopic, make_member: MakeMember) -> None:
    topic = make_topic(2)
    member = make_member()
    member.join(topic, rack_id="r")
    settle(member, partitions=2)
    group = describe(member)
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "simple")
    (described,) = group.members
    assert (described.member_id, described.rack_id, described.client_id) == (member.member_id, "r", "compat")
    assert (described.member_epoch, described.subscribed_topic_names) == (member.epoch, [topic])
    (place,) = described.assignment.topic_partitions
    assert (place.topic_name, sorted(place.partitions)) == (topic, [0, 1])
    shown = listed(member.wire, types=("share",))[member.group]
    assert (shown.group_type.lower(), shown.group_state, shown.protocol_type) == ("share", "Stable", "share")
    assert member.group not in listed(member.wire, types=("consumer",))


def test_an_unknown_group_is_not_described(make_member: MakeMember) -> None:
    assert describe(make_member()).error_code == GROUP_ID_NOT_FOUND


def test_only_an_empty_group_is_deleted(make_topic: MakeTopic, make_member: MakeMember) -> None:
    member = make_member()
    member.join(make_topic())
    settle(member, partitions=1)
    assert deleted(member.wire, member.group) == [(member.group, NON_EMPTY_GROUP)]
    member.leave()
    assert describe(member).group_state == "Empty"
    assert deleted(member.wire, member.group) == [(member.group, 0)]
    assert describe(member).error_code == GROUP_ID_NOT_FOUND
