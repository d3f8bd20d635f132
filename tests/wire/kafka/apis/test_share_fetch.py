"""ShareFetch: what a member is given, how long it waits, sessions and their epochs, and what is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from engine.records.layout import split_batches
from tests.wire.kafka.door import Client, Door, open_door, until
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sharing import ACCEPT, GAP, REJECT, RELEASE, RENEW, ShareMember, acquired, configure_group
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 3, 42, 100
INVALID_RECORD_STATE, SESSION_NOT_FOUND, INVALID_SESSION_EPOCH, SESSION_LIMIT = 121, 122, 123, 133


@asynccontextmanager
async def shared_topic(
    data_dir: Path, partitions: int = 1, settings: dict[str, object] | None = None, **keys: Any
) -> AsyncIterator[tuple[Door, Client, ShareMember]]:
    """A broker with a topic `t` that the group `g` reads from its beginning, without back-off and dead letters."""
    async with open_door(data_dir, settings) as door:
        client = await door.connect()
        made = await create_topic(client, "t", partitions)
        keys = {"share_auto_offset_reset": "earliest", "share_retry_backoff_ms": 0} | keys
        await configure_group(client, **{"share_dead_letters_enable": False} | keys)
        yield door, client, ShareMember(await door.connect(), made.topic_id)


@trio_test
async def test_records_are_handed_out_once_and_accepted(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(3))
        await produced(client, "t", batch(2))
        answer = await member.fetch()
        assert acquired(answer) == [(0, 4, 1)]
        assert answer.acquisition_lock_timeout_ms == 30_000
        records = answer.responses[0].partitions[0].records
        assert [header.record_count for header, _ in split_batches(bytes(records))] == [3, 2]
        assert await member.take([(0, 4, [ACCEPT])]) == []
        assert await member.take() == []


@pytest.mark.parametrize("version", [1, 2])
@trio_test
async def test_both_versions_are_served(tmp_path: Path, version: int) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        member.version = version
        await produced(client, "t", batch(2))
        assert await member.take() == [(0, 1, 1)]
        assert await member.acknowledge([(0, 1, [ACCEPT, RELEASE])]) == 0
        assert await member.take() == [(1, 1, 2)]


@trio_test
async def test_two_members_share_a_partition(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        for _ in range(4):
            await produced(client, "t", batch(2))
        assert await one.take(max_records=3) == [(0, 3, 1)]
        assert await other.take(max_records=3) == [(4, 7, 1)]


@trio_test
async def test_a_record_limit_is_never_passed(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(10))
        assert await member.take(max_records=3, share_acquire_mode=1) == [(0, 2, 1)]
        assert await member.take(max_records=3, share_acquire_mode=1) == [(3, 5, 1)]


@trio_test
async def test_ranges_are_cut_at_batches_once_they_are_long_enough(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        for _ in range(4):
            await produced(client, "t", batch(3))
        assert await member.take(batch_size=4) == [(0, 5, 1), (6, 11, 1)]


@trio_test
async def test_a_fetch_waits_for_records(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, member):
        await member.take()
        await member.send_fetch(max_wait_ms=600_000)
        await until(lambda: door.broker.server.requests[78] == 2)
        await produced(client, "t", batch(2))
        assert acquired(await member.client.receive()) == [(0, 1, 1)]


@trio_test
async def test_a_fetch_waits_for_what_another_member_releases(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        await produced(client, "t", batch(2))
        assert await one.take() == [(0, 1, 1)]
        await other.send_fetch(max_wait_ms=600_000)
        await until(lambda: door.broker.server.requests[78] == 2)
        assert await one.acknowledge([(0, 1, [RELEASE])]) == 0
        assert acquired(await other.client.receive()) == [(0, 1, 2)]


@trio_test
async def test_a_fetch_ends_after_its_time(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, _client, member):
        await member.take()
        began = trio.current_time()
        assert await member.take(max_wait_ms=100) == []
        assert trio.current_time() - began >= 0.1


@trio_test
async def test_a_fetch_that_acknowledges_does_not_wait_for_records(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(2))
        await member.take()
        assert await member.take([(0, 1, [ACCEPT])], max_wait_ms=600_000) == []


@trio_test
async def test_a_lost_connection_gives_its_records_to_others(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        await produced(client, "t", batch(2))
        assert await one.take() == [(0, 1, 1)]
        await other.send_fetch(max_wait_ms=600_000)
        await one.client.stream.aclose()
        assert acquired(await other.client.receive()) == [(0, 1, 2)]


@trio_test
async def test_a_late_disconnect_does_not_end_a_newer_session(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, old):
        await produced(client, "t", batch(2))
        assert await old.take() == [(0, 1, 1)]
        new = ShareMember(await door.connect(), old.topic_id)
        assert await new.take() == []
        await old.client.stream.aclose()
        await until(lambda: len(door.broker.server.connections) == 2)
        assert await new.acknowledge([(0, 1, [ACCEPT])]) == 0


@trio_test
async def test_a_final_fetch_releases_what_is_held(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (door, client, one):
        await produced(client, "t", batch(3))
        assert await one.take() == [(0, 2, 1)]
        assert await one.take([(0, 0, [ACCEPT])], epoch=-1) == []
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        assert await other.take() == [(1, 2, 2)]


@trio_test
async def test_epochs_are_counted(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        assert (await member.fetch(epoch=5)).error_code == SESSION_NOT_FOUND
        assert (await member.fetch(epoch=-1)).error_code == SESSION_NOT_FOUND
        await produced(client, "t", batch(2))
        assert await member.take() == [(0, 1, 1)]
        assert (await member.fetch(epoch=2)).error_code == INVALID_SESSION_EPOCH
        assert (await member.fetch([(0, 1, [ACCEPT])], epoch=0)).error_code == INVALID_REQUEST
        assert await member.take() == []


@trio_test
async def test_there_are_only_so_many_sessions(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, settings={"group.share.max.share.sessions": 1}) as (door, _, one):
        await one.take()
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        began = trio.current_time()
        assert (await other.fetch(max_wait_ms=100)).error_code == SESSION_LIMIT
        assert trio.current_time() - began >= 0.1
        assert await one.take(epoch=-1) == []
        assert await other.take() == []


@trio_test
async def test_a_renewal_fetches_nothing(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(2))
        assert await member.take() == [(0, 1, 1)]
        await produced(client, "t", batch(2))
        nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}
        refused = await member.fetch([(0, 1, [RENEW])], is_renew_ack=True, **nothing | {"max_records": 1})
        assert refused.error_code == INVALID_REQUEST
        answer = await member.fetch([(0, 1, [RENEW])], is_renew_ack=True, **nothing)
        assert (acquired(answer), answer.responses[0].partitions[0].acknowledge_error_code) == ([], 0)
        assert await member.take([(0, 1, [ACCEPT])]) == [(2, 3, 1)]


@trio_test
async def test_what_is_unknown_is_told_apart(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, _client, member):
        answer = await member.fetch(partitions=(7,), max_wait_ms=600_000)
        assert answer.responses[0].partitions[0].error_code == UNKNOWN_TOPIC_OR_PARTITION
        stranger = ShareMember(member.client, bytes(15) + b"\1", "m2")
        answer = await stranger.fetch(max_wait_ms=600_000)
        assert answer.responses[0].partitions[0].error_code == UNKNOWN_TOPIC_ID


@trio_test
async def test_a_log_that_begins_later_moves_the_window(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(3))
        await produced(client, "t", batch(3))
        topic = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 4)])
        await client.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=5000))
        assert await member.take() == [(4, 5, 1)]


@trio_test
async def test_forgotten_partitions_are_not_fetched(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, partitions=2) as (_, client, member):
        await member.take(partitions=(0, 1))
        await produced(client, "t", batch(2), partition=1)
        assert await member.take(partitions=(), forgotten=(1,)) == []
        assert await member.take(partitions=(1,)) == [(0, 1, 1)]


@trio_test
async def test_a_group_begins_at_the_end_unless_it_is_told_otherwise_and_remembers_where(tmp_path: Path) -> None:
    settings: dict[str, object] = {}
    async with shared_topic(tmp_path, share_auto_offset_reset="latest", settings=settings) as (_, client, member):
        await produced(client, "t", batch(3))
        assert await member.take() == []
        await produced(client, "t", batch(2))
        topic_id = member.topic_id
    async with open_door(tmp_path) as door:
        member = ShareMember(await door.connect(), topic_id)
        answer = await member.fetch(max_wait_ms=10_000)
        assert acquired(answer) == [(3, 4, 1)], answer


@trio_test
async def test_counts_and_states_outlive_the_broker(tmp_path: Path) -> None:
    async with shared_topic(tmp_path) as (_, client, member):
        await produced(client, "t", batch(5))
        assert await member.take() == [(0, 4, 1)]
        types = [ACCEPT, RELEASE, ACCEPT, REJECT, GAP]
        assert await member.acknowledge([(0, 4, types)]) == 0
        assert await member.take() == [(1, 1, 2)]
        topic_id = member.topic_id
    async with open_door(tmp_path) as door:
        member = ShareMember(await door.connect(), topic_id)
        taken = await member.take(max_wait_ms=10_000)
        assert [each[:2] for each in taken] == [(1, 1)]


@trio_test
async def test_a_locked_record_is_delivered_again_when_its_time_is_over(tmp_path: Path) -> None:
    keys = {"share_record_lock_duration_ms": 1000}
    settings: dict[str, object] = {"group.share.min.record.lock.duration.ms": 1000}
    async with shared_topic(tmp_path, settings=settings, **keys) as (door, client, one):
        other = ShareMember(await door.connect(), one.topic_id, "m2")
        await produced(client, "t", batch(2))
        assert await one.take() == [(0, 1, 1)]
        assert await other.take(max_wait_ms=20_000) == [(0, 1, 2)]
        assert await one.acknowledge([(0, 1, [ACCEPT])]) == INVALID_RECORD_STATE


@trio_test
async def test_many_partitions_are_fetched_and_acknowledged_in_steps(tmp_path: Path) -> None:
    count = 250
    async with shared_topic(tmp_path, partitions=count) as (_, client, member):
        partitions = tuple(range(count))
        await produced(client, "t", batch(2), partition=7)
        await produced(client, "t", batch(2), partition=249)
        taken = 0
        answer = await member.fetch(partitions=partitions, max_wait_ms=10_000)
        while taken < 4:
            found = [each for topic in answer.responses for each in topic.partitions if each.acquired_records]
            for each in found:
                assert await member.acknowledge([(0, 1, [ACCEPT])], partition=each.partition_index) == 0
                taken += 2
            if taken < 4:
                answer = await member.fetch(partitions=(), max_wait_ms=10_000)
        assert await member.take(partitions=()) == []
