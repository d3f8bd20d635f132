"""Confluent's serialisers, from a producer to a consumer by the broker, with its registry between them."""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tidegate.testing import RunningBroker

ORDER = {"id": 7, "note": "fragile"}
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string"}],
    }
)


def sent_and_received(running: RunningBroker, topic: str, value: bytes, headers: Any = None) -> Any:
    """The message as a consumer gets it."""
    producer = Producer({"bootstrap.servers": running.bootstrap})
    producer.produce(topic, value, headers=headers)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        for _ in range(60):
            message = consumer.poll(1)
            if message is not None and not message.error():
                return message
    finally:
        consumer.close()
    raise AssertionError("nothing came")


def there_and_back(
    running: RunningBroker, topic: str, write: Callable[..., bytes], read: Callable[..., Any], value: Any
) -> Any:
    context = SerializationContext(topic, MessageField.VALUE)
    message = sent_and_received(running, topic, write(value, context))
    return read(message.value(), context)


def test_avro_goes_there_and_back(schema_broker: RunningBroker, registry: SchemaRegistryClient, topic: str) -> None:
    write, read = AvroSerializer(registry, AVRO), AvroDeserializer(registry)
    assert there_and_back(schema_broker, topic, write, read, ORDER) == ORDER
    assert registry.get_versions(f"{topic}-value") == [1]
    looked_up = AvroSerializer(registry, AVRO, conf={"auto.register.schemas": False})
    assert there_and_back(schema_broker, topic, looked_up, read, ORDER) == ORDER
    latest = AvroSerializer(
        registry, AVRO, conf={"auto.register.schemas": False, "use.latest.version": True, "normalize.schemas": True}
    )
    assert there_and_back(schema_broker, topic, latest, read, ORDER) == ORDER


JSON_SCHEMA = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    }
)


def test_json_schema_goes_there_and_back(
    schema_broker: RunningBroker, registry: SchemaRegistryClient, topic: str
) -> None:
    write, read = JSONSerializer(JSON_SCHEMA, registry), JSONDeserializer(JSON_SCHEMA, schema_registry_client=registry)
    assert there_and_back(schema_broker, topic, write, read, ORDER) == ORDER
    assert registry.get_latest_version(f"{topic}-value").schema.schema_type == "JSON"


def test_json_schema_refers_to_another(
    schema_broker: RunningBroker, registry: SchemaRegistryClient, topic: str
) -> None:
    line = Schema(json.dumps({"$id": "http://x/line.json", "type": "object"}), "JSON")
    registry.register_schema(f"{topic}-line", line)
    text = json.dumps({"title": "Basket", "type": "object", "properties": {"line": {"$ref": "http://x/line.json"}}})
    schema = Schema(text, "JSON", [SchemaReference("http://x/line.json", f"{topic}-line", 1)])
    write = JSONSerializer(schema, registry)
    read = JSONDeserializer(None, schema_registry_client=registry)
    assert there_and_back(schema_broker, topic, write, read, {"line": {}}) == {"line": {}}


def test_ids_in_headers_are_guids_of_the_registry(
    schema_broker: RunningBroker, registry: SchemaRegistryClient, topic: str
) -> None:
    write = AvroSerializer(registry, AVRO, conf={"schema.id.serializer": header_schema_id_serializer})
    headers: list[tuple[str, bytes]] = []
    context = SerializationContext(topic, MessageField.VALUE, headers)
    value = write(ORDER, context)
    message = sent_and_received(schema_broker, topic, value, headers)
    assert message.headers()[0][0] == "__value_schema_id"
    read = AvroDeserializer(SchemaRegistryClient({"url": schema_broker.registry_url}))
    assert read(message.value(), SerializationContext(topic, MessageField.VALUE, message.headers())) == ORDER


LINE_PROTO = 'syntax = "proto3";\npackage shop;\nmessage Line { string note = 1; }\n'
ORDER_PROTO = (
    'syntax = "proto3";\npackage shop;\nimport "shop_line.proto";\n'
    "message Order { int32 id = 1; Line line = 2; message Inner { string text = 1; } }\n"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The generated modules of two files, of which one imports the other."""
    directory = tmp_path_factory.mktemp("shop")
    for name, text in (("shop_line.proto", LINE_PROTO), ("shop_order.proto", ORDER_PROTO)):
        (directory / name).write_text(text)
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{directory}", f"--python_out={directory}"]
    subprocess.run([*command, "shop_line.proto", "shop_order.proto"], check=True, cwd=directory)
    sys.path.insert(0, str(directory))
    try:
        yield importlib.import_module("shop_order_pb2")
    finally:
        sys.path.remove(str(directory))


def test_protobuf_goes_there_and_back_with_what_it_imports(
    schema_broker: RunningBroker, registry: SchemaRegistryClient, topic: str, shop: Any
) -> None:
    order = shop.Order(id=7)
    order.line.note = "fragile"
    write, read = ProtobufSerializer(shop.Order, registry), ProtobufDeserializer(shop.Order, {}, registry)
    assert there_and_back(schema_broker, topic, write, read, order) == order
    known = registry.get_latest_version(f"{topic}-value").schema
    assert known.schema_type == "PROTOBUF"
    assert [each.name for each in known.references] == ["shop_line.proto"]
    chosen = {"auto.register.schemas": False, "use.latest.version": True}
    write = ProtobufSerializer(shop.Order, registry, chosen)
    read = ProtobufDeserializer(shop.Order, {"use.latest.version": True}, registry)
    assert there_and_back(schema_broker, topic, write, read, order) == order
    inner = shop.Order.Inner(text="within")
    write, read = ProtobufSerializer(shop.Order.Inner, registry), ProtobufDeserializer(shop.Order.Inner, {}, registry)
    assert there_and_back(schema_broker, f"{topic}-inner", write, read, inner) == inner
