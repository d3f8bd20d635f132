"""Quotas at the door: who uses too much is told to wait, and is not read from meanwhile."""

from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.kafka.quotas import bind
from tests.wire.kafka.requests import BY_NAME, batch, client_of_topic, produce
from wire.kafka.messages.api_versions import ApiVersionsRequest


@trio_test
async def test_a_producer_beyond_its_rate_is_told_at_once_and_not_read_from(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "test"}, producer_byte_rate=10_000)
        began = trio.current_time()
        answer = await client.ask(produce("t", batch([bytes(50_000)])), BY_NAME)
        assert answer.throttle_time_ms == 0, "within what ten seconds allow"
        answer = await client.ask(produce("t", batch([bytes(53_000)])), BY_NAME)
        assert 300 <= answer.throttle_time_ms <= 900
        assert answer.responses[0].partition_responses[0].base_offset == 1, "it was stored"
        told_at = trio.current_time()
        assert told_at - began < 0.3, "the answer does not wait"
        await client.ask(ApiVersionsRequest())
        assert trio.current_time() - told_at >= answer.throttle_time_ms / 1000 - 0.05


@trio_test
async def test_requests_that_were_sent_with_the_one_too_many_wait_too(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"user": "ANONYMOUS"}, producer_byte_rate=10_000)
        first = client.prepare(produce("t", batch([bytes(103_500)])), BY_NAME)
        second = client.prepare(ApiVersionsRequest())
        await client.send_bytes(first + second)
        told = (await client.receive()).throttle_time_ms
        assert told >= 300
        told_at = trio.current_time()
        await client.receive()
        assert trio.current_time() - told_at >= told / 1000 - 0.05


@trio_test
async def test_others_are_not_kept_waiting(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await bind(client, {"client-id": "other"}, producer_byte_rate=1)
        for _number in range(3):
            assert (await client.ask(produce("t", batch([bytes(50_000)])), BY_NAME)).throttle_time_ms == 0
