"""Values that Confluent's serialisers wrote: columns in the archive, and themselves again in a topic."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from compat_tests.admin import create_topic
from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.spark.pipelines.running import run
from compat_tests.spark.pipelines.test_backfill import committed
from compat_tests.spark.reading import send
from tidegate.testing import RunningBroker, broker
from tools.pipelines.options import PipelineError, UsageError

BASE_MS = 1_760_000_400_000
WHEN = datetime(2026, 11, 16, 5, 0, 0, 250_000, tzinfo=UTC)
FIELDS: list[Any] = [
    {"name": "id", "type": "int"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "line", "type": {"type": "record", "name": "Line", "fields": [{"name": "raw", "type": "bytes"}]}},
]
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
ORDER = {"id": 7, "price": Decimal("19.90"), "at": WHEN, "line": {"raw": b"\x00\xff"}}


@pytest.fixture(scope="module")
def schema_broker() -> Iterator[RunningBroker]:
    with broker({"registry.port": "-1"}, timeout_s=30) as running:
        yield running


@pytest.fixture
def registry(schema_broker: RunningBroker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": schema_broker.registry_url})


def avro(registry: SchemaRegistryClient, fields: list[Any], **settings: Any) -> AvroSerializer:
    return AvroSerializer(registry, json.dumps({"type": "record", "name": "Order", "fields": fields}), conf=settings)


def written(topic: str, write: Callable[..., bytes], value: Any) -> Record:
    """The record that a producer with this serialiser sends."""
    headers: list[tuple[str, bytes]] = []
    made = write(value, SerializationContext(topic, MessageField.VALUE, headers))
    return Record(made, b"k", tuple(headers), BASE_MS, 0)


def message_type(**kinds: int) -> Any:
    """A Protobuf message with these fields, as if it had been generated."""
    file = descriptor_pb2.FileDescriptorProto(name="basket.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Basket")
    for number, (name, kind) in enumerate(kinds.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Basket"))


def typed(spark: Any, folder: Path, topic: str) -> list[Any]:
    """What anybody finds who reads all files of a topic together."""
    found = spark.read.option("mergeSchema", "true").parquet(f"{folder}/topic={topic}").orderBy("offset")
    return [row.data and row.data.asDict(recursive=True) for row in found.collect()]


def test_versions_of_a_schema_are_read_together_and_written_back(
    spark: Any, schema_broker: RunningBroker, registry: SchemaRegistryClient, tmp_path: Path
) -> None:
    topic, again, bootstrap = unique_name("typed"), unique_name("again"), schema_broker.bootstrap
    for name in (topic, again):
        create_topic(bootstrap, name, 1)
    options = {"archive": str(tmp_path), "topics": [topic], "schemas": [topic], "registry": schema_broker.registry_url}
    in_header = {"schema.id.serializer": header_schema_id_serializer}
    first = [written(topic, avro(registry, FIELDS), ORDER), Record(b"plain"), Record(None, b"k")]
    send(bootstrap, topic, first)
    assert run("archive", bootstrap, **options) == 0
    noted = {**ORDER, "id": 8, "note": "fragile"}
    second = [written(topic, avro(registry, [*FIELDS, NOTE], **in_header), noted), first[0]]
    send(bootstrap, topic, second)
    assert run("archive", bootstrap, **options) == 0
    naive = {**ORDER, "at": WHEN.replace(tzinfo=None), "line": {"raw": bytearray(b"\x00\xff")}}
    expected = [{**naive, "note": None}, None, None, {**naive, "id": 8, "note": "fragile"}, {**naive, "note": None}]
    assert typed(spark, tmp_path, topic) == expected
    # Small files become one with the columns that they had, by the schemas that the archive keeps.
    assert run("archive", bootstrap, compact_files=2, **options) == 0
    assert typed(spark, tmp_path, topic) == expected

    other = f"{schema_broker.registry_url}/contexts/.{topic}"
    SchemaRegistryClient({"url": other}).register_schema("before", registry.get_latest_version(f"{topic}-value").schema)
    run("backfill", bootstrap, archive=str(tmp_path), topic=topic, to=again, registry=other)
    read = AvroDeserializer(SchemaRegistryClient({"url": other}))
    found = committed(bootstrap, again, 0)
    assert [each.value for each in found[1:3]] == [b"plain", None]
    assert int.from_bytes(found[0].value[1:5], "big") == 2 != int.from_bytes(first[0].value[1:5], "big")
    for each, wanted in ((found[0], ORDER), (found[3], noted), (found[4], ORDER)):
        context = SerializationContext(again, MessageField.VALUE, list(each.headers))
        assert read(each.value, context) == wanted


def test_json_and_protobuf_have_columns_too(
    spark: Any, schema_broker: RunningBroker, registry: SchemaRegistryClient, tmp_path: Path
) -> None:
    text, proto, bootstrap = unique_name("json"), unique_name("proto"), schema_broker.bootstrap
    for name in (text, proto):
        create_topic(bootstrap, name, 1)
    schema = {
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    }
    order = {"id": 7, "tags": ["new"]}
    send(bootstrap, text, [written(text, JSONSerializer(json.dumps(schema), registry), order)])
    old, new = message_type(id=5, raw=12), message_type(id=5, raw=12, total=4)
    write = [ProtobufSerializer(kind, registry) for kind in (old, new)]
    records = [written(proto, write[0], old(raw=b"\xff")), written(proto, write[1], new(id=8, total=2**64 - 1))]
    send(bootstrap, proto, records)
    options = {"archive": str(tmp_path), "topics": [text, proto], "schemas": ["*"]}
    assert run("archive", bootstrap, registry=schema_broker.registry_url, **options) == 0
    assert typed(spark, tmp_path, text) == [order]
    assert typed(spark, tmp_path, proto) == [
        {"id": 0, "raw": b"\xff", "total": None},
        {"id": 8, "raw": b"", "total": Decimal(2**64 - 1)},
    ]


def test_a_registry_that_is_not_there_is_told(schema_broker: RunningBroker, spark: Any, tmp_path: Path) -> None:
    topic = unique_name("nowhere")
    create_topic(schema_broker.bootstrap, topic, 1)
    send(schema_broker.bootstrap, topic, [Record(b"\0\0\0\0\1x")])
    options = {"archive": str(tmp_path), "topics": [topic], "schemas": [topic]}
    with pytest.raises(PipelineError, match="cannot be asked"):
        run("archive", schema_broker.bootstrap, registry="http://127.0.0.1:9", **options)
    with pytest.raises(UsageError, match="--registry is missing"):
        run("archive", schema_broker.bootstrap, **options)
