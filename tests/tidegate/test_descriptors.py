"""A low limit of open files: it is shared out and told at start, and no request can use up the doors' part."""

import logging
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.tidegate.processes import Server, run, serving
from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import BY_NAME, batch, create_topic
from tidegate.config import BrokerConfig
from tidegate.descriptors import DescriptorPlan, TooFewDescriptors
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

WITH_FEW_DESCRIPTORS = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "
    "from tidegate.__main__ import main; sys.exit(main())"
)
PARTITIONS = 120
STORAGE_ERROR = 56


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Client]:
    host, port = server.address.rsplit(":", 1)
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        yield Client(stream)


def health(server: Server) -> int:
    url = f"http://{server.line.split('http=')[1].strip()}/health/live"
    with urllib.request.urlopen(url, timeout=10) as answer:
        status: int = answer.status
        return status


async def produce_to(client: Client, partitions: set[int]) -> dict[int, int]:
    """The error codes by partition."""
    data = [PartitionProduceData(index, batch()) for index in sorted(partitions)]
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name="t", partition_data=data)])
    answer = await client.ask(request, BY_NAME)
    return {entry.index: entry.error_code for entry in answer.responses[0].partition_responses}


@trio_test
async def test_a_produce_to_more_partitions_than_descriptors_leaves_both_doors_open(tmp_path: Path) -> None:
    with serving(tmp_path, "--http-port", "-1", program=WITH_FEW_DESCRIPTORS) as server:
        left, refused = set(range(PARTITIONS)), 0
        async with connected(server) as client:
            await create_topic(client, "t", PARTITIONS)
            with trio.fail_after(60):
                while left:
                    codes = await produce_to(client, left)
                    assert set(codes.values()) <= {0, STORAGE_ERROR}
                    left = {index for index, code in codes.items() if code != 0}
                    refused += len(left)
                    async with connected(server) as other:
                        assert (await other.ask(ApiVersionsRequest("test", "1"), 4)).error_code == 0
                    assert await trio.to_thread.run_sync(health, server) == 200
        assert refused > 0
        # Closing so many logs takes its time, and is not what is looked at.
        server.process.kill()


def test_a_limit_that_serves_nobody_is_refused_at_start(tmp_path: Path) -> None:
    ended = run(
        "serve", "--data-dir", str(tmp_path), "--kafka-port", "0", program=WITH_FEW_DESCRIPTORS.replace("256", "100")
    )
    assert ended.code != 0
    assert "may open 100 files" in ended.stderr
    assert "ulimit -n" in ended.stderr


def test_each_gets_its_part_and_the_sum_is_within_the_limit() -> None:
    for limit in (256, 1024, 4096, 20_000, 2**20):
        plan = DescriptorPlan.make(BrokerConfig.load().settings, limit)
        assert plan.logs + plan.connections + plan.http_connections + plan.http_streams < limit
        assert plan.logs >= limit // 8
        assert plan.connections >= limit // 3 or plan.connections == 20_000
        assert plan.http_connections >= 32


def test_what_is_asked_for_is_granted_where_there_is_room() -> None:
    values = {"log.max.open.files": 100, "max.connections": 50, "http.max.connections": 10, "http.max.streams": 20}
    settings = BrokerConfig.load(values=values).settings
    plan = DescriptorPlan.make(settings, 1024)
    assert (plan.logs, plan.connections, plan.http_connections, plan.http_streams) == (100, 50, 10, 20)


def test_too_low_a_limit_is_an_error() -> None:
    with pytest.raises(TooFewDescriptors, match="at least 256"):
        DescriptorPlan.make(BrokerConfig.load().settings, 255)


def test_the_limit_is_told_and_what_it_cuts_short(caplog: pytest.LogCaptureFixture) -> None:
    settings = BrokerConfig.load(values={"max.connections": 5000}).settings
    with caplog.at_level(logging.INFO, "tidegate"):
        DescriptorPlan.make(settings, 1024).tell(settings)
    assert caplog.records[0].__dict__["open_files"] == 1024
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "max.connections is 544, not 5000" in caplog.messages[1]


def test_an_ample_limit_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tidegate"):
        DescriptorPlan.make(BrokerConfig.load().settings, 2**20).tell(BrokerConfig.load().settings)
    assert [record.levelname for record in caplog.records] == ["INFO"]
