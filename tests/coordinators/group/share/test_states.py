"""Where a share group has states: what beginning elsewhere, forgetting and deleting do to its records."""

from typing import Any

import pytest

from coordinators.group.share.record_formats import StateTopic
from coordinators.group.share.states import (
    begin_deletion,
    begin_elsewhere,
    begin_forgetting,
    finish_deletion,
    finish_forgetting,
    known_states,
)
from engine.errors import GroupIdNotFound, NonEmptyGroup
from tests.coordinators.group.consumer_shard import topic_id
from tests.coordinators.group.share_shard import ShareShard

T, U = topic_id("t"), topic_id("u")


@pytest.fixture
def shard() -> ShareShard:
    shard = ShareShard()
    shard.topic("t", 2)
    shard.topic("u", 1)
    return shard


def ask(shard: ShareShard, operation: Any, *arguments: Any) -> Any:
    message = shard.ask(lambda machine: operation(machine.shares, "g", *arguments)).message
    assert shard.replayed().hard_state() == shard.machine.hard_state()
    return message


def place_of(index: int) -> dict[bytes, StateTopic]:
    return {T: StateTopic("t", frozenset({index}))}


def test_a_group_is_made_by_where_it_is_to_begin(shard: ShareShard) -> None:
    assert ask(shard, known_states) is None
    assert ask(shard, begin_elsewhere, place_of(0)) == 1
    assert ask(shard, begin_elsewhere, place_of(1)) == 2, "a leader that goes by the states before is fenced"
    assert ask(shard, known_states).initialized == {T: StateTopic("t", frozenset({0, 1}))}
    assert (shard.shared.epoch, shard.shared.assignment_epoch) == (2, 2)
    assert shard.share_joined("a").epoch == 3


def test_nothing_makes_nothing(shard: ShareShard) -> None:
    ask(shard, begin_elsewhere, {})
    assert not shard.machine.shares.groups


def test_a_group_with_members_is_left_alone(shard: ShareShard) -> None:
    shard.share_joined("a")
    for operation, arguments in (
        (begin_elsewhere, (place_of(0),)),
        (begin_forgetting, ({T},)),
        (begin_deletion, ()),
        (finish_deletion, ()),
    ):
        assert isinstance(ask(shard, operation, *arguments), NonEmptyGroup)


def test_a_group_that_there_is_not_has_nothing_to_forget(shard: ShareShard) -> None:
    assert isinstance(ask(shard, begin_forgetting, {T}), GroupIdNotFound)
    assert isinstance(ask(shard, begin_deletion), GroupIdNotFound)
    assert ask(shard, finish_forgetting, {T}) is None


def test_what_is_forgotten_is_noted_before_and_after(shard: ShareShard) -> None:
    shard.share_joined("a", "t", "u")
    shard.share_beat("a", -1)
    assert ask(shard, begin_forgetting, {T}) == [(T, 0), (T, 1)]
    assert (shard.shared.states.deleting, list(shard.shared.states.initialized)) == ({T: "t"}, [U])
    shard.crash()
    # Begun again after it was broken off.
    assert ask(shard, begin_forgetting, {T}) == [(T, 0), (T, 1)]
    ask(shard, finish_forgetting, {T})
    assert shard.shared.states.deleting == {}
    assert ask(shard, begin_forgetting, {T}) == []


def test_who_reads_again_what_was_being_forgotten_has_a_state_again(shard: ShareShard) -> None:
    shard.share_joined("a")
    shard.share_beat("a", -1)
    ask(shard, begin_forgetting, {T})
    shard.share_joined("a")
    assert (shard.shared.states.deleting, list(shard.shared.states.initialized)) == ({}, [T])


def test_a_deleted_group_leaves_nothing(shard: ShareShard) -> None:
    shard.share_joined("a")
    shard.share_beat("a", -1)
    assert ask(shard, begin_deletion) == [(T, 0), (T, 1)]
    ask(shard, finish_deletion)
    assert not shard.machine.shares.groups
    shard.crash()
    assert not shard.machine.shares.groups
    assert shard.share_joined("a").epoch == 1
