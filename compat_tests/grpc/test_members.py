"""Groups and share groups by gRPC, beside members that are Kafka's."""

import time

import pytest
from confluent_kafka import Consumer

from compat_tests.grpc.stubs import PATIENCE_S, Stubs
from tidegate.client import Client, ClientError, RecordRefused
from tidegate.client.messages.records_pb2 import NewRecord
from tidegate.testing import RunningBroker


@pytest.fixture
def client(grpc_broker: RunningBroker):  # type: ignore[no-untyped-def]
    with Client(grpc_broker.grpc_address, deadline_s=PATIENCE_S) as made:
        yield made


def write(door: Stubs, topic: str, partitions: int, count: int) -> set[bytes]:
    values = [b"%d" % number for number in range(count)]
    door.write(topic, *(NewRecord(value=each, partition=place % partitions) for place, each in enumerate(values)))
    return set(values)


def test_a_member_by_grpc_shares_a_group_with_a_kafka_consumer(
    door: Stubs, client: Client, grpc_broker: RunningBroker, topic_name: str
) -> None:
    door.create_topic(topic_name, partitions=4)
    settings = {
        "bootstrap.servers": grpc_broker.bootstrap,
        "group.id": topic_name,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "range,roundrobin",
    }
    kafka = Consumer(settings)
    kafka.subscribe([topic_name])
    ours: set[bytes] = set()
    theirs: set[bytes] = set()
    with client.group(topic_name, [topic_name], reset="earliest") as member:
        deadline = time.monotonic() + PATIENCE_S
        written: set[bytes] = set()
        while time.monotonic() < deadline:
            ours |= {record.value or b"" for record in member.poll(wait_s=0.2)}
            theirs |= {message.value() for message in kafka.consume(100, 0.2) if message.error() is None}
            if not written and len(kafka.assignment()) == 2:
                written = write(door, topic_name, 4, 100)
            if written and ours | theirs == written:
                break
    kafka.close()
    assert ours | theirs == written
    assert ours
    assert theirs
    assert not ours & theirs


def test_a_group_goes_on_where_it_has_committed(door: Stubs, client: Client, topic_name: str) -> None:
    door.create_topic(topic_name)
    write(door, topic_name, 1, 10)
    with client.group(topic_name, [topic_name], reset="earliest", auto_commit_ms=-1) as member:
        first = _polled(member, 10)
        assert [record.offset for record in first] == list(range(10))
        member.commit({(topic_name, 0): 4})
        with pytest.raises(ClientError, match="not the member's"):
            member.commit({(topic_name, 7): 1})
    with client.group(topic_name, [topic_name], reset="earliest", auto_commit_ms=-1) as member:
        assert [record.offset for record in _polled(member, 6)] == list(range(4, 10))
        member.commit()
    with client.group(topic_name, [topic_name], reset="earliest") as member:
        write(door, topic_name, 1, 1)
        assert [record.offset for record in _polled(member, 1)] == [10]


def test_a_share_group_lends_each_record_to_one_worker_until_it_is_settled(
    door: Stubs, client: Client, topic_name: str
) -> None:
    door.create_topic(topic_name)
    with client.share(topic_name, [topic_name]) as first, client.share(topic_name, [topic_name]) as second:
        first.poll(wait_s=0.1)
        second.poll(wait_s=0.1)
        deadline = time.monotonic() + PATIENCE_S
        lent = []
        while not lent and time.monotonic() < deadline:
            door.write(topic_name, NewRecord(value=b"work"))
            lent = first.poll(max_records=1, wait_s=0.5)
        first.renew(lent[0])
        first.nack(lent[0])
        again = []
        while not any(each.record.offset == lent[0].record.offset for each in again) and time.monotonic() < deadline:
            again += second.poll(max_records=10, wait_s=0.5)
        (mine,) = [each for each in again if each.record.offset == lent[0].record.offset]
        assert mine.delivery_count == 2
        with pytest.raises(RecordRefused):
            first.ack(lent[0])
        second.ack(*again)
        with pytest.raises(RecordRefused):
            second.nack(mine)


def test_what_is_no_join_is_refused(door: Stubs, client: Client, topic_name: str) -> None:
    with pytest.raises(ClientError, match="topics"):
        client.group(topic_name, []).poll()
    with pytest.raises(ClientError, match="session_timeout_ms"):
        client.share(topic_name, [topic_name], session_timeout_ms=5).poll()


def _polled(member, count: int):  # type: ignore[no-untyped-def]
    found: list = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        found += member.poll(wait_s=1.0)
    return found
