"""Who may commit and fetch offsets of a consumer group, and in which epoch."""

import pytest

from coordinators.group.consumer.checks import check_commit, check_epoch, check_fetch
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember
from coordinators.group.consumer.record_formats import ClassicMetadata, CurrentValue, SubscriptionValue
from coordinators.group.requests import CommitRequest, OffsetToCommit
from engine.errors import (
    FencedMemberEpoch,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)

T = b"t" * 16


@pytest.fixture
def group() -> ConsumerGroup:
    """Member a is at epoch 5, has 0 since epoch 3 and 1 since 5, and gives 2 back that it had since 4."""
    group = ConsumerGroup("g")
    group.replay_subscription("a", SubscriptionValue())
    group.replay_current("a", CurrentValue(5, 4, 2, {T: {0: 3, 1: 5}}, {T: {2: 4}}))
    return group


def commit(member_id: str, epoch: int, *partitions: int, new_enough: bool = True) -> CommitRequest:
    offsets = tuple(OffsetToCommit("t", partition, 1, topic_id=T) for partition in partitions or (0,))
    return CommitRequest("g", member_id, epoch, offsets, can_be_told_of_no_group=new_enough)


def test_members_commit_in_their_epoch(group: ConsumerGroup) -> None:
    assert check_commit(group, commit("a", 5, 0, 7), transactional=False) == [None, None]
    with pytest.raises(StaleMemberEpoch):
        check_commit(group, commit("a", 6), transactional=False)
    with pytest.raises(UnknownMemberId):
        check_commit(group, commit("b", 5), transactional=False)


def test_a_member_that_is_behind_commits_what_it_was_given_by_then(group: ConsumerGroup) -> None:
    errors = check_commit(group, commit("a", 4, 0, 1, 2, 9), transactional=False)
    assert [type(error) for error in errors] == [type(None), StaleMemberEpoch, type(None), StaleMemberEpoch]


def test_others_commit_only_where_there_are_no_members(group: ConsumerGroup) -> None:
    with pytest.raises(UnknownMemberId):
        check_commit(group, commit("", -1), transactional=False)
    assert check_commit(group, commit("", -1), transactional=True) == [None]
    assert check_commit(ConsumerGroup("g"), commit("", -1), transactional=False) == [None]


def test_members_use_a_version_that_knows_of_epochs(group: ConsumerGroup) -> None:
    with pytest.raises(UnsupportedVersion):
        check_commit(group, commit("a", 5, new_enough=False), transactional=False)


def test_members_of_the_classic_protocol_are_told_in_their_words(group: ConsumerGroup) -> None:
    group.replay_subscription("a", SubscriptionValue(classic=ClassicMetadata(1, (("range", b""),))))
    assert check_commit(group, commit("a", 5, new_enough=False), transactional=False) == [None]
    with pytest.raises(IllegalGeneration):
        check_commit(group, commit("a", 6), transactional=False)


def test_who_says_which_member_it_is_fetches_in_its_epoch(group: ConsumerGroup) -> None:
    check_fetch(group, None, -1)
    check_fetch(group, "a", 5)
    with pytest.raises(StaleMemberEpoch):
        check_fetch(group, "a", 4)
    with pytest.raises(UnknownMemberId):
        check_fetch(group, "b", 5)


def test_a_member_may_be_in_its_epoch_in_the_one_before_or_join_again() -> None:
    member = ConsumerMember("a", epoch=5, previous_epoch=3, assigned={T: {0: 5}})
    check_epoch(member, 0, None)
    check_epoch(member, 5, None)
    check_epoch(member, 3, {T: frozenset({0})})
    for epoch, owned in ((6, {}), (4, {}), (3, None), (3, {T: frozenset({1})})):
        with pytest.raises(FencedMemberEpoch):
            check_epoch(member, epoch, owned)
