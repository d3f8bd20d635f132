"""Written by gRPC and read by a Kafka client, and the other way round."""

import time
from typing import Any

import grpc
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.grpc.stubs import PATIENCE_S, Stubs, headers
from tidegate.client.messages import admin_pb2, consume_pb2, produce_pb2
from tidegate.client.messages.records_pb2 import NewRecord
from tidegate.testing import RunningBroker


def read_by_kafka(bootstrap: str, topic: str, count: int, partitions: int = 1) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        found: list[Any] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count and time.monotonic() < deadline:
            found += [message for message in consumer.consume(count - len(found), 0.5) if message.error() is None]
        return found
    finally:
        consumer.close()


def write_by_kafka(bootstrap: str, topic: str, *records: dict[str, Any]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(PATIENCE_S) == 0


def test_what_grpc_writes_a_kafka_client_reads(door: Stubs, grpc_broker: RunningBroker, topic_name: str) -> None:
    door.create_topic(topic_name)
    door.write(
        topic_name,
        NewRecord(key=b"k", value=b"v", headers=headers(a=b"1", b=b"", c=None), timestamp_ms=1_700_000_000_000),
        NewRecord(key=b"gone"),
        NewRecord(value=b""),
    )
    first, deleted, empty = read_by_kafka(grpc_broker.bootstrap, topic_name, 3)
    assert (first.key(), first.value(), first.headers()) == (b"k", b"v", [("a", b"1"), ("b", b""), ("c", None)])
    assert first.timestamp()[1] == 1_700_000_000_000
    assert (deleted.key(), deleted.value()) == (b"gone", None)
    assert (empty.key(), empty.value()) == (None, b"")


def test_what_a_kafka_client_writes_grpc_reads(door: Stubs, grpc_broker: RunningBroker, topic_name: str) -> None:
    door.create_topic(topic_name)
    write_by_kafka(
        grpc_broker.bootstrap,
        topic_name,
        {"key": b"k", "value": b"v", "headers": [("a", b"1"), ("c", None)], "timestamp": 1_700_000_000_000},
        {"key": b"gone", "value": None},
    )
    first, deleted = door.read_all(topic_name)
    assert (first.key, first.value, first.timestamp_ms) == (b"k", b"v", 1_700_000_000_000)
    assert [(each.name, each.value if each.HasField("value") else None) for each in first.headers] == [
        ("a", b"1"),
        ("c", None),
    ]
    assert deleted.HasField("key")
    assert not deleted.HasField("value")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read(door: Stubs, grpc_broker: RunningBroker, topic_name: str, codec: str) -> None:
    door.create_topic(topic_name)
    producer = Producer({"bootstrap.servers": grpc_broker.bootstrap, "compression.type": codec, "linger.ms": 50})
    for number in range(500):
        producer.produce(topic_name, b"%d" % number * 20)
    assert producer.flush(PATIENCE_S) == 0
    assert [record.value for record in door.read_all(topic_name)] == [b"%d" % number * 20 for number in range(500)]


def test_keys_go_where_a_java_client_puts_them(door: Stubs, grpc_broker: RunningBroker, topic_name: str) -> None:
    door.create_topic(topic_name, partitions=7)
    keys = [b"key-%d" % number for number in range(50)]
    answer = door.write(topic_name, *(NewRecord(key=key, value=b"grpc") for key in keys))
    producer = Producer({"bootstrap.servers": grpc_broker.bootstrap, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(topic_name, b"kafka", key=key)
    assert producer.flush(PATIENCE_S) == 0
    theirs = {
        message.key(): message.partition() for message in read_by_kafka(grpc_broker.bootstrap, topic_name, 100, 7)
    }
    assert [theirs[key] for key in keys] == list(answer.partitions)


def test_a_stream_of_batches_is_answered_in_order(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name, partitions=2)
    requests = [
        produce_pb2.SendRequest(
            topic=topic_name,
            number=number,
            records=[NewRecord(value=b"%d.%d" % (number, each), partition=number % 2) for each in range(20)],
        )
        for number in range(100)
    ]
    answers = list(door.send_stream(iter(requests), timeout=PATIENCE_S))
    assert [answer.number for answer in answers] == list(range(100))
    assert not any(answer.refused for answer in answers)
    assert [offset for answer in answers for offset in answer.offsets if answer.number % 2 == 0] == list(range(1000))
    values = [record.value for record in door.read_all(topic_name, partitions=[{"partition": 0}])]
    assert values == [b"%d.%d" % (number, each) for number in range(0, 100, 2) for each in range(20)]


def test_a_batch_that_is_refused_does_not_end_the_stream(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name)
    wrong = produce_pb2.SendRequest(topic=topic_name, records=[NewRecord(value=b"x", partition=5)])
    nowhere = produce_pb2.SendRequest(topic="no such topic!", records=[NewRecord(value=b"x")])
    unclear = produce_pb2.SendRequest(topic=topic_name, records=[NewRecord(value=b"x", priority="urgent")])
    right = produce_pb2.SendRequest(topic=topic_name, records=[NewRecord(value=b"right")])
    answers = list(door.send_stream(iter([wrong, nowhere, unclear, right]), timeout=PATIENCE_S))
    assert [each.refused[0].refusal.error if each.refused else "" for each in answers] == [
        "UnknownTopicOrPartition",
        "InvalidTopic",
        "InvalidRecord",
        "",
    ]
    assert [record.value for record in door.read_all(topic_name)] == [b"right"]


def test_delays_and_priorities_are_kept(door: Stubs, grpc_broker: RunningBroker, topic_name: str) -> None:
    door.create_topic(topic_name, priority_enable="true")
    late = NewRecord(key=b"late", value=b"late", delay_ms=1500)
    never = NewRecord(key=b"never", value=b"never", delay_ms=3_600_000, schedule_id="never")
    answer = door.write(
        topic_name,
        *(NewRecord(value=b"low", priority="background") for _ in range(3)),
        NewRecord(value=b"first", priority="critical"),
        late,
        never,
    )
    assert set(answer.offsets) == {-1}
    waiting = door.admin("ListDelayed", admin_pb2.ListDelayedRequest(topic=topic_name), admin_pb2.ListDelayedResponse)
    assert "never" in [record.id for record in waiting.records]
    cancelled = door.admin(
        "CancelDelayed", admin_pb2.GetDelayedRequest(topic=topic_name, id="never"), admin_pb2.DelayedRecordState
    )
    assert cancelled.fate == "cancelled"
    values = [message.value() for message in read_by_kafka(grpc_broker.bootstrap, topic_name, 5)]
    assert values == [b"first", b"low", b"low", b"low", b"late"]


def test_reading_follows_what_is_written_and_begins_where_it_is_told(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name, partitions=3)
    door.write(topic_name, *(NewRecord(value=b"%d" % number, partition=0) for number in range(10)))
    request = consume_pb2.ReadRequest(
        topic=topic_name, partitions=[{"partition": 0, "start": {"offset": 8}}, {"partition": 1}]
    )
    call = door.read(request, timeout=PATIENCE_S)
    assert [record.value for record in next(call).records] == [b"8", b"9"]
    door.write(topic_name, NewRecord(value=b"new", partition=1))
    portion = next(call)
    assert (portion.partition, [record.value for record in portion.records]) == (1, [b"new"])
    call.cancel()
    few = list(door.read(consume_pb2.ReadRequest(topic=topic_name, max_records=3), timeout=PATIENCE_S))
    assert sum(len(portion.records) for portion in few) == 3
    with pytest.raises(grpc.RpcError) as refused:
        list(door.read(consume_pb2.ReadRequest(topic=topic_name, start={"offset": 999}), timeout=PATIENCE_S))
    assert refused.value.code() is grpc.StatusCode.OUT_OF_RANGE


def test_a_consumer_that_does_not_read_stops_the_reading_of_the_log(
    door: Stubs, grpc_broker: RunningBroker, topic_name: str
) -> None:
    door.create_topic(topic_name)
    for _ in range(40):
        door.write(topic_name, *(NewRecord(value=bytes(100_000)) for _ in range(10)))
    call = door.read(consume_pb2.ReadRequest(topic=topic_name, until_end=True), timeout=PATIENCE_S)
    first = next(call)
    time.sleep(1.0)
    sent = _sent_bytes(grpc_broker)
    assert sent < 25_000_000, "40 MB were read for a client that took one message"
    assert len(first.records) + sum(len(portion.records) for portion in call) == 400


def _sent_bytes(running: RunningBroker) -> int:
    import urllib.request

    with urllib.request.urlopen(f"{running.http_url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("tidegate_grpc_sent_bytes_total ")]
    return int(float(line.split()[1]))


def test_topics_are_made_altered_described_and_deleted(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name, partitions=2, retention_ms="1000000")
    with pytest.raises(grpc.RpcError) as refused:
        door.create_topic(topic_name)
    assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS
    assert ("tidegate-error", "TopicAlreadyExists") in refused.value.trailing_metadata()
    change = admin_pb2.AlterTopicRequest(
        topic=topic_name, partitions=4, set_configs={"cleanup.policy": "compact"}, delete_configs=["retention.ms"]
    )
    door.admin("AlterTopic", change, admin_pb2.AlterTopicResponse)
    door.write(topic_name, NewRecord(key=b"k", value=b"v", partition=3))
    found = door.admin("DescribeTopic", admin_pb2.DescribeTopicRequest(topic=topic_name), admin_pb2.TopicDescription)
    assert [(each.partition, each.end_offset) for each in found.partitions] == [(0, 0), (1, 0), (2, 0), (3, 1)]
    assert dict(found.configs) == {"cleanup.policy": "compact"}
    door.admin("DeleteTopic", admin_pb2.DeleteTopicRequest(topic=topic_name), admin_pb2.DeleteTopicResponse)
    listed = door.admin("ListTopics", admin_pb2.ListTopicsRequest(), admin_pb2.ListTopicsResponse)
    assert topic_name not in [topic.name for topic in listed.topics]


def test_groups_are_listed_moved_and_deleted(door: Stubs, grpc_broker: RunningBroker, topic_name: str) -> None:
    door.create_topic(topic_name)
    wanted = [{"topic": topic_name, "partition": 0, "offset": 7}]
    request = admin_pb2.SetGroupOffsetsRequest(group=topic_name, offsets=wanted)
    found = door.admin("SetGroupOffsets", request, admin_pb2.GroupOffsetsResponse)
    assert [(each.topic, each.offset) for each in found.offsets] == [(topic_name, 7)]
    consumer = Consumer({"bootstrap.servers": grpc_broker.bootstrap, "group.id": topic_name})
    (committed,) = consumer.committed([TopicPartition(topic_name, 0)], timeout=PATIENCE_S)
    consumer.close()
    assert committed.offset == 7
    listed = door.admin("ListGroups", admin_pb2.ListGroupsRequest(), admin_pb2.ListGroupsResponse)
    assert topic_name in [group.group for group in listed.groups]
    door.admin("DeleteGroup", admin_pb2.DeleteGroupRequest(group=topic_name), admin_pb2.DeleteGroupResponse)
    cluster = door.admin("DescribeCluster", admin_pb2.DescribeClusterRequest(), admin_pb2.ClusterDescription)
    assert [node.listeners[0] for node in cluster.nodes] == [f"PLAINTEXT://{grpc_broker.bootstrap}"]
