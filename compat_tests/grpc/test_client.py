"""`tidegate.client`, with threads and for asyncio, against a broker."""

import asyncio
import threading
import time

import pytest

from compat_tests.grpc.stubs import PATIENCE_S
from tidegate.client import AsyncClient, Client, ClientError, Login, RecordRefused
from tidegate.testing import RunningBroker, broker


@pytest.fixture
def client(grpc_broker: RunningBroker):  # type: ignore[no-untyped-def]
    with Client(grpc_broker.grpc_address, deadline_s=PATIENCE_S) as made:
        yield made


def test_records_are_written_in_batches_and_read_back_in_order(client: Client, topic_name: str) -> None:
    assert client.create_topic(topic_name, 2) == 2
    with client.producer() as producer:
        futures = [producer.send(topic_name, b"%d" % number, partition=number % 2) for number in range(1000)]
        assert producer.flush(PATIENCE_S)
        assert [future.result().offset for future in futures[::2]] == list(range(500))
    found = list(client.read(topic_name, until_end=True))
    assert [record.value for record in found if record.partition == 1] == [b"%d" % each for each in range(1, 1000, 2)]
    assert [record.offset for record in client.read(topic_name, start=498, partitions=[0], until_end=True)] == [
        498,
        499,
    ]


def test_what_is_refused_is_told_of_its_record(client: Client, topic_name: str) -> None:
    client.create_topic(topic_name, 1)
    with client.producer(linger_ms=0) as producer:
        wrong = producer.send(topic_name, b"x", partition=9)
        right = producer.send(topic_name, b"y", headers={"a": b"1", "b": None}, key=b"k")
        with pytest.raises((RecordRefused, ClientError), match="UnknownTopicOrPartition"):
            wrong.result(PATIENCE_S)
        assert right.result(PATIENCE_S).offset == 0
    (record,) = client.read(topic_name, until_end=True)
    assert (record.key, record.value, record.headers) == (b"k", b"y", (("a", b"1"), ("b", None)))
    with pytest.raises(ClientError) as refused:
        client.create_topic(topic_name)
    assert refused.value.error == "TopicAlreadyExists"


def test_delayed_records_are_listed_and_taken_back(client: Client, topic_name: str) -> None:
    client.create_topic(topic_name, 1)
    with client.producer() as producer:
        held = producer.send(topic_name, b"x", key=b"k", delay_ms=3_600_000, schedule_id="later")
        assert held.result(PATIENCE_S).offset == -1
    assert list(client.delayed(topic_name)) == ["later"]
    client.cancel_delayed(topic_name, "later")
    assert client.delayed(topic_name) == {}
    with pytest.raises(ClientError, match="NoSuchRecord"):
        client.cancel_delayed(topic_name, "never")


def test_a_client_for_asyncio_does_the_same(grpc_broker: RunningBroker, topic_name: str) -> None:
    async def main() -> None:
        async with AsyncClient(grpc_broker.grpc_address, deadline_s=PATIENCE_S) as client:
            await client.create_topic(topic_name, 1)
            async with client.producer() as producer:
                futures = [await producer.send(topic_name, b"%d" % number) for number in range(300)]
                await producer.flush()
                assert [(await future).offset for future in futures] == list(range(300))
            found = [record.value async for record in client.read(topic_name, until_end=True)]
            assert found == [b"%d" % number for number in range(300)]
            async with client.group(topic_name, [topic_name], reset="earliest") as member:
                polled: list[bytes | None] = []
                while len(polled) < 300:
                    polled += [record.value for record in await member.poll(wait_s=1.0)]
                assert polled == found
                await member.commit()
            async with client.share(f"{topic_name}-share", [topic_name]) as worker, client.producer() as producer:
                lent = await worker.poll(wait_s=0.1)
                while not lent:
                    await producer.send(topic_name, b"work")
                    lent = await worker.poll(wait_s=0.5)
                await worker.ack(*lent)
            await client.delete_topic(topic_name)
            assert topic_name not in await client.topics()

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def test_the_client_goes_on_when_the_broker_was_killed_and_is_back() -> None:
    with (
        broker({"grpc.port": str(_free_port())}) as running,
        Client(running.grpc_address, deadline_s=PATIENCE_S) as client,
    ):
        client.create_topic("t", 1)
        sent: list[bytes] = []
        with client.producer() as producer:
            back = threading.Thread(target=lambda: (running.kill(), running.start()))
            futures = []
            for number in range(3000):
                futures.append((b"%d" % number, producer.send("t", b"%d" % number)))
                if number == 1000:
                    back.start()
                time.sleep(0.0005)
            assert producer.flush(PATIENCE_S)
            back.join()
            sent = [value for value, future in futures if future.exception() is None]
        assert len(sent) == 3000
        found = [record.value for record in client.read("t", until_end=True)]
        assert set(found) == set(sent), "what is tried again may be there twice, and nothing is lost"


def test_who_calls_is_shown_by_a_token() -> None:
    with broker({"grpc.port": "-1", "grpc.token": "secret"}) as running:
        with Client(running.grpc_address) as client, pytest.raises(ClientError, match="token"):
            client.topics()
        with Client(running.grpc_address, login=Login(token="secret")) as client:
            assert client.topics() == {}


def _free_port() -> int:
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
