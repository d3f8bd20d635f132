"""ConsumerGroupHeartbeat and ConsumerGroupDescribe by hand: both versions, and what only errors show."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from kio.static.primitive import i32Timedelta

from compat_tests import admin
from compat_tests.conftest import unique_name
from compat_tests.groups.administration import deleted, listed, offset_deleted
from compat_tests.groups.consumer_member import ConsumerMember
from compat_tests.groups.member import Member
from compat_tests.making import making
from compat_tests.waiting import eventually

INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, INVALID_REQUEST, NON_EMPTY_GROUP = 23, 25, 42, 68
GROUP_ID_NOT_FOUND, FENCED_INSTANCE_ID, GROUP_SUBSCRIBED_TO_TOPIC = 69, 82, 86
FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, STALE_MEMBER_EPOCH = 110, 111, 112, 113
INVALID_REGULAR_EXPRESSION = 128
NO_TIMEOUT = i32Timedelta.parse(timedelta(milliseconds=-1))

MakeTopic = Callable[..., str]
MakeConsumer = Callable[..., ConsumerMember]
MakeMember = Callable[..., Member]


@pytest.fixture
def make_consumer(bootstrap: str, group: str) -> Iterator[MakeConsumer]:
    """Makes members of the new protocol, each on a connection of its own."""
    with making(partial(ConsumerMember, bootstrap, group)) as make:
        yield make


def settle(*members: ConsumerMember) -> None:
    """Heartbeats in turn until everybody has its share; Kafka 4.3 reckons a new one only after a while (KIP-1263)."""

    def is_settled() -> bool:
        for member in members:
            member.report()
        group = members[0].described()
        return group.group_state == "Stable" and all(member.epoch == group.group_epoch for member in members)

    eventually(is_settled, True)


# -- joining


@pytest.mark.parametrize("version", [0, 1])
def test_the_first_member_gets_everything(make_topic: MakeTopic, make_consumer: MakeConsumer, version: int) -> None:
    topic = make_topic(partitions=3)
    member = make_consumer(version=version)
    answer = member.join(topic)
    assert (answer.error_code, answer.error_message, answer.member_id) == (0, None, member.member_id)
    assert (member.epoch > 0, member.partitions) == (True, [0, 1, 2])
    assert timedelta() < answer.heartbeat_interval <= timedelta(seconds=5)


def test_a_client_of_version_0_is_given_an_id(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    member = make_consumer(member_id="", version=0)
    assert member.join(make_topic()).error_code == 0
    assert member.member_id


def test_partitions_go_from_one_member_to_the_next_only_when_given_back(
    make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topic = make_topic(partitions=4)
    one, two = make_consumer(), make_consumer()
    one.join(topic)
    two.join(topic)
    epoch = one.epoch
    assert two.partitions == []
    eventually(lambda: (two.report(), one.beat(), len(one.partitions))[2], 2)
    assert (one.epoch, two.report().assignment) == (epoch, None), "it has not said yet that it gave back"
    assert one.report().member_epoch > epoch
    two.report()
    assert sorted(one.partitions + two.partitions) == [0, 1, 2, 3]


def test_a_heartbeat_of_a_settled_member_says_nothing_new(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    member = make_consumer()
    member.join(make_topic())
    epoch = member.epoch
    answer = member.beat()
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, epoch, None)


def test_the_range_assignor_gives_neighbours(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    topic = make_topic(partitions=4)
    members = [make_consumer(member_id="a"), make_consumer(member_id="b")]
    for member in members:
        member.join(topic, server_assignor="range")
    settle(*members)
    assert [member.partitions for member in members] == [[0, 1], [2, 3]]
    assert members[0].described().assignor_name == "range"


def test_a_topic_that_comes_later_is_assigned(
    bootstrap: str, make_topic: MakeTopic, make_consumer: MakeConsumer, group: str
) -> None:
    later = unique_name("later")
    member = make_consumer()
    member.join(make_topic(), later)
    assert member.partitions == [0]
    admin.create_topic(bootstrap, later, 2, {})
    eventually(lambda: (member.report(), member.partitions)[1], [0, 0, 1])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"rebalance_timeout": NO_TIMEOUT}, INVALID_REQUEST),
        ({"topic_partitions": None}, INVALID_REQUEST),
        ({"subscribed_topic_names": None}, INVALID_REQUEST),
        ({"instance_id": ""}, INVALID_REQUEST),
        ({"rack_id": ""}, INVALID_REQUEST),
        ({"epoch": -2}, INVALID_REQUEST),
        ({"epoch": 5}, GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, GROUP_ID_NOT_FOUND),
        ({"server_assignor": "mine"}, UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, INVALID_REGULAR_EXPRESSION),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    make_topic: MakeTopic, make_consumer: MakeConsumer, changes: dict[str, Any], error: int
) -> None:
    answer = make_consumer().join(make_topic(), **changes)
    assert answer.error_code == error
    assert answer.error_message


def test_a_client_of_version_1_brings_its_id(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    assert make_consumer(member_id="").join(make_topic()).error_code == INVALID_REQUEST


# -- epochs and leaving


def test_a_member_in_another_epoch_is_fenced_and_one_that_is_none_is_unknown(
    make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    member = make_consumer()
    member.join(make_topic())
    assert member.beat(epoch=7).error_code == FENCED_MEMBER_EPOCH
    assert make_consumer().beat(epoch=1).error_code == UNKNOWN_MEMBER_ID
    assert make_consumer().leave().error_code == UNKNOWN_MEMBER_ID


def test_the_share_of_a_member_that_leaves_goes_to_the_others(
    make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topic = make_topic(partitions=4)
    one, two = make_consumer(), make_consumer()
    one.join(topic)
    two.join(topic)
    settle(one, two)
    assert two.leave().member_epoch == -1
    eventually(lambda: (one.beat(), one.partitions)[1], [0, 1, 2, 3])


def test_a_member_that_does_not_give_back_in_time_is_taken_out(
    make_topic: MakeTopic, make_consumer: MakeConsumer
) -> None:
    topic = make_topic(partitions=2)
    slow, other = make_consumer(), make_consumer()
    slow.join(topic, rebalance_ms=1500)
    other.join(topic)
    eventually(lambda: (other.report(), slow.beat(), len(slow.partitions))[2], 1)
    eventually(lambda: (other.report(), other.partitions)[1], [0, 1])
    assert slow.beat().error_code == UNKNOWN_MEMBER_ID


# -- static members


def test_a_static_member_comes_back_without_a_rebalance(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    topic = make_topic(partitions=4)
    one, two = make_consumer(instance="one"), make_consumer(instance="two")
    one.join(topic)
    two.join(topic)
    settle(one, two)
    epoch, share = two.epoch, two.partitions
    assert two.leave(-2).member_epoch == -2
    assert one.beat().assignment is None
    back = make_consumer(instance="two")
    assert back.join(topic).error_code == 0
    assert (back.epoch, back.partitions) == (epoch, share)
    assert two.beat(epoch=epoch).error_code == FENCED_INSTANCE_ID


def test_a_name_in_use_is_not_given_to_another(make_topic: MakeTopic, make_consumer: MakeConsumer) -> None:
    topic = make_topic()
    one = make_consumer(instance="one")
    one.join(topic)
    assert make_consumer(instance="one").join(topic).error_code == UNRELEASED_INSTANCE_ID
    assert make_consumer(instance="other").beat(epoch=1).error_code == UNKNOWN_MEMBER_ID
    assert one.beat().error_code == 0


# -- expressions


def test_an_expression_follows_the_topics(bootstrap: str, make_consumer: MakeConsumer) -> None:
    prefix = unique_name("regex")
    admin.create_topic(bootstrap, f"{prefix}-a", 1, {})
    member = make_consumer()
    assert member.join(subscribed_topic_names=(), subscribed_topic_regex=f"{prefix}-.*").error_code == 0
    eventually(lambda: (member.report(), member.partitions)[1], [0])
    admin.create_topic(bootstrap, f"{prefix}-b", 2, {})
    # Kafka looks again only some seconds later.
    eventually(lambda: (member.report(), member.partitions)[1], [0, 0, 1], seconds=30)


# -- offsets


def test_members_commit_in_their_epoch(
    make_topic: MakeTopic, make_consumer: MakeConsumer, make_member: MakeMember
) -> None:
    topic = make_topic()
    member, classic = make_consumer(), make_member()
    member.join(topic)
    epoch = member.epoch
    assert classic.commit(topic, 1, version=9, member_id=member.member_id, generation_id_or_member_epoch=epoch) == 0
    assert (
        classic.commit(topic, 2, version=9, member_id=member.member_id, generation_id_or_member_epoch=7)
        == STALE_MEMBER_EPOCH
    )
    assert classic.commit(topic, 3, version=9, member_id="nobody", generation_id_or_member_epoch=1) == UNKNOWN_MEMBER_ID
    assert classic.commit(topic, 4, version=9) == UNKNOWN_MEMBER_ID


# -- administration


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described(make_topic: MakeTopic, make_consumer: MakeConsumer, group: str, version: int) -> None:
    topic = make_topic(partitions=2)
    member = make_consumer(instance="one")
    member.join(topic, rack_id="r")
    found = member.described(version)
    assert (found.error_code, found.group_id, found.group_state) == (0, group, "Stable")
    assert (found.group_epoch, found.assignment_epoch, found.assignor_name) == (member.epoch, member.epoch, "uniform")
    (one,) = found.members
    assert (one.member_id, one.instance_id, one.rack_id) == (member.member_id, "one", "r")
    assert one.member_epoch == member.epoch
    assert (one.client_id, one.client_host) == ("compat", "/127.0.0.1")
    assert one.subscribed_topic_names == (topic,)
    for assignment in (one.assignment, one.target_assignment):
        (place,) = assignment.topic_partitions
        assert (place.topic_name, place.partitions) == (topic, (0, 1))
    if version == 1:
        assert one.member_type == 1


def test_groups_that_are_none_are_not_described(
    make_topic: MakeTopic, make_consumer: MakeConsumer, make_member: MakeMember
) -> None:
    assert make_consumer().described().error_code == GROUP_ID_NOT_FOUND
    make_member().commit(make_topic(), 1)
    assert make_consumer().described().error_code == GROUP_ID_NOT_FOUND


def test_groups_are_listed_by_type_and_state(make_topic: MakeTopic, make_consumer: MakeConsumer, group: str) -> None:
    member = make_consumer()
    member.join(make_topic())
    shown = listed(member.wire, types=("Consumer",))[group]
    assert (shown.protocol_type, shown.group_state, shown.group_type) == ("consumer", "Stable", "consumer")
    assert group not in listed(member.wire, types=("classic",))
    assert group not in listed(member.wire, states=("Empty",))
    member.leave()
    assert group in listed(member.wire, states=("empty",), types=("consumer",))


def test_a_group_with_members_is_not_deleted_and_topics_that_it_reads_keep_their_offsets(
    make_topic: MakeTopic, make_consumer: MakeConsumer, group: str
) -> None:
    topic = make_topic()
    member = make_consumer()
    member.join(topic)
    assert deleted(member.wire, group) == [(group, NON_EMPTY_GROUP)]
    assert offset_deleted(member.wire, group, topic) == (0, GROUP_SUBSCRIBED_TO_TOPIC)
    member.leave()
    assert deleted(member.wire, group) == [(group, 0)]
    assert member.described().error_code == GROUP_ID_NOT_FOUND


# -- the other protocol


def test_a_group_without_members_passes_to_the_other_protocol_with_its_offsets(
    make_topic: MakeTopic, make_consumer: MakeConsumer, make_member: MakeMember, group: str
) -> None:
    topic = make_topic()
    classic, member = make_member(), make_consumer()
    classic.commit(topic, 5)
    assert member.join(topic).error_code == 0
    assert classic.fetch(topic).committed_offset == 5
    member.leave()
    classic.settle()
    assert listed(member.wire)[group].group_type == "classic"
    assert classic.fetch(topic).committed_offset == 5


def test_a_group_of_another_type_does_not_become_a_consumer_group(
    make_topic: MakeTopic, make_consumer: MakeConsumer, make_member: MakeMember
) -> None:
    make_member(protocol_type="connect").settle()
    assert make_consumer().join(make_topic()).error_code == GROUP_ID_NOT_FOUND


def test_a_consumer_group_takes_no_members_of_another_type(
    make_topic: MakeTopic, make_consumer: MakeConsumer, make_member: MakeMember
) -> None:
    make_consumer().join(make_topic())
    other = make_member(protocol_type="connect", version=3)
    answer = other.wire.ask(other.join_request())
    assert answer.error_code == INCONSISTENT_GROUP_PROTOCOL
