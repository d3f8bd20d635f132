"""Records written by Confluent's serialisers, read in the browser."""

import json
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.struct_pb2 import Struct
from playwright.sync_api import Page, expect

from compat_tests.console.conftest import HOSTILE

LARGE = 2**60 + 1
"""What JavaScript would round."""
DISH = {
    "type": "record",
    "name": "Dish",
    "fields": [{"name": "name", "type": "string"}, {"name": "id", "type": "long"}],
}
DECODED = f'{{\n "name": "{HOSTILE}",\n "id": {LARGE}\n}}'


@pytest.fixture
def topic(broker: Any) -> str:
    """One with a record of each kind: Avro by a prefix, by a header with a key in Protobuf, and one that is broken."""
    name = f"dishes-{uuid4().hex[:8]}"
    registry = SchemaRegistryClient({"url": f"{broker.http_url}/schemas"})
    value, key = SerializationContext(name, MessageField.VALUE, []), SerializationContext(name, MessageField.KEY, [])
    by_prefix = AvroSerializer(registry, json.dumps(DISH))
    by_header = AvroSerializer(registry, json.dumps(DISH), conf={"schema.id.serializer": header_schema_id_serializer})
    of_keys = ProtobufSerializer(Struct, registry, {"use.deprecated.format": False})
    guest = Struct()
    guest.update({"table": "seven"})
    dish = {"name": HOSTILE, "id": LARGE}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(name, value=by_prefix(dish, value))
    in_header = by_header(dish, value)
    producer.produce(name, key=of_keys(guest, key), value=in_header, headers=value.headers)
    assert producer.flush(30) == 0
    schema_id = registry.get_latest_version(f"{name}-value").schema_id
    producer.produce(name, value=b"\0" + schema_id.to_bytes(4, "big") + b"\xff\xff")
    assert producer.flush(30) == 0
    assert registry.register_schema(f"{name}-other", Schema('"string"', "AVRO"))
    return name


def test_records_are_shown_by_the_schemas_that_they_name(page: Page, topic: str) -> None:
    page.goto(f"/#/topics/{topic}")
    page.get_by_role("button", name="Show 0:0").click()
    record = page.get_by_role("region", name="Record 0:0")
    expect(record.locator("pre").first).to_have_text(DECODED)
    expect(record).to_contain_text(f"{topic}-value version 1 (Avro, id")
    record.get_by_text("value in bytes").click()
    expect(record.locator("details pre")).to_be_visible()
    page.get_by_role("button", name="Show 0:1").click()
    record = page.get_by_role("region", name="Record 0:1")
    expect(record.locator("pre").first).to_have_text('{\n "table": "seven"\n}')
    expect(record).to_contain_text(f"{topic}-key version 1 (Protobuf, id")
    expect(record.locator(".carried", has_text=f"{topic}-value").locator("pre").first).to_have_text(DECODED)
    expect(page.locator("main img, main script")).to_have_count(0)
    record.get_by_role("link", name=f"{topic}-value").click()
    expect(page.get_by_role("heading", name=f"{topic}-value")).to_be_visible()


def test_what_does_not_fit_its_schema_is_shown_as_it_is_with_the_reason(page: Page, topic: str) -> None:
    page.goto(f"/#/topics/{topic}")
    page.get_by_role("button", name="Show 0:2").click()
    record = page.get_by_role("region", name="Record 0:2")
    expect(record).to_contain_text("Not decoded: it does not fit schema id")
    page.get_by_label("decode").uncheck()
    expect(record).not_to_contain_text("Not decoded")


def test_records_that_are_followed_are_decoded(page: Page, broker: Any, topic: str) -> None:
    page.goto(f"/#/topics/{topic}")
    page.get_by_label("follow").check()
    expect(page.get_by_text("Nothing has come yet.")).to_be_visible()
    registry = SchemaRegistryClient({"url": f"{broker.http_url}/schemas"})
    serialized = AvroSerializer(registry, json.dumps(DISH))(
        {"name": "soup", "id": 1}, SerializationContext(topic, MessageField.VALUE)
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, value=serialized)
    assert producer.flush(30) == 0
    expect(page.locator("tbody")).to_contain_text('{"name":"soup","id":1}')
