"""Committing, fetching, deleting and expiring offsets of a shard."""

from typing import Any

import pytest

from coordinators.group.requests import OffsetToCommit
from engine.errors import (
    GroupIdNotFound,
    GroupSubscribedToTopic,
    IllegalGeneration,
    NonEmptyGroup,
    OffsetMetadataTooLarge,
    UnknownMemberId,
)
from tests.coordinators.group.shard import PENDING, Shard

WEEK_MS = 7 * 24 * 3_600_000
CHECK_MS = 600_000
SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


def at(offset: int, topic: str = "t", **fields: Any) -> OffsetToCommit:
    return OffsetToCommit(topic, 0, offset, **fields)


def test_a_commit_is_answered_when_it_is_durable(shard: Shard) -> None:
    shard.hold = True
    heard = shard.commit(at(5))
    assert heard.message == PENDING
    shard.hold = False
    shard.settle()
    assert heard.message == [None]
    shard.crash()
    assert shard.fetch("t").offset == 5


def test_what_was_never_durable_is_not_there_after_a_crash(shard: Shard) -> None:
    shard.commit(at(5))
    shard.hold = True
    shard.commit(at(6))
    shard.hold = False
    shard.crash()
    assert shard.fetch("t").offset == 5


def test_metadata_and_leader_epoch_are_kept(shard: Shard) -> None:
    shard.commit(at(5, metadata="note", leader_epoch=3))
    found = shard.fetch("t")
    assert (found.metadata, found.leader_epoch) == ("note", 3)


def test_one_offset_is_refused_and_the_others_are_committed(shard: Shard) -> None:
    answers = shard.commit(at(1), at(2, "u", metadata="x" * 4097)).message
    assert (answers[0], type(answers[1])) == (None, OffsetMetadataTooLarge)
    assert (shard.fetch("t").offset, shard.fetch("u").offset) == (1, -1)


def test_a_generation_of_a_group_that_does_not_exist(shard: Shard) -> None:
    assert isinstance(shard.commit(at(1), generation=1, member_id="m").message, GroupIdNotFound)
    older = shard.commit(at(1), generation=1, member_id="m", can_be_told_of_no_group=False)
    assert isinstance(older.message, IllegalGeneration)


def test_only_members_commit_where_there_are_some(shard: Shard) -> None:
    member = shard.settled_member()
    assert isinstance(shard.commit(at(1)).message, UnknownMemberId)
    assert shard.commit(at(1), member_id=member, generation=1).message == [None]


def test_a_commit_is_a_sign_of_life(shard: Shard) -> None:
    member = shard.settled_member()
    shard.advance(9_000)
    shard.commit(at(1), member_id=member, generation=1)
    shard.advance(9_000)
    shard.heartbeat(member, 1)


def test_offsets_of_an_empty_group_age_from_when_it_became_empty(shard: Shard) -> None:
    member = shard.settled_member()
    shard.commit(at(1), member_id=member, generation=1)
    shard.machine.groups["g"].members[member].session_timeout_ms = 2 * WEEK_MS
    shard.heartbeat(member, 1)
    shard.advance(WEEK_MS // 2)
    shard.leave(member)
    shard.advance(WEEK_MS - CHECK_MS)
    assert shard.fetch("t").offset == 1
    shard.advance(2 * CHECK_MS)
    assert shard.fetch("t").offset == -1
    assert "g" not in shard.machine.groups


def test_a_stable_groups_offsets_age_only_where_nobody_reads(shard: Shard) -> None:
    member = shard.settled_member(protocols=(("range", SUBSCRIPTION),))
    shard.commit(at(1), at(2, "u"), member_id=member, generation=1)
    shard.machine.groups["g"].members[member].session_timeout_ms = 2 * WEEK_MS
    shard.heartbeat(member, 1)
    shard.advance(WEEK_MS + CHECK_MS)
    assert (shard.fetch("t").offset, shard.fetch("u").offset) == (1, -1)


def test_a_retention_past_the_end_of_time_never_ends(shard: Shard) -> None:
    assert shard.commit(at(1), retention_time_ms=2**63 - 1).message == [None]
    shard.crash()
    assert shard.fetch("t").offset == 1


def test_who_brings_its_own_retention_is_taken_at_its_word(shard: Shard) -> None:
    shard.commit(at(1), retention_time_ms=CHECK_MS)
    shard.commit(at(2, "u"))
    shard.advance(2 * CHECK_MS + 1)
    assert (shard.fetch("t").offset, shard.fetch("u").offset) == (-1, 2)


def test_offsets_that_are_read_are_not_deleted(shard: Shard) -> None:
    member = shard.settled_member(protocols=(("range", SUBSCRIPTION),))
    shard.commit(at(1), at(2, "u"), member_id=member, generation=1)
    answers = shard.ask(lambda m: m.commits.delete_offsets("g", [("t", 0), ("u", 0)])).message
    assert (type(answers[0]), answers[1]) == (GroupSubscribedToTopic, None)
    assert (shard.fetch("t").offset, shard.fetch("u").offset) == (1, -1)


@pytest.mark.parametrize("protocol_type", ["connect"])
def test_offsets_of_members_whose_wishes_are_unknown_are_not_deleted(shard: Shard, protocol_type: str) -> None:
    shard.settled_member(protocol_type=protocol_type)
    assert isinstance(shard.ask(lambda m: m.commits.delete_offsets("g", [("t", 0)])).message, NonEmptyGroup)


def test_a_deleted_topic_is_forgotten_but_not_a_new_one_of_its_name(shard: Shard) -> None:
    old, new = b"o" * 16, b"n" * 16
    shard.commit(at(1, topic_id=old), at(2, "u", topic_id=old), OffsetToCommit("t", 1, 3, topic_id=new))
    shard.ask(lambda machine: machine.commits.forget_topics({"t": {old}}))
    assert (shard.fetch("t").offset, shard.fetch("t", 1).offset, shard.fetch("u").offset) == (-1, 3, 2)
