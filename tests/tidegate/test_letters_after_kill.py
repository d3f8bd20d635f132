"""Dead letters that a broker had to send when it was killed go out by themselves when it is there again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from tests.wire.kafka.sharing import REJECT, ShareMember, configure_group
from tidegate import testing
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC_RESOURCE = 2
WAITED_MS = 2_500


@asynccontextmanager
async def connected(broker: testing.RunningBroker) -> AsyncIterator[Client]:
    async with await trio.open_tcp_stream("127.0.0.1", broker.port) as stream:
        yield Client(stream)


async def clean_up(client: Client, policy: str) -> None:
    entries = [AlterableConfig("cleanup.policy", 0, policy)]
    resource = AlterConfigsResource(TOPIC_RESOURCE, "t.dlq", entries)
    answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert answer.responses[0].error_code == 0


@trio_test
async def test_nobody_has_to_fetch() -> None:
    with testing.broker(timeout_s=60) as broker:
        async with connected(broker) as client:
            made = await create_topic(client, "t", 1)
            await create_topic(client, "t.dlq", 1)
            # Letters would not be kept there: they have to wait.
            await clean_up(client, "compact")
            await configure_group(client, share_auto_offset_reset="earliest")
            await produced(client, "t", batch(3))
            member = ShareMember(client, made.topic_id)
            assert await member.take() == [(0, 2, 1)]
            assert await member.acknowledge([(0, 2, [REJECT])]) == 0
            assert (await fetched(client, "t.dlq")).high_watermark == 0
        broker.kill()
        broker.start()
        async with connected(broker) as client:
            # For longer than it takes to try again.
            waited = await fetched(client, "t.dlq", max_wait_ms=WAITED_MS)
            assert waited.high_watermark == 0
            await clean_up(client, "delete")
            with trio.fail_after(60):
                while (await fetched(client, "t.dlq", max_wait_ms=5_000, min_bytes=1)).high_watermark < 3:
                    pass
            assert (await fetched(client, "t.dlq")).high_watermark == 3
