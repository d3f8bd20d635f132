"""ShareAcknowledge: each type, what is refused and how, all or nothing, the end of a session."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, produced
from tests.wire.kafka.sharing import ACCEPT, REJECT, RELEASE, RENEW, Acks, ShareMember
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeRequest

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 3, 42, 100
INVALID_RECORD_STATE, SESSION_NOT_FOUND, INVALID_SESSION_EPOCH = 121, 122, 123


@pytest.mark.parametrize(
    ("acks", "code"),
    [
        ([(5, 4, [ACCEPT])], INVALID_REQUEST),
        ([(3, 4, [ACCEPT]), (2, 2, [ACCEPT])], INVALID_REQUEST),
        ([(0, 4, [])], INVALID_REQUEST),
        ([(0, 4, [ACCEPT, ACCEPT])], INVALID_REQUEST),
        ([(0, 4, [5])], INVALID_REQUEST),
        ([(0, 4, [-1])], INVALID_REQUEST),
        ([(0, 4, [RENEW])], INVALID_REQUEST),
        ([(0, 10, [ACCEPT])], INVALID_REQUEST),
        ([(0, 2, [ACCEPT]), (2, 4, [ACCEPT])], INVALID_RECORD_STATE),
    ],
)
@trio_test
async def test_what_cannot_be_meant_is_refused_and_nothing_happens(tmp_path: Path, acks: Acks, code: int) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(10))
        assert await member.take(max_records=5, share_acquire_mode=1) == [(0, 4, 1)]
        assert await member.acknowledge(acks) == code
        assert await member.acknowledge([(0, 4, [ACCEPT])]) == 0


@trio_test
async def test_what_is_another_members_or_settled_is_refused(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        await produced(client, "t", batch(4))
        await one.take(max_records=2, share_acquire_mode=1)
        await other.take(max_records=2, share_acquire_mode=1)
        assert await one.acknowledge([(0, 3, [ACCEPT])]) == INVALID_RECORD_STATE
        assert await one.acknowledge([(1, 1, [ACCEPT])]) == 0
        assert await one.acknowledge([(1, 1, [ACCEPT])]) == INVALID_RECORD_STATE
        assert await one.acknowledge([(0, 0, [ACCEPT])]) == 0
        # Below the start nothing is wrong any more.
        assert await one.acknowledge([(0, 1, [ACCEPT])]) == 0


@trio_test
async def test_a_renewal_keeps_the_record_and_tells_for_how_long(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take()
        assert await member.acknowledge([(0, 1, [RENEW])], is_renew_ack=True) == 0
        assert await member.acknowledge([(0, 1, [ACCEPT])], is_renew_ack=True) == 0
    async with shared_topic(tmp_path / "off", share_renew_acknowledge_enable=False) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take()
        assert await member.acknowledge([(0, 1, [RENEW])], is_renew_ack=True) == INVALID_RECORD_STATE


@trio_test
async def test_rejected_records_never_come_back(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take()
        assert await member.acknowledge([(0, 1, [REJECT])]) == 0
        assert await member.take() == []


@trio_test
async def test_sessions_are_needed_and_end(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(4))
        assert await member.acknowledge([(0, 0, [ACCEPT])], epoch=1) == SESSION_NOT_FOUND
        await member.take()
        assert await member.acknowledge([(0, 0, [ACCEPT])], epoch=0) == INVALID_SESSION_EPOCH
        assert await member.acknowledge([(0, 0, [ACCEPT])], epoch=7) == INVALID_SESSION_EPOCH
        assert await member.acknowledge([(0, 0, [ACCEPT])], epoch=-1) == 0
        assert await member.acknowledge([(1, 1, [ACCEPT])]) == SESSION_NOT_FOUND
        member.epoch = 0
        assert await member.take() == [(1, 3, 2)]


@trio_test
async def test_a_share_partition_that_is_not_loaded_is_unknown(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take(partitions=())
        assert await member.acknowledge([(0, 1, [ACCEPT])]) == UNKNOWN_TOPIC_OR_PARTITION
        assert await member.acknowledge([(0, 1, [ACCEPT])], partition=9) == UNKNOWN_TOPIC_OR_PARTITION
        member.topic_id = bytes(15) + b"\1"
        assert await member.acknowledge([(0, 1, [ACCEPT])]) == UNKNOWN_TOPIC_ID


@trio_test
async def test_nobody_acknowledges_nothing(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        for group_id, member_id in ((None, "m"), ("g", None), ("", ""), ("g", "m" * 250)):
            request = ShareAcknowledgeRequest(group_id=group_id, member_id=member_id, share_session_epoch=1)
            assert (await client.ask(request)).error_code == INVALID_REQUEST


@trio_test
async def test_a_released_record_comes_back_with_its_count(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, share_delivery_count_limit=2) as (_, client, member):
        await produced(client, "t", batch(1))
        for count in (1, 2):
            assert await member.take() == [(0, 0, count)]
            assert await member.acknowledge([(0, 0, [RELEASE])]) == 0
        assert await member.take() == []
