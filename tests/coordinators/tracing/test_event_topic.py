"""The topic of events: made when needed, written in batches, bounded."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from trio.testing import trio_test

from coordinators.records.publishing import Publishing
from coordinators.tracing.event_topic import TRACE_EVENTS_TOPIC, EventTopic, _record, encode_event
from coordinators.tracing.settings import EventTopicSettings
from engine.errors import StorageError
from engine.records.layout import pack_record, split_batches, walk_records
from engine.timers import Timers
from engine.trace.kinds import EventKind
from tests.coordinators.cluster.nodes import place
from tests.engine.trace.traces import NOON_US, PARENT_ID, TRACE_ID, add, trace, trace_header
from tests.engine.trace.traces import batch as traced_batch
from tests.wire.kafka.door import config, open_door, until
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetched, produce, produced
from tidegate.broker import Broker

INVALID_TOPIC = 17


def values(records: Any) -> list[dict[str, Any]]:
    """The JSON of every record in an answer."""
    found = []
    for header, data in split_batches(bytes(records)):
        for span in walk_records(data[61:], header.record_count):
            assert span.key == TRACE_ID.encode()
            found.append(json.loads(bytes(span.value or b"")))
    return found


@given(st.integers(0, 5000), st.integers(-10_000, 10_000), st.binary(max_size=40), st.binary(max_size=400))
def test_its_records_are_those_that_everybody_packs(number: int, later_ms: int, key: bytes, value: bytes) -> None:
    assert _record(number, later_ms, key, value) == pack_record(number, later_ms, key, value)


@trio_test
async def test_a_pipeline_reads_the_events(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"log.trace.sample.per.second": 0}) as door:
        client = await door.connect()
        await create_topic(client, "orders")
        now_ms = door.broker.clock.now_ms()
        await produced(client, "orders", traced_batch([(b"k", b"v", (trace_header(),))], timestamp_ms=now_ms))
        await until(lambda: door.broker.node.tracing.statistics()["topic_events_written"] == 2)
        answer = await fetched(client, TRACE_EVENTS_TOPIC)
        assert [said["event"] for said in values(answer.records)] == ["publish.received", "publish.persisted"]
        topic = door.broker.node.topics.by_name[TRACE_EVENTS_TOPIC]
        assert (topic.partition_count, topic.internal, topic.config["retention.ms"]) == (1, True, 3_600_000)
        refused = await client.ask(produce(TRACE_EVENTS_TOPIC, batch()), BY_NAME)
        assert refused.responses[0].partition_responses[0].error_code == INVALID_TOPIC


@trio_test
async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"trace.events.topic.enable": False}) as door:
        client = await door.connect()
        await create_topic(client, "orders")
        await produced(client, "orders", batch())
        assert len(door.broker.node.tracing.store) == 1
        assert door.broker.node.tracing.sinks == []


@trio_test
async def test_what_does_not_fit_is_dropped_and_counted(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        node = broker.node
        sink = EventTopic(
            node.controller, node.clock, Timers(), node.services[Publishing], EventTopicSettings(queue_size=3)
        )
        made = trace()
        for _ in range(5):
            sink.event(made, made.events[0])
        assert sink.statistics() == {"topic_events_written": 0, "topic_events_queued": 3, "topic_events_dropped": 2}
        sink.flush()
        assert sink.statistics()["topic_events_queued"] == 3, "the topic is not there, and nobody is held up by that"


@trio_test
async def test_many_events_become_several_batches_and_what_the_log_refuses_is_dropped(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        node = broker.node
        timers = Timers()
        sink = EventTopic(node.controller, node.clock, timers, node.services[Publishing])
        made = trace()
        add(made, EventKind.CONSUME_FETCHED, 1, client_id="x" * 1_100_000)
        for number in range(1200):
            sink.event(made, made.events[number == 700])
        timers.run_due(float("inf"))
        await until(lambda: sink.statistics()["topic_events_queued"] == 0)
        assert (sink.written, sink.dropped) == (1199, 1)
        topic = node.topics.by_name[TRACE_EVENTS_TOPIC]
        partition = node.partitions.get(topic.topic_id, 0)
        assert partition is not None
        assert partition.log.end_offset == 1199


@trio_test
async def test_a_disk_that_fails_costs_events_only(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)) as broker:
        node = broker.node
        timers = Timers()
        sink = EventTopic(node.controller, node.clock, timers, node.services[Publishing])
        made = trace()
        sink.event(made, made.events[0])
        timers.run_due(float("inf"))
        await until(lambda: sink.written == 1)
        partition = node.partitions.get(node.topics.by_name[TRACE_EVENTS_TOPIC].topic_id, 0)
        assert partition is not None
        partition.take_offline(StorageError("gone"))
        sink.event(made, made.events[0])
        timers.run_due(float("inf"))
        assert (sink.written, sink.dropped) == (1, 1)


def test_the_fields() -> None:
    made = trace(7)
    add(made, EventKind.CONSUME_FETCHED, 1500, client_id="cook", address="10.0.0.7", group=None)
    assert json.loads(encode_event(made, made.events[1])) == {
        "schema": 1,
        "event": "consume.fetched",
        "time_us": NOON_US + 1500,
        "since_start_us": 1500,
        "trace_id": TRACE_ID,
        "parent_id": PARENT_ID,
        "sampled_by": "traceparent",
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "key": "k",
        "key_base64": None,
        "client_id": "cook",
        "address": "10.0.0.7",
    }


def test_whatever_a_client_says_it_is_json_in_utf_8() -> None:
    made = trace(7, key=b"\xff\x00")
    add(made, EventKind.CONSUME_FETCHED, 1, client_id='a"\n\udcff\u2028ü')
    said = json.loads(encode_event(made, made.events[1]).decode())
    assert said["client_id"] == 'a"\n?\u2028ü'
    assert said["key_base64"] == "/wA="


@trio_test
async def test_events_go_to_a_partition_that_this_node_leads(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        node = door.broker.node
        client = await door.connect()
        await create_topic(client, TRACE_EVENTS_TOPIC, 2)
        topic = node.topics.by_name[TRACE_EVENTS_TOPIC]
        (events,) = (sink for sink in node.tracing.sinks if isinstance(sink, EventTopic))
        assert events._led_here(topic) == 0
        catalogue = node.controller.replicas.catalogue
        place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
        await node.controller.replicas.in_force(catalogue.revision())
        assert events._led_here(node.topics.by_name[TRACE_EVENTS_TOPIC]) == 1
