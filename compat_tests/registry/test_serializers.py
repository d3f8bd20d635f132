"""Confluent's serialisers, from a producer to a consumer by the broker, with its registry between them."""

import json
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
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
