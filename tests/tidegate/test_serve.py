"""The server as a process: quick to start, clean to stop, and it keeps what it has acknowledged."""

import itertools
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.tidegate.processes import TELLING_MODULES, Server, run, serving, time_to_ready
from tests.tidegate.timing import check_takes_less
from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetched, produce, produced
from tidegate.data_directory import CLEAN_MARK
from wire.kafka.messages.api_versions import ApiVersionsRequest
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.init_producer_id import InitProducerIdRequest
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

READY_S = 1.0
EXIT_FAILED = 1
# What some command, route or setting needs, and a start must not wait for: each takes milliseconds, or megabytes.
LOADED_LATE = {
    # (structlog comes with the first line, and brings asyncio and dataclasses: in a thread, once the broker is ready.)
    *("aiokafka", "difflib", "h11", "http", "hypothesis", "kio", "multiprocessing", "opentelemetry"),
    *("prometheus_client", "re2", "rich", "tomllib", "typer", "unittest", "yaml"),
    *(
        "engine.catalogue.etcd",
        "tools",
        "coordinators.metrics",
        "coordinators.release.inspection",
        "wire.http.application",
        "wire.http.routes",
    ),
}
TOPIC, TOPIC_CONFIG = 2, 1


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Client]:
    host, port = server.address.rsplit(":", 1)
    stream = await trio.open_tcp_stream(host.strip("[]"), int(port))
    async with stream:
        yield Client(stream)


def test_it_is_ready_within_a_second(tmp_path: Path) -> None:
    numbers = itertools.count()
    check_takes_less(READY_S, lambda: time_to_ready(tmp_path / str(next(numbers))))


@trio_test
async def test_the_first_client_is_answered_before_anything_is_loaded_that_few_need(tmp_path: Path) -> None:
    with serving(tmp_path, "--http-port", "-1", program=TELLING_MODULES) as server:
        async with client_of(server) as client:
            assert (await client.ask(ApiVersionsRequest("test", "1"), 4)).error_code == 0
        ended = server.end()
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert {"trio", "tidegate.serve", "wire.http.server", "wire.kafka.codec.schemas.api_versions"} <= loaded
    assert loaded & LOADED_LATE == set()


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(tmp_path: Path, signal_number: int) -> None:
    with serving(tmp_path) as server:
        ended = server.end(signal_number)
    assert ended.code == 0
    assert "Traceback" not in ended.stderr
    assert (tmp_path / CLEAN_MARK).exists()


@trio_test
async def test_it_stops_cleanly_under_load(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        async with client_of(server) as client:
            await create_topic(client, "t")
            for _ in range(100):
                await client.send(produce("t", batch([bytes(1000)])), BY_NAME)
            ended = await trio.to_thread.run_sync(server.end)
    assert (ended.code, "Traceback" in ended.stderr) == (0, False)
    assert (tmp_path / CLEAN_MARK).exists()


def test_a_second_server_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        second = run("serve", "--data-dir", str(tmp_path), "--kafka-port", "0")
        assert second.code == EXIT_FAILED
        (line,) = second.stderr.splitlines()
        assert str(tmp_path) in line
        assert f"process {server.process.pid}" in line
        assert server.process.poll() is None
        assert server.end().code == 0


def test_it_serves_ipv6(tmp_path: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(tmp_path, "--host", "::1") as server:
        assert server.address.startswith("[::1]:")
        socket.create_connection(("::1", server.port), timeout=5).close()


@trio_test
async def test_set_is_stronger_than_environment_and_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('"num.partitions" = 2\n"broker.rack" = "file"\n"node.id" = 3\n')
    environment = {"TIDEGATE_NUM_PARTITIONS": "4", "TIDEGATE_BROKER_RACK": "environment"}
    options = ["--config", str(file), "--set", "num.partitions=6"]
    with serving(tmp_path / "data", *options, environment=environment) as server:
        async with client_of(server) as client:
            made = await create_topic(client, "t", partitions=-1)
            (broker,) = (await client.ask(MetadataRequest(topics=[]))).brokers
            assert (made.num_partitions, broker.rack, broker.node_id) == (6, "environment", 3)


@trio_test
async def test_a_restart_keeps_topics_records_configs_and_producer_ids(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        async with client_of(server) as client:
            made = await create_topic(client, "t", 2, {"retention.ms": "123456789"})
            assert (await produced(client, "t", batch(3), partition=1)).error_code == 0
            first_id = (await client.ask(InitProducerIdRequest())).producer_id
            described = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        server.end()
    with serving(tmp_path) as server:
        async with client_of(server) as client:
            again = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
            assert again.topics == described.topics
            assert again.topics[0].topic_id == made.topic_id
            assert again.cluster_id == described.cluster_id
            assert (await fetched(client, "t", partition=1)).high_watermark == 3
            assert (await client.ask(InitProducerIdRequest())).producer_id > first_id
            asked = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "t", ["retention.ms"])])
            (config,) = (await client.ask(asked)).results[0].configs
            assert (config.value, config.config_source) == ("123456789", TOPIC_CONFIG)


@trio_test
async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged = 0
    for _ in range(3):
        with serving(tmp_path) as server:
            async with client_of(server) as client:
                if not acknowledged:
                    await create_topic(client, "t")
                assert (await fetched(client, "t")).high_watermark >= acknowledged
                for _ in range(50):
                    answer = await produced(client, "t", batch(2))
                    assert answer.error_code == 0
                    acknowledged = answer.base_offset + 2
                await client.send(produce("t", batch(2)), BY_NAME)
                server.kill()
        assert not (tmp_path / CLEAN_MARK).exists()


@trio_test
async def test_an_idempotent_producer_is_known_after_a_kill(tmp_path: Path) -> None:
    records = batch(2, producer_id=77, producer_epoch=0, base_sequence=0)
    with serving(tmp_path) as server:
        async with client_of(server) as client:
            await create_topic(client, "t")
            assert (await produced(client, "t", records)).base_offset == 0
        server.kill()
    with serving(tmp_path) as server:
        async with client_of(server) as client:
            again = await produced(client, "t", records)
            assert (again.error_code, again.base_offset) == (0, 0)
            assert (await fetched(client, "t")).high_watermark == 2
