"""A client under OpenTelemetry's SDK and the broker make one trace, with the steps in order and under their parents.

Against Apache Kafka there is nothing to see: it makes no spans.
"""

import json
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind, Tracer, format_span_id, format_trace_id

from compat_tests import admin, brokers
from compat_tests.tracing.collector import CollectedSpan, Collector, collector

pytestmark = pytest.mark.skipif(brokers.target() == "kafka", reason="the broker's spans are Tidegate's own")

PATIENCE_S = 30.0
SERVER = 2


@pytest.fixture(scope="module")
def backend() -> Iterator[Collector]:
    with collector() as kept:
        yield kept


@pytest.fixture(scope="module")
def traced_broker(backend: Collector) -> Iterator[str]:
    settings = {
        "trace.exporter": "otlp-http",
        "trace.exporter.otlp.http.endpoint": backend.endpoint,
        "trace.exporter.otlp.headers": "x-api-key=secret",
        "log.trace.sample.per.second": "0",
        "group.initial.rebalance.delay.ms": "0",
    }
    with brokers.broker(settings) as bootstrap:
        yield bootstrap


def tracer(backend: Collector, service: str) -> Tracer:
    provider = TracerProvider(resource=Resource({"service.name": service}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(backend.endpoint)))
    return provider.get_tracer("test")


def produce_under_a_span(
    bootstrap: str, backend: Collector, topic: str, more: dict[str, str] | None = None, **config: str
) -> tuple[str, str]:
    """Ten records, one of them traced, with `more` headers; the trace's id and that of the producer's span."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "till", "linger.ms": 50, **config})
    with tracer(backend, "till").start_as_current_span("order placed", kind=SpanKind.PRODUCER) as span:
        carrier: dict[str, str] = {}
        inject(carrier)
        for number in range(10):
            headers = list((carrier | (more or {})).items()) if number == 4 else [("plain", b"x")]
            producer.produce(topic, f"order {number}", key=f"k{number}", headers=headers)
        assert producer.flush(PATIENCE_S) == 0
    context = span.get_span_context()
    return format_trace_id(context.trace_id), format_span_id(context.span_id)


def consume_in_a_group(bootstrap: str, backend: Collector, topic: str, group: str) -> None:
    """All ten; the traced one is worked on under a span of the consumer's own, then everything is committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "cook",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    try:
        for _ in range(10):
            _work_on(_next(consumer), backend)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def _next(consumer: Consumer) -> Message:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            return message
    raise AssertionError("no record came")


def _work_on(message: Message, backend: Collector) -> None:
    headers = {name: value.decode() for name, value in message.headers() or []}
    if "traceparent" in headers:
        with tracer(backend, "cook").start_as_current_span("cook", extract(headers), SpanKind.CONSUMER):
            pass


def broker_spans(backend: Collector, trace_id: str) -> list[CollectedSpan]:
    return [span for span in backend.of_trace(trace_id) if span.service == "tidegate"]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_publish_fetch_and_commit_are_one_trace(
    traced_broker: str, backend: Collector, topic_name: str, codec: str
) -> None:
    admin.create_topic(traced_broker, topic_name, 1, {})
    options = {"compression.type": codec}
    trace_id, producer_span = produce_under_a_span(traced_broker, backend, topic_name, **options)
    consume_in_a_group(traced_broker, backend, topic_name, f"group-{topic_name}")
    backend.wait_for(trace_id, f"commit {topic_name}")
    backend.wait_for(trace_id, "cook")

    publish, fetch, commit = broker_spans(backend, trace_id)
    assert [span.name for span in (publish, fetch, commit)] == [
        f"publish {topic_name}", f"fetch {topic_name}", f"commit {topic_name}",
    ]  # fmt: skip
    assert {span.parent_id for span in (publish, fetch, commit)} == {producer_span}
    assert {span.kind for span in (publish, fetch, commit)} == {SERVER}
    assert publish.events == ["publish.received", "publish.persisted"]
    assert publish.start_ns <= publish.end_ns <= fetch.start_ns <= commit.start_ns

    for span in (publish, fetch, commit):
        assert span.attributes["messaging.system"] == "kafka"
        assert span.attributes["messaging.destination.name"] == topic_name
        assert span.attributes["messaging.destination.partition.id"] == "0"
        assert span.attributes["messaging.kafka.offset"] == 4
        assert span.attributes["messaging.kafka.message.key"] == "k4"
    assert publish.attributes["messaging.client.id"] == "till"
    assert fetch.attributes["messaging.client.id"] == "cook"
    assert fetch.attributes["messaging.consumer.group.name"] == f"group-{topic_name}"
    assert commit.attributes["messaging.consumer.group.name"] == f"group-{topic_name}"

    services = {span.service for span in backend.of_trace(trace_id)}
    assert services == {"till", "tidegate", "cook"}, "the client's own spans and the broker's are one trace"
    assert "secret" in {headers.get("X-Api-Key", headers.get("x-api-key")) for headers in backend.headers}


def test_a_delayed_record_is_one_trace_too(traced_broker: str, backend: Collector, topic_name: str) -> None:
    admin.create_topic(traced_broker, topic_name, 1, {})
    trace_id, producer_span = produce_under_a_span(traced_broker, backend, topic_name, {"tide-delay": "1000"})
    consume_in_a_group(traced_broker, backend, topic_name, f"group-{topic_name}")
    backend.wait_for(trace_id, f"commit {topic_name}")
    spans = broker_spans(backend, trace_id)
    assert [span.name for span in spans] == [
        f"publish {topic_name}", f"delay {topic_name}", f"fetch {topic_name}", f"commit {topic_name}",
    ]  # fmt: skip
    publish, delay, fetch, commit = spans
    assert {span.parent_id for span in spans} == {producer_span}
    assert publish.events == ["publish.received", "delay.scheduled", "publish.persisted"]
    assert (delay.events[0], delay.events[-1]) == ("delay.scheduled", "delay.ready")
    assert delay.end_ns - delay.start_ns >= 900_000_000, "it was held for a second"
    assert publish.start_ns <= delay.start_ns < delay.end_ns <= fetch.start_ns <= commit.start_ns
    assert fetch.attributes["messaging.kafka.offset"] == 9, "it came after those that did not wait"


def test_a_pipeline_reads_the_same_events_from_the_topic(
    traced_broker: str, backend: Collector, topic_name: str
) -> None:
    admin.create_topic(traced_broker, topic_name, 1, {})
    trace_id, producer_span = produce_under_a_span(traced_broker, backend, topic_name)
    consume_in_a_group(traced_broker, backend, topic_name, f"group-{topic_name}")
    reader = Consumer(
        {"bootstrap.servers": traced_broker, "group.id": f"pipeline-{topic_name}", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(["__trace_events"])
    events = []
    try:
        while not events or events[-1]["event"] != "consume.committed":
            message = _next(reader)
            if message.key() == trace_id.encode():
                events.append(json.loads(message.value()))
    finally:
        reader.close()
    assert [event["event"] for event in events] == [
        "publish.received", "publish.persisted", "consume.fetched", "consume.committed",
    ]  # fmt: skip
    assert {(event["topic"], event["offset"], event["parent_id"]) for event in events} == {
        (topic_name, 4, producer_span)
    }


def test_a_dead_collector_does_not_slow_the_broker(traced_broker: str, backend: Collector, topic_name: str) -> None:
    admin.create_topic(traced_broker, topic_name, 1, {})
    backend.is_dead = True
    try:
        lost, _ = produce_under_a_span(traced_broker, backend, topic_name)
        consume_in_a_group(traced_broker, backend, topic_name, f"group-{topic_name}")
        time.sleep(1.5)  # longer than a span waits to be sent
    finally:
        backend.is_dead = False
    found, _ = produce_under_a_span(traced_broker, backend, topic_name)
    backend.wait_for(found, f"publish {topic_name}")
    assert broker_spans(backend, lost) == []
