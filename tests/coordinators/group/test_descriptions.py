"""Groups as administrators see them."""

import pytest

from coordinators.group.descriptions import describe, listed
from coordinators.group.requests import OffsetToCommit
from engine.errors import GroupIdNotFound
from tests.coordinators.group.shard import Shard


def test_a_stable_group_shows_what_its_members_said_and_got(shard: Shard) -> None:
    member_id = shard.settled_member(instance="static")
    group = describe(shard.machine, "g")
    (member,) = group.members
    assert (group.state, group.protocol_type, group.protocol) == ("Stable", "consumer", "range")
    assert (member.member_id, member.instance_id, member.client_host) == (member_id, "static", "/h")
    assert (member.subscription, member.assignment) == (b"subscription", b"mine")


def test_a_rebalance_hides_them(shard: Shard) -> None:
    shard.settled_member()
    shard.join()
    group = describe(shard.machine, "g")
    assert (group.state, group.protocol, len(group.members)) == ("PreparingRebalance", "", 2)
    assert {member.assignment for member in group.members} == {b""}


def test_who_only_keeps_offsets_is_an_empty_group(shard: Shard) -> None:
    shard.commit(OffsetToCommit("t", 0, 1))
    (group,) = listed(shard.machine)
    assert (group.group_id, group.protocol_type, group.state, group.type) == ("g", "", "Empty", "classic")


def test_a_group_that_does_not_exist(shard: Shard) -> None:
    with pytest.raises(GroupIdNotFound, match="Group g not found"):
        describe(shard.machine, "g")
