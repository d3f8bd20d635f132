"""Quotas at the door: who uses too much is told to wait, and is not read from meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.access.quotas.rates import LONGEST_WAIT_S
from tests.wire.kafka.door import Client
from tests.wire.kafka.quotas import Parts, bind
from tests.wire.kafka.requests import BY_NAME, batch, client_of_topic, fetch, produce, produced
from tests.wire.kafka.sharing import ACCEPT, ShareMember, acquired, configure_group
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from wire.kafka.messages.metadata import MetadataRequest

UNKNOWN_TOPIC_OR_PARTITION, TOPIC_ALREADY_EXISTS, THROTTLING_QUOTA_EXCEEDED = 3, 36, 89


@trio_test
async def test_a_producer_beyond_its_rate_is_told_at_once_and_not_read_from(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "test"}, producer_byte_rate=10_000)
        answer = await client.ask(produce("t", batch([bytes(50_000)])), BY_NAME)
        assert answer.throttle_time_ms == 0, "within what ten seconds allow"
        answer = await client.ask(produce("t", batch([bytes(62_000)])), BY_NAME)
        assert 0 < answer.throttle_time_ms <= 1300, "what ten seconds do not allow, less the time that passed"
        assert answer.responses[0].partition_responses[0].base_offset == 1, "it was stored"
        told_at = trio.current_time()
        await client.ask(ApiVersionsRequest())
        assert trio.current_time() - told_at >= answer.throttle_time_ms / 1000 - 0.05


@trio_test
async def test_a_producer_is_answered_however_long_it_would_have_to_wait(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "test"}, producer_byte_rate=1e-6)
        answer = await client.ask(produce("t", batch([bytes(50_000)])), BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert answer.throttle_time_ms == LONGEST_WAIT_S * 1000


@trio_test
async def test_requests_that_were_sent_with_the_one_too_many_wait_too(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"user": "ANONYMOUS"}, producer_byte_rate=10_000)
        first = client.prepare(produce("t", batch([bytes(108_000)])), BY_NAME)
        second = client.prepare(ApiVersionsRequest())
        sent_at = trio.current_time()
        await client.send_bytes(first + second)
        told = (await client.receive()).throttle_time_ms
        assert told > 0
        await client.receive()
        # From the sending on, for nobody knows when a busy machine let the first answer come.
        assert trio.current_time() - sent_at >= told / 1000


@trio_test
async def test_others_are_not_kept_waiting(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "other"}, producer_byte_rate=1)
        for _number in range(3):
            assert (await client.ask(produce("t", batch([bytes(50_000)])), BY_NAME)).throttle_time_ms == 0


@trio_test
async def test_a_consumer_beyond_its_rate_gets_an_empty_answer_and_then_everything(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for number in range(4):
            await produced(client, "t", batch([bytes([number]) * 40_000]))
        await bind(client, {"client-id": "test"}, consumer_byte_rate=10_000)
        offset, given, told = 0, 0, 0
        while offset < 4:
            answer = await client.ask(fetch("t", offset, max_bytes=40_100), BY_NAME)
            topics = answer.responses
            if not topics:
                assert answer.throttle_time_ms > 0
                assert answer.session_id == 0
                told += answer.throttle_time_ms
                # A quota that is raised lets the next one through as soon as the wait is over.
                await _raise_quota(client, {"client-id": "test"}, consumer_byte_rate=100_000)
                continue
            assert answer.throttle_time_ms == 0
            given += len(topics[0].partitions[0].records)
            offset += 1
        assert told > 0
        assert given > 160_000, "no record is lost"


@trio_test
async def test_a_batch_that_a_window_can_never_hold_is_given_all_the_same(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch([bytes(30_000)]))
        await bind(client, {"client-id": "test"}, consumer_byte_rate=2_500)
        answer = await client.ask(fetch("t"), BY_NAME)
        assert len(answer.responses[0].partitions[0].records) > 30_000
        assert answer.throttle_time_ms > 0, "for the next one"


@trio_test
async def test_an_incremental_session_goes_on_after_a_throttled_fetch(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch([bytes(40_000)]))
        first = fetch("t")
        first.session_epoch = 0
        begun = await client.ask(first, BY_NAME)
        assert begun.session_id
        await bind(client, {"client-id": "test"}, consumer_byte_rate=3_900)
        await produced(client, "t", batch([bytes(38_000)]))
        again = fetch("t", 1)
        again.session_id, again.session_epoch = begun.session_id, 1
        assert (await client.ask(again, BY_NAME)).responses
        await produced(client, "t", batch([bytes(2_500)]))
        again.session_epoch, again.topics[0].partitions[0].fetch_offset = 2, 2
        throttled = await client.ask(again, BY_NAME)
        assert (throttled.responses, throttled.session_id) == ([], begun.session_id)
        assert throttled.throttle_time_ms > 0
        await _raise_quota(client, {"client-id": "test"}, consumer_byte_rate=1_000_000)
        again.session_epoch = 3
        assert (await client.ask(again, BY_NAME)).responses


@trio_test
async def test_a_throttled_member_of_a_share_group_acquires_nothing_and_may_acknowledge(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        await configure_group(client, share_auto_offset_reset="earliest", share_dead_letters_enable=False)
        member = ShareMember(client, topic_id)
        await produced(client, "t", batch([bytes(12_000)]))
        await bind(client, {"client-id": "test"}, consumer_byte_rate=1_100)
        answer = await member.fetch(max_wait_ms=1000)
        assert (acquired(answer), answer.throttle_time_ms > 0) == ([(0, 0, 1)], True), "charged when it was handed out"
        await _raise_quota(client, {"client-id": "test"}, consumer_byte_rate=1_000)
        await _produce_by_another(client, batch([bytes(100)]))
        answer = await member.fetch([(0, 0, [ACCEPT])])
        assert answer.responses[0].partitions[0].acknowledge_error_code == 0
        assert (acquired(answer), answer.throttle_time_ms > 0) == ([], True)
        await _raise_quota(client, {"client-id": "test"}, consumer_byte_rate=1_000_000)
        assert await member.take(max_wait_ms=1000) == [(1, 1, 1)], "its first delivery"


@trio_test
async def test_partitions_beyond_the_mutation_rate_are_refused(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "test"}, controller_mutation_rate=2)
        topics = [CreatableTopic(name, 12, 1) for name in ("a", "b", "c")]
        answer = await client.ask(CreateTopicsRequest([*topics, CreatableTopic("t", 1, 1)]), 7)
        codes = {entry.name: entry.error_code for entry in answer.topics}
        assert codes == {"a": 0, "b": 0, "c": THROTTLING_QUOTA_EXCEEDED, "t": TOPIC_ALREADY_EXISTS}
        assert 0 < answer.throttle_time_ms <= 1000, "24 of 22 tokens were taken"


@trio_test
async def test_clients_that_do_not_know_the_error_wait_afterwards(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=8) as (client, _):
        await bind(client, {"client-id": "test"}, controller_mutation_rate=10)
        answer = await client.ask(CreateTopicsRequest([CreatableTopic("a", 115, 1)]), 5)
        assert (answer.topics[0].error_code, answer.throttle_time_ms > 0) == (0, True)
        answer = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState("a"), DeleteTopicState("no")]), 6)
        codes = [entry.error_code for entry in answer.responses]
        assert codes == [0, UNKNOWN_TOPIC_OR_PARTITION], "its wait was over, and there is something in the bucket"
        answer = await client.ask(CreatePartitionsRequest([CreatePartitionsTopic("t", 9, None)], 1000), 3)
        assert answer.results[0].error_code == THROTTLING_QUOTA_EXCEEDED
        assert 5_000 < answer.throttle_time_ms < 13_000


@trio_test
async def test_the_time_that_requests_take_is_bounded(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "test"}, request_percentage=0.0001)
        answer = await client.ask(MetadataRequest(topics=None))
        assert 0 < answer.throttle_time_ms <= 1000, "never longer than a sample"
        answer = await client.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1)]), 7)
        assert (answer.topics[0].error_code, 0 < answer.throttle_time_ms <= 1000) == (0, True)


@asynccontextmanager
async def _another(client: Client) -> AsyncIterator[Client]:
    """One by another client id, which no quota is about."""
    sock = trio.socket.socket()
    await sock.connect(client.stream.socket.getpeername()[:2])
    other = Client(trio.SocketStream(sock), client_id="other")
    async with other.stream:
        yield other


async def _raise_quota(client: Client, parts: Parts, **values: float | None) -> None:
    async with _another(client) as other:
        await bind(other, parts, **values)


async def _produce_by_another(client: Client, records: bytes) -> None:
    async with _another(client) as other:
        await produced(other, "t", records)
