"""Tenants that go beyond their rates, and those that hold as much as they may."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, create_topic, fetch, produce, produced
from tests.wire.kafka.tenancy.tenants import ACME, ACME_PREFIXED, OPERATOR, ZULU, open_tenants
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.metadata import MetadataRequest

BY_NAME = 12


@trio_test
async def test_producers_beyond_the_rate_are_told_to_wait_and_others_are_not(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu = await tenants.connect(ACME), await tenants.connect(ZULU)
        for client in (acme, zulu):
            await create_topic(client, "orders")
        await tenants.administration.alter("acme", {"producer_byte_rate": 1_000})
        sent = batch([b"x" * 1_000])
        first, second = [await client.ask(produce("orders", sent), BY_NAME) for client in (acme, zulu)]
        assert first.responses[0].partition_responses[0].error_code == 0
        # A quarter of a second's worth is let through at once.
        assert 500 <= first.throttle_time_ms <= 2_000
        assert second.throttle_time_ms == 0
        usage = tenants.door.broker.server.tenancy.usages.of("acme")
        assert usage.throttled_ms == first.throttle_time_ms


@trio_test
async def test_all_clients_of_a_tenant_share_its_rate(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        one, other = await tenants.connect(ACME), await tenants.connect(ACME_PREFIXED)
        await create_topic(one, "orders")
        await produced(one, "orders", batch([b"x" * 1_500]))
        await tenants.administration.alter("acme", {"consumer_byte_rate": 100})
        first = await one.ask(fetch("orders"), BY_NAME)
        assert first.throttle_time_ms > 0
        assert (await other.ask(fetch("acme.orders"), BY_NAME)).throttle_time_ms >= first.throttle_time_ms


@trio_test
async def test_requests_beyond_the_rate_wait(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme = await tenants.connect(ACME)
        await tenants.administration.alter("acme", {"request_rate": 1})
        told = [(await acme.ask(MetadataRequest([]))).throttle_time_ms for _ in range(11)]
        assert told[:10] == [0] * 10
        assert told[10] > 0


@trio_test
async def test_topics_and_partitions_beyond_the_limit_are_not_made(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu = await tenants.connect(ACME), await tenants.connect(ZULU)
        await tenants.administration.alter("acme", {"topics": 2, "partitions": 4})
        wanted = [CreatableTopic(name, 1, 1) for name in "abc"]
        for client, codes in ((acme, [0, 0, ErrorCode.POLICY_VIOLATION]), (zulu, [0, 0, 0])):
            made = await client.ask(CreateTopicsRequest(wanted, timeout_ms=5000))
            assert [topic.error_code for topic in made.topics] == codes
        for count, code in ((4, ErrorCode.POLICY_VIOLATION), (3, 0)):
            grown = await acme.ask(CreatePartitionsRequest([CreatePartitionsTopic("a", count, None)], 5000))
            assert grown.results[0].error_code == code


@trio_test
async def test_dead_letters_stay_within_the_namespace(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        plain, operator = await tenants.connect(ACME_PREFIXED), await tenants.connect(OPERATOR)
        for client, name in ((plain, "acme.orders"), (operator, "acme.orders"), (operator, "orders")):
            target = "zulu.graves" if name != "orders" else "acme.graves"
            topic = CreatableTopic(name, 1, 1, configs=[CreatableTopicConfig("dead.letter.topic", target)])
            (made,) = (await client.ask(CreateTopicsRequest([topic], timeout_ms=5000))).topics
            assert made.error_code == ErrorCode.INVALID_CONFIG
