"""Fetch: what is found, how long it waits, how much it gives, sessions, and who may not ask."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from engine.records.layout import BatchHeader, split_batches
from tests.engine.stage.world import Record, client_batch, record
from tests.wire.kafka.door import Client, Door, open_door, until
from tests.wire.kafka.requests import (
    BY_NAME,
    batch,
    client_of_topic,
    create_topic,
    fetch,
    fetched,
    produce,
    produced,
)
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID = 1, 3, 31, 100
FIRST_SESSION_VERSION = 7
SESSION_NOT_FOUND, INVALID_SESSION_EPOCH, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 70, 71, 74, 75


@trio_test
async def test_a_fetch_that_does_not_wait_is_answered_empty(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await fetched(client, "t")
        assert (answer.error_code, answer.high_watermark, bytes(answer.records or b"")) == (0, 0, b"")


@trio_test
async def test_a_long_poll_is_answered_when_records_come(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        consumer, producer = await door.connect(), await door.connect()
        await create_topic(producer, "t")
        await consumer.send(fetch("t", max_wait_ms=600_000), BY_NAME)
        await until(lambda: door.broker.server.requests[1] == 1)
        await produced(producer, "t", batch())
        assert (await consumer.receive()).responses[0].partitions[0].records


@trio_test
async def test_a_long_poll_waits_for_as_many_bytes_as_it_asks_for(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        consumer, producer = await door.connect(), await door.connect()
        made = await create_topic(producer, "t")
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        await consumer.send(fetch("t", max_wait_ms=600_000, min_bytes=1000), BY_NAME)
        await until(lambda: partition.statistics()["watchers"] == 1)
        await produced(producer, "t", batch([bytes(100)]))
        assert partition.statistics()["watchers"] == 1
        await produced(producer, "t", batch([bytes(900)]))
        assert len((await consumer.receive()).responses[0].partitions[0].records) > 1000


@trio_test
async def test_a_long_poll_ends_after_its_time(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        began = trio.current_time()
        assert (await fetched(client, "t", max_wait_ms=100)).error_code == 0
        assert trio.current_time() - began >= 0.1


@trio_test
async def test_a_long_poll_of_a_deleted_topic_is_told(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        consumer, admin = await door.connect(), await door.connect()
        made = await create_topic(admin, "t")
        await consumer.send(fetch("t", max_wait_ms=600_000), BY_NAME)
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        await until(lambda: partition.statistics()["watchers"] == 1)
        await door.broker.node.controller.delete_topics(["t"])
        assert (await consumer.receive()).responses[0].partitions[0].error_code == UNKNOWN_TOPIC_OR_PARTITION


@trio_test
async def test_one_batch_is_given_although_it_is_larger_than_asked_for(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch([bytes(5000)]))
        assert len((await fetched(client, "t", max_bytes=1)).records) > 5000  # type: ignore[arg-type]


@trio_test
async def test_the_byte_limit_is_shared_by_the_partitions(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, _):
        for partition in range(3):
            await produced(client, "t", batch([bytes(5000)]), partition=partition)
        wanted = [FetchPartition(partition=index, partition_max_bytes=10_000) for index in range(3)]
        request = FetchRequest(max_bytes=6000, topics=[FetchTopic(topic="t", partitions=wanted)])
        answer = await client.ask(request, BY_NAME)
        sizes = [len(entry.records) for entry in answer.responses[0].partitions]
        assert sizes[0] > 5000
        assert sum(sizes) <= 6000


@trio_test
async def test_the_brokers_own_limit_holds_too(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, settings={"fetch.max.bytes": 2000}) as (client, _):
        for _ in range(10):
            await produced(client, "t", batch([bytes(900)]))
        assert len((await fetched(client, "t")).records) <= 2000  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [-1, 5])
@trio_test
async def test_an_offset_outside_the_log_is_refused_at_once(tmp_path: Path, offset: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        answer = await fetched(client, "t", offset, max_wait_ms=600_000)
        assert (answer.error_code, answer.high_watermark) == (OFFSET_OUT_OF_RANGE, -1)


@pytest.mark.parametrize(("epoch", "code"), [(-1, 0), (0, 0), (1, UNKNOWN_LEADER_EPOCH)])
@trio_test
async def test_the_leader_epoch_is_checked(tmp_path: Path, epoch: int, code: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        request = fetch("t")
        request.topics[0].partitions[0].current_leader_epoch = epoch
        assert (await client.ask(request, BY_NAME)).responses[0].partitions[0].error_code == code


@pytest.mark.parametrize("version", [4, 12, 15, 17])
@trio_test
async def test_a_client_posing_as_a_replica_is_given_nothing(tmp_path: Path, version: int) -> None:
    """CVE-2018-1288."""
    async with client_of_topic(tmp_path) as (client, topic_id):
        await produced(client, "t", batch())
        request = fetch("t", topic_id=topic_id)
        request.replica_id, request.replica_state = 2, ReplicaState(replica_id=2)
        answer = await client.ask(request, version)
        (entry,) = answer.responses[0].partitions
        assert (entry.error_code, len(entry.records)) == (CLUSTER_AUTHORIZATION_FAILED, 0)
        assert version < FIRST_SESSION_VERSION or answer.error_code == CLUSTER_AUTHORIZATION_FAILED


@trio_test
async def test_topics_are_named_by_id_from_version_13(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        await produced(client, "t", batch())
        assert (await client.ask(fetch("", topic_id=topic_id), 13)).responses[0].partitions[0].records
        unknown = await client.ask(fetch("", topic_id=b"\1" * 16), 13)
        assert unknown.responses[0].partitions[0].error_code == UNKNOWN_TOPIC_ID


# -- sessions


def _begin(partitions: int) -> FetchRequest:
    wanted = [FetchPartition(partition=index, partition_max_bytes=10_000) for index in range(partitions)]
    return FetchRequest(session_epoch=0, topics=[FetchTopic(topic="t", partitions=wanted)])


@trio_test
async def test_a_session_answers_only_what_is_new(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, _):
        begun = await client.ask(_begin(3), BY_NAME)
        assert begun.session_id > 0
        assert len(begun.responses[0].partitions) == 3
        await produced(client, "t", batch(), partition=1)
        following = FetchRequest(session_id=begun.session_id, session_epoch=1)
        answer = await client.ask(following, BY_NAME)
        assert [entry.partition_index for entry in answer.responses[0].partitions] == [1]


@trio_test
async def test_who_is_at_the_end_in_a_session_is_told_what_changes_but_records(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        for _ in range(2):
            await produced(client, "t", batch())
        begun = await client.ask(_begin(2), BY_NAME)
        end = FetchPartition(partition=0, fetch_offset=2, partition_max_bytes=10_000, current_leader_epoch=0)
        moved = FetchRequest(
            session_id=begun.session_id, session_epoch=1, topics=[FetchTopic(topic="t", partitions=[end])]
        )
        assert not (await client.ask(moved, BY_NAME)).responses
        cut = DeleteRecordsPartition(partition_index=0, offset=1)
        await client.ask(DeleteRecordsRequest(topics=[DeleteRecordsTopic("t", [cut])], timeout_ms=5000))
        answer = await client.ask(FetchRequest(session_id=begun.session_id, session_epoch=2), BY_NAME)
        assert [entry.log_start_offset for entry in answer.responses[0].partitions] == [1]
        end.current_leader_epoch = 1
        moved.session_epoch = 3
        answer = await client.ask(moved, BY_NAME)
        assert [entry.error_code for entry in answer.responses[0].partitions] == [UNKNOWN_LEADER_EPOCH]


@trio_test
async def test_a_long_poll_of_a_session_that_found_nothing_wakes_for_any_of_its_partitions(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        producer, consumer = await door.connect(), await door.connect()
        await create_topic(producer, "t", 3)
        following = FetchRequest(session_id=(await consumer.ask(_begin(3), BY_NAME)).session_id, max_wait_ms=600_000)
        following.min_bytes = 1
        for following.session_epoch, partition in enumerate((2, 0), start=1):
            await consumer.send(following, BY_NAME)
            await produced(producer, "t", batch(), partition=partition)
            answer = await consumer.receive()
            assert [entry.partition_index for entry in answer.responses[0].partitions] == [partition]
            read = FetchPartition(partition=partition, fetch_offset=1, partition_max_bytes=10_000)
            following.topics = [FetchTopic(topic="t", partitions=[read])]


@trio_test
async def test_a_session_forgets_partitions_when_told_to(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=2) as (client, _):
        begun = await client.ask(_begin(2), BY_NAME)
        for partition in range(2):
            await produced(client, "t", batch(), partition=partition)
        forget = [ForgottenTopic(topic="t", partitions=[0])]
        following = FetchRequest(session_id=begun.session_id, session_epoch=1, forgotten_topics_data=forget)
        answer = await client.ask(following, BY_NAME)
        assert [entry.partition_index for entry in answer.responses[0].partitions] == [1]


@trio_test
async def test_a_session_that_is_unknown_or_out_of_step_is_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        begun = await client.ask(_begin(1), BY_NAME)
        unknown = await client.ask(FetchRequest(session_id=begun.session_id + 1, session_epoch=1), BY_NAME)
        assert unknown.error_code == SESSION_NOT_FOUND
        skipped = await client.ask(FetchRequest(session_id=begun.session_id, session_epoch=2), BY_NAME)
        assert skipped.error_code == INVALID_SESSION_EPOCH


@trio_test
async def test_a_session_ends_when_the_client_ends_it(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        begun = await client.ask(_begin(1), BY_NAME)
        assert (await client.ask(FetchRequest(session_id=begun.session_id, session_epoch=-1), BY_NAME)).session_id == 0
        again = await client.ask(FetchRequest(session_id=begun.session_id, session_epoch=1), BY_NAME)
        assert again.error_code == SESSION_NOT_FOUND


@trio_test
async def test_what_producers_bring_and_consumers_take_is_counted(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        made = await create_topic(client, "t")
        await produced(client, "t", batch(3))
        for _ in range(2):
            await produced(client, "t", batch(1, producer_id=5, producer_epoch=0, base_sequence=0))
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        traffic = partition.traffic
        assert (traffic.received_batches, traffic.received_records) == (2, 4), "a duplicate counts once"
        taken = await fetched(client, "t")
        assert taken.records is not None
        assert (traffic.sent_records, traffic.sent_bytes) == (4, len(taken.records))


# -- what has expired

EXPIRING = [record(f"expires {number}", ttl=1) for number in range(7)]


async def expire(door: Door, client: Client, *more: Record, flush: str = "sync") -> None:
    """Seven records that nobody has read in time, and more that live, in lanes that are read two by two."""
    configs = {"priority.enable": "true", "priority.fetch.max.records": "2", "flush.mode": flush}
    await create_topic(client, "t", configs=configs)
    await produced(client, "t", client_batch([*EXPIRING, *more]))
    (staged,) = door.broker.node.releases.stages()
    await until(lambda: staged.stage.state.counters.expired == len(EXPIRING))


def split(records: object) -> list[BatchHeader]:
    return [header for header, _ in split_batches(bytes(records))]  # type: ignore[call-overload]


@pytest.mark.parametrize("flush", ["sync", "os"])
@trio_test
async def test_a_fetch_goes_on_past_what_has_expired(tmp_path: Path, flush: str) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await expire(door, client, record("lives"), flush=flush)
        data = await fetched(client, "t", max_wait_ms=5_000)
        (header,) = split(data.records)
        assert (header.base_offset, header.is_hollow) == (7, False)
        assert data.high_watermark == 8
        # Now they lie in the log.
        for offset in (0, 3):
            data = await fetched(client, "t", offset)
            assert [header.base_offset for header in split(data.records)] == [7]


@trio_test
async def test_what_is_in_order_at_once_is_not_waited_for(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", configs={"priority.enable": "true", "flush.mode": "os"})
        await produced(client, "t", client_batch([record("a")]))
        began = door.broker.clock.monotonic()
        assert split((await fetched(client, "t", max_wait_ms=9_000)).records)
        assert door.broker.clock.monotonic() - began < 5, "not until the wait is over"


@trio_test
async def test_where_nothing_else_is_left_the_holes_are_given_so_that_readers_pass_them(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await expire(door, client)
        for _ in range(2):
            holes = split((await fetched(client, "t", max_wait_ms=5_000)).records)
            assert all(header.is_control for header in holes), "clients step over these in silence"
            assert holes[-1].next_offset == 7
        await produced(client, "t", client_batch([record("later")]))
        assert [header.base_offset for header in split((await fetched(client, "t", max_wait_ms=5_000)).records)] == [7]


def very_many(**options: int) -> FetchRequest:
    """A thousand partitions, of which three exist."""
    request = fetch("t", **options)  # type: ignore[arg-type]
    request.topics[0].partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1000) for index in range(1000)
    ]
    return request


@trio_test
async def test_very_many_partitions_are_fetched_and_waited_for(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, _):
        await client.send(very_many(max_wait_ms=20_000), BY_NAME)
        await client.send(produce("t", batch(), partition=2), BY_NAME)
        (topic,) = (await client.receive()).responses
        assert [each.partition_index for each in topic.partitions] == list(range(1000))
        assert [bool(each.records) for each in topic.partitions[:4]] == [False, False, True, False]
        assert [each.error_code for each in topic.partitions[:4]] == [0, 0, 0, 3]
        await client.receive()
        (topic,) = (await client.ask(very_many(), BY_NAME)).responses
        assert [bool(each.records) for each in topic.partitions[:4]] == [False, False, True, False]


@trio_test
async def test_a_partition_named_twice_is_fetched_once_as_the_last_mention_says(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for _ in range(3):
            await produced(client, "t", batch())
        request = fetch("t")
        request.topics[0].partitions = [
            FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000) for offset in (0, 1, 2)
        ]
        (topic,) = (await client.ask(request, BY_NAME)).responses
        (partition,) = topic.partitions
        assert bytes(partition.records)[:8] == (2).to_bytes(8, "big")
